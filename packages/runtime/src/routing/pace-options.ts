import { DefinitionError, type Clock } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { checkIsObject } from "../evaluate-options.ts";

/** How a pace begins; what the service states in its answers wins. */
export interface PaceOptions {
  /** Requests a minute. Left out: learnt from headers and refusals. */
  readonly requestsPerMinute?: number | undefined;
  /** Tokens of input and output together, a minute. Left out: learnt from headers. */
  readonly tokensPerMinute?: number | undefined;
  /** Requests in flight at most. Default: no limit. */
  readonly maxInFlight?: number | undefined;
  /** Waiting requests at most; one more is refused, and learns how long the wait would be. Default 10,000. */
  readonly maxQueued?: number | undefined;
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock | undefined;
}

const optionNames = {
  requestsPerMinute: true,
  tokensPerMinute: true,
  maxInFlight: true,
  maxQueued: true,
  clock: true,
} as const;

/** @throws {DefinitionError} for what is no object, an option that there is not, and a limit that is not positive. */
export function checkPaceOptions(options: PaceOptions): void {
  checkIsObject("sharedPace", options);
  checkOptionNames("sharedPace", options, optionNames);
  const { requestsPerMinute, tokensPerMinute, maxInFlight, maxQueued } = options;
  for (const [name, value] of Object.entries({ requestsPerMinute, tokensPerMinute, maxInFlight, maxQueued })) {
    if (value === undefined || (typeof value === "number" && value > 0)) continue;
    throw new DefinitionError(`sharedPace: ${name} must be a positive number, not ${describeValue(value)}.`);
  }
}
