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
  /** Returns whether entries of a level are kept: those of another one are not even made. Default: all of them are. */
  isLevelEnabled?(level: LogLevel): boolean;
}

/** How much an entry in the log matters. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Says whether the logger keeps entries of the level; one that throws when it is asked keeps none. */
export function keepsLevel(logger: Logger, level: LogLevel): boolean {
  try {
    return logger.isLevelEnabled === undefined || logger.isLevelEnabled(level);
  } catch {
    return false;
  }
}

/**
 * Logs an entry, whose fields are made where the level is kept. A logger that throws, or whose promise rejects, is no
 * reason to fail: there is nowhere left to say so.
 */
export function logSafely(logger: Logger, level: LogLevel, fields: () => object, message: string): void {
  if (!keepsLevel(logger, level)) return;
  const made = fields();
  try {
    const logged: unknown = logger[level](made, message);
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
