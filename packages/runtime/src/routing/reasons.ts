import { DefinitionError, type ProviderErrorReason, type ThrottleKind } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import type { Failure } from "../failures.ts";

/** Why a request was not answered. "process": the model's process failed. */
export type TryReason = ThrottleKind | ProviderErrorReason | "process";

/**
 * Why a request goes on to the next adapter. "output": the answer did not parse, after its repairs, so that the evaluation
 * begins again.
 */
export type FallbackReason = TryReason | "output";

const reasons: Readonly<Record<FallbackReason, boolean>> = {
  rate_limit: true,
  quota_exhausted: true,
  timeout: true,
  server_error: true,
  network: true,
  not_found: true,
  context_length: true,
  invalid_response: true,
  // A throttle's "unknown" goes on; a provider's, which may be anything, does not.
  unknown: false,
  api_key: false,
  bad_request: false,
  content_filter: false,
  refusal: false,
  truncated: false,
  process: false,
  output: false,
};

/** @throws {DefinitionError} for what is no list of reasons. */
export function checkReasons(on: readonly FallbackReason[] | undefined): void {
  if (on === undefined) return;
  if (!Array.isArray(on)) throw new DefinitionError(`fallback: on must be a list, not ${describeValue(on)}.`);
  const unknown = on.find((reason: string) => !Object.hasOwn(reasons, reason));
  if (unknown === undefined) return;
  const names = Object.keys(reasons).join(", ");
  throw new DefinitionError(`fallback: on has ${describeValue(unknown)}; the reasons are ${names}.`);
}

/** Whether another adapter is asked after a failure; `isThrottle`: it was refused for the moment. */
export type AsksNext = (reason: FallbackReason | undefined, isThrottle: boolean) => boolean;

/** The reasons that are given, else those that go on by default. */
export function asksNextAfter(on?: readonly FallbackReason[]): AsksNext {
  const given = on && new Set(on);
  return (reason, isThrottle) => {
    if (reason === undefined) return false;
    return given?.has(reason) ?? (isThrottle || reasons[reason]);
  };
}

/** Why an evaluation came to no answer, where another adapter may help. */
export function reasonOfFailure(why: Failure): FallbackReason | undefined {
  if (why.stop === "throttled") return why.kind;
  if (why.stop === "provider") return why.reason;
  return why.stop === "process" || why.stop === "output" ? why.stop : undefined;
}
