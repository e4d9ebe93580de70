import type { EvaluationFailure, ProviderErrorReason, ThrottleKind } from "@proviso/core";
import type { FaultName } from "@proviso/simulator";

/** What an evaluation has to come to: the right answer, or the error's code with its kind or reason. */
export type Expected =
  | "right"
  | { readonly code: EvaluationFailure["code"]; readonly why: ThrottleKind | ProviderErrorReason };

const provider = (why: ProviderErrorReason): Expected => ({ code: "provider", why });
const throttled = (why: ThrottleKind): Expected => ({ code: "throttled", why });

/** From RULES: THR-1 to THR-6, LOOP-5, TOOL-1 to TOOL-7, PRO-3. What is not named comes to the right answer. */
const failing: { readonly [name in FaultName]?: Expected } = {
  status_400: provider("bad_request"),
  status_401: provider("api_key"),
  status_403: provider("api_key"),
  status_404: provider("not_found"),
  status_413: provider("context_length"),
  status_422: provider("bad_request"),
  status_501: provider("unknown"),
  status_505: provider("unknown"),
  retry_after_huge: throttled("rate_limit"),
  should_not_retry: throttled("rate_limit"),
  insufficient_quota: throttled("quota_exhausted"),
  context_length: provider("context_length"),
  html: provider("invalid_response"),
  malformed_json: provider("invalid_response"),
  wrong_shape: provider("invalid_response"),
  json_list: provider("invalid_response"),
  json_null: provider("invalid_response"),
  stream_for_json: provider("invalid_response"),
  no_output: provider("invalid_response"),
  null_content: provider("invalid_response"),
  refusal: provider("refusal"),
  content_filter: provider("content_filter"),
  cut_by_length: provider("truncated"),
  cut_in_arguments: provider("truncated"),
  reasoning_only: provider("invalid_response"),
  status_in_progress: provider("invalid_response"),
  status_cancelled: provider("invalid_response"),
};

export function expectedOf(fault: FaultName): Expected {
  return failing[fault] ?? "right";
}
