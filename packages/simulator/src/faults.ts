import type { Api } from "./types.ts";

/**
 * What can go wrong, by name. A passing one comes in place of an answer, and the next request gets it. The others
 * distort the answer, or how it is sent.
 */
export const faults = {
  // HTTP statuses
  status_400: about("status", "a bad request"),
  status_401: about("status", "a wrong key"),
  status_403: about("status", "a forbidden model"),
  status_404: about("status", "an unknown model"),
  status_408: about("status", "a request timeout"),
  status_409: about("status", "a conflict"),
  status_413: about("status", "a request that is too large"),
  status_422: about("status", "a request that makes no sense"),
  status_429: about("status", "too many requests, without Retry-After"),
  status_500: about("status", "an internal error"),
  status_501: about("status", "not implemented"),
  status_502: about("status", "a bad gateway, in HTML"),
  status_503: about("status", "unavailable"),
  status_504: about("status", "a gateway timeout"),
  status_505: about("status", "an HTTP version that is not supported"),
  status_529: about("status", "overloaded"),
  retry_after_seconds: about("status", "429, Retry-After: 1"),
  retry_after_fraction: about("status", "429, Retry-After: 0.5"),
  retry_after_date: about("status", "429, Retry-After as an HTTP date"),
  retry_after_skewed_date: about("status", "429, Retry-After as a date, by a clock an hour ahead"),
  retry_after_ms: about("status", "429, retry-after-ms: 50"),
  retry_after_huge: about("status", "429, Retry-After: a day"),
  retry_after_negative: about("status", "429, Retry-After: -5"),
  retry_after_garbage: about("status", "429, Retry-After: soon"),
  retry_after_in_message: about("status", "429, the wait only in the message"),
  should_not_retry: about("status", "429 with x-should-retry: false"),
  insufficient_quota: about("status", "429 for an exhausted quota"),
  context_length: about("status", "400, context_length_exceeded"),
  // transport
  reset_before_headers: about("transport", "the connection is cut before the answer"),
  reset_after_headers: about("transport", "the connection is cut after the headers"),
  reset_in_body: about("transport", "the connection is cut in the middle of the body"),
  closed_before_headers: about("transport", "the connection is closed before the answer"),
  hang: about("transport", "no answer at all"),
  hang_after_headers: about("transport", "headers, and nothing more"),
  html: about("transport", "200 with an HTML page"),
  empty_body: about("transport", "200 with nothing in it"),
  malformed_json: about("transport", "200 with text that is no JSON"),
  wrong_shape: about("transport", "200 with JSON of another shape"),
  json_list: about("transport", "200 with a JSON list"),
  json_null: about("transport", "200 with null"),
  // how the answer is sent
  slow_body: about("sending", "the body drips"),
  cut_body: passing("sending", "the body ends inside its JSON or its stream"),
  short_body: passing("sending", "fewer bytes than were promised, and the connection is closed"),
  body_stalls: passing("sending", "half the body, and the connection stays open"),
  wrong_content_type: about("sending", "the answer as text/plain"),
  // what the answer says
  usage_missing: about("answer", "no usage"),
  usage_null: about("answer", "usage: null"),
  usage_strings: about("answer", "tokens as texts"),
  usage_negative: about("answer", "negative tokens"),
  no_output: about("answer", "empty output, or no choices"),
  null_content: about("answer", "an answer without text"),
  refusal: about("answer", "a refusal"),
  content_filter: about("answer", "withheld by a content filter"),
  cut_by_length: about("answer", "cut short by its token limit"),
  cut_in_arguments: about("answer", "cut short inside tool arguments"),
  reasoning_only: about("answer", "reasoning and nothing else", "responses", "anthropic", "gemini"),
  two_messages: about("answer", "two messages", "responses"),
  unknown_items: about("answer", "unknown items and parts"),
  unknown_fields: about("answer", "unknown fields"),
  status_failed: passing("answer", "status: failed", "responses"),
  status_in_progress: about("answer", "status: in_progress", "responses"),
  status_cancelled: about("answer", "status: cancelled", "responses"),
  // tool calls
  arguments_not_json: about("calls", "arguments that are no JSON"),
  arguments_list: about("calls", "arguments that are a list"),
  arguments_text: about("calls", "arguments that are a text"),
  arguments_null: about("calls", "arguments: null"),
  arguments_encoded_twice: about("calls", "arguments as JSON in JSON"),
  arguments_fenced: about("calls", "arguments in a Markdown fence"),
  arguments_proto: about("calls", "arguments with __proto__"),
  arguments_huge: about("calls", "arguments of 2 MiB"),
  arguments_deep: about("calls", "arguments 20,000 levels deep"),
  arguments_surrogates: about("calls", "arguments with lone surrogates"),
  unknown_tool: about("calls", "a tool that is not there"),
  wrong_case_tool: about("calls", "a tool's name in capitals"),
  missing_call_id: about("calls", "a call without an id"),
  duplicate_call_ids: about("calls", "two calls of one id"),
  many_calls: about("calls", "500 calls in one answer"),
  // streams
  stream_cut: passing("stream", "the stream ends before its last event"),
  stream_stalls: passing("stream", "the stream stops and stays open"),
  stream_error_first: passing("stream", "an error event first"),
  stream_error_midway: passing("stream", "an error event in the middle"),
  stream_overloaded: passing("stream", "an overloaded event in the middle"),
  stream_duplicates: about("stream", "every event twice", "responses"),
  stream_out_of_order: about("stream", "two deltas in the wrong order", "responses"),
  stream_after_end: about("stream", "deltas after the last event"),
  stream_unknown_events: about("stream", "unknown events"),
  stream_comments: about("stream", "comments that keep it alive"),
  stream_crlf: about("stream", "lines that end with CR LF"),
  stream_bom: about("stream", "a byte order mark first"),
  stream_split: about("stream", "cut anywhere, inside characters too"),
  stream_no_done: about("stream", "no [DONE]", "chat"),
  stream_as_json: about("stream", "a JSON body where a stream was asked for"),
  stream_for_json: { ...about("sending", "a stream where JSON was asked for"), stream: false },
} as const satisfies Readonly<Record<string, Fault>>;

/** What a fault does, and where it means something. */
export interface Fault {
  /** What kind of thing goes wrong. */
  readonly group: "status" | "transport" | "sending" | "answer" | "calls" | "stream";
  /** What happens, in one sentence. */
  readonly about: string;
  /** The APIs that it means something for. undefined: all. */
  readonly apis?: readonly Api[] | undefined;
  /** true: it means something for streams only; false: for JSON only. undefined: both. */
  readonly stream?: boolean | undefined;
  /** The step is left for the next request. */
  readonly passing: boolean;
}

/** The name of something that goes wrong on request. */
export type FaultName = keyof typeof faults;

/** The names of all faults, as `--faults` lists them. */
export const faultNames: readonly FaultName[] = Object.freeze(Object.keys(faults) as FaultName[]);

function about(group: Fault["group"], text: string, ...apis: readonly Api[]): Fault {
  const passing = group === "status" || group === "transport";
  const only = { ...(apis.length === 0 ? {} : { apis }), ...(group === "stream" ? { stream: true } : {}) };
  return Object.freeze({ group, about: text, passing, ...only });
}

function passing(group: Fault["group"], text: string, ...apis: readonly Api[]): Fault {
  return Object.freeze({ ...about(group, text, ...apis), passing: true });
}

/** Whether a fault means something for an API, asked for a stream or not. */
export function faultApplies(name: FaultName, api: Api, stream: boolean): boolean {
  const fault: Fault = faults[name];
  if (needsText.has(name) && (api === "gemini" || (api === "anthropic" && !stream))) return false;
  return (fault.apis ?? [api]).includes(api) && (fault.stream ?? stream) === stream;
}

/** What only arguments that are sent as a text can be: Anthropic streams them so, Gemini never sends them so. */
const needsText: ReadonlySet<FaultName> = new Set([
  "arguments_not_json",
  "arguments_list",
  "arguments_text",
  "arguments_encoded_twice",
  "arguments_fenced",
  "cut_in_arguments",
]);

/** Whether a fault distorts a call of a tool. */
export function needsCall(name: FaultName): boolean {
  return faults[name].group === "calls" || name === "cut_in_arguments";
}

/** @throws {TypeError} for a name that is none, with those there are. */
export function checkFault(name: unknown): FaultName {
  if (typeof name === "string" && Object.hasOwn(faults, name)) return name as FaultName;
  throw new TypeError(`There is no fault "${String(name)}". There are: ${faultNames.join(", ")}.`);
}
