import { isEvaluationFailure } from "./evaluation-errors.ts";
import type { ThrottleKind } from "./failure-kinds.ts";

/** What `errorReason` answers with: one label for each cause, the same in all adapters and versions. */
export type ErrorReason =
  | "rate_limit_error"
  | "quota_error"
  | "timeout_error"
  | "server_error"
  | "network_error"
  | "api_key_error"
  | "context_length_error"
  | "not_found_error"
  | "bad_request_error"
  | "content_filter_error"
  | "refusal_error"
  | "truncated_error"
  | "invalid_response_error"
  | "schema_error"
  | "option_error"
  | "render_error"
  | "budget_error"
  | "deadline_error"
  | "turn_limit_error"
  | "aborted_error"
  | "listener_error"
  | "process_error"
  | "internal_error"
  | "restore_error"
  | "deadlock_error"
  | "run_error"
  | "unknown_error";

const throttleReasons = {
  rate_limit: "rate_limit_error",
  quota_exhausted: "quota_error",
  timeout: "timeout_error",
  server_error: "server_error",
  network: "network_error",
  unknown: "unknown_error",
} as const satisfies Record<ThrottleKind, ErrorReason>;

const failureReasons = {
  option: "option_error",
  render: "render_error",
  output: "schema_error",
  deadline: "deadline_error",
  budget: "budget_error",
  turns: "turn_limit_error",
  aborted: "aborted_error",
  listener: "listener_error",
  process: "process_error",
  internal: "internal_error",
  restore: "restore_error",
  deadlock: "deadlock_error",
  run: "run_error",
} as const;

/** A stable label for callers that sort failures; undefined for what is not ours. Never throws. */
export function errorReason(error: unknown): ErrorReason | undefined {
  if (!isEvaluationFailure(error)) return undefined;
  if (error.code === "throttled") return throttleReasons[error.kind];
  if (error.code === "provider") return `${error.reason}_error`;
  return failureReasons[error.code];
}
