import { DefinitionError, type ThrottlePolicy } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";

const defaults: ThrottlePolicy = {
  maxAttempts: 5,
  baseDelayMs: 500,
  maxDelayMs: 8_000,
  maxTotalDelayMs: 30_000,
  quotaDelayMs: 60_000,
};

/** @throws {DefinitionError} for a number that is negative or not finite, or fewer than one attempt. */
export function throttlePolicy(given: Partial<ThrottlePolicy> = {}): ThrottlePolicy {
  if (typeof given !== "object" || given === null) {
    throw new DefinitionError(`The option throttle must be an object, not ${describeValue(given)}.`);
  }
  checkOptionNames("A throttle policy", given, defaults);
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  const policy: ThrottlePolicy = { ...defaults, ...Object.fromEntries(set) };
  for (const [name, value] of Object.entries(policy)) {
    const least = name === "maxAttempts" ? 1 : 0;
    if (!Number.isFinite(value) || value < least || (least === 1 && !Number.isInteger(value))) {
      throw new DefinitionError(
        `The throttle policy's ${name} must be ${least === 1 ? "a whole number from 1" : "at least 0"}, not ${describeValue(value)}.`,
      );
    }
  }
  return Object.freeze(policy);
}
