import type { ErrorReason } from "@proviso/core";
import type { AttemptRecord } from "../results.ts";

/** Reasons of failures that are the surroundings' and not the variant's. */
export const outsideReasons: readonly ErrorReason[] = Object.freeze([
  "rate_limit_error",
  "quota_error",
  "timeout_error",
  "server_error",
  "network_error",
  "api_key_error",
  "not_found_error",
  "listener_error",
  "process_error",
  "unknown_error",
] as const);

/** Whether the surroundings made an attempt fail. */
export function failedOutside({ failure }: Pick<AttemptRecord, "failure">): boolean {
  return failure !== undefined && outsideReasons.includes(failure.reason);
}
