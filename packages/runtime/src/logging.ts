import type { Logger } from "./environment.ts";

/** A logger that throws, or whose promise rejects, is no reason to fail: there is nowhere left to say so. */
export function logSafely(logger: Logger, level: keyof Logger, fields: object, message: string): void {
  try {
    const logged: unknown = logger[level](fields, message);
    ignoreRejection(logged);
  } catch {
    // As above.
  }
}

/** Whatever may be a promise: nobody waits for it, and its rejection is nobody's. */
export function ignoreRejection(value: unknown): void {
  try {
    if (typeof value !== "object" || value === null || !("then" in value)) return;
    Promise.resolve(value).catch(() => {});
  } catch {
    // It cannot even be asked whether it is a promise.
  }
}
