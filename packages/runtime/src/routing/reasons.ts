import {
  DefinitionError,
  type ModelFailure,
  type ModelResponse,
  type ProviderErrorReason,
  type ThrottleKind,
} from "@proviso/core";
import { describeValue } from "@proviso/core/internal";

/** Why a request goes on to the next adapter. "process": the model's process failed. */
export type FallbackReason = ThrottleKind | ProviderErrorReason | "process";

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

/** Whether another adapter is asked after this try. */
export type GoesOn = (tried: {
  readonly answer: ModelResponse | ModelFailure;
  readonly reason: FallbackReason | undefined;
}) => boolean;

/** The reasons that are given, else those that go on by default. */
export function goingOn(on?: readonly FallbackReason[]): GoesOn {
  const given = on && new Set(on);
  return ({ answer, reason }) => {
    if (reason === undefined) return false;
    return given?.has(reason) ?? (answer.failure === "throttle" || reasons[reason]);
  };
}
