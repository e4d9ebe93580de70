import { DefinitionError } from "../errors.ts";
import { isRecord } from "../is-record.ts";
import { systemClock, type Clock } from "./clock.ts";

/** A moment by which an evaluation has settled. */
export interface Deadline {
  /** The moment at which it is met. */
  readonly expiresAt: Date;
  /** Milliseconds left; zero or less when it has passed. */
  remainingMs(): number;
}

/**
 * A deadline `ms` milliseconds from now.
 * @throws {DefinitionError} unless `ms` is a finite number.
 */
export function deadlineIn(ms: number, clock: Clock = systemClock): Deadline {
  if (!Number.isFinite(ms)) throw new DefinitionError(`A deadline needs a finite number of milliseconds, not ${ms}.`);
  return deadlineAt(new Date(clock.now() + ms), clock);
}

/**
 * A deadline at a moment.
 * @throws {DefinitionError} when the date is invalid.
 */
export function deadlineAt(at: Date, clock: Clock = systemClock): Deadline {
  const expiresAt = new Date(at.getTime());
  if (Number.isNaN(expiresAt.getTime())) throw new DefinitionError("A deadline needs a valid date.");
  return Object.freeze({ expiresAt, remainingMs: () => expiresAt.getTime() - clock.now() });
}

/** Whether it has a valid Date and a way to ask what is left; a moment of another library is no Date. Never throws. */
export function isDeadline(value: unknown): value is Deadline {
  try {
    if (!isRecord(value) || typeof value["remainingMs"] !== "function") return false;
    return !Number.isNaN(Date.prototype.getTime.call(value["expiresAt"] as Date));
  } catch {
    return false;
  }
}
