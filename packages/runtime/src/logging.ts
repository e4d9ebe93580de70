/** pino and console satisfy it. */
export interface Logger {
  /** Takes an entry that helps to follow a run. */
  debug(fields: object, message: string): void;
  /** Takes an entry about what happened as it should. */
  info(fields: object, message: string): void;
  /** Takes an entry about what should be looked at. */
  warn(fields: object, message: string): void;
  /** Takes an entry about what failed. */
  error(fields: object, message: string): void;
}

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
