import type { Logger } from "./environment.ts";

/** A logger that throws, or whose promise rejects, is no reason to fail: there is nowhere left to say so. */
export function logSafely(logger: Logger, level: keyof Logger, fields: object, message: string): void {
  try {
    const logged: unknown = logger[level](fields, message);
    ignoreRejection(logged);
  } catch {
    // A logger that throws must not end the evaluation, as above.
  }
}

/** Swallows the rejection of what may be a promise that is not awaited. */
export function ignoreRejection(value: unknown): void {
  try {
    if (typeof value !== "object" || value === null || !("then" in value)) return;
    Promise.resolve(value).catch(() => {});
  } catch {
    // The value throws when it is asked whether it is a promise.
  }
}
