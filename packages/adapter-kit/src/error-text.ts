// Most services have no code for a request that does not fit the model's context: they say it in words. Their sentences
// are compared from the first word on, numbers included, so that no other text that mentions tokens is taken for one.
import { isRecord } from "@proviso/core/provider";
import { textAt, type Json } from "./body.ts";

const codes: ReadonlySet<string> = new Set(["context_length_exceeded", "exceed_context_size_error"]);

/** The services' messages for a full context, as of November 2026. */
const sentences: readonly RegExp[] = [
  // Anthropic.
  /^prompt is too long: \d+ tokens > \d+ maximum/,
  /^input length and `?max_tokens`? exceed context limit: \d+ \+ \d+ > \d+/,
  // Google.
  /^The input token count \(?\d+\)? exceeds the maximum number of tokens allowed \(?\d+/,
  // vLLM; OpenAI's older models and OpenRouter write the same.
  /^This (?:model|endpoint)'s maximum context length is \d+ tokens/,
  /^'max_tokens' or 'max_completion_tokens' is too large: \d+\. This model's maximum context length is \d+ tokens/,
  // llama.cpp, where its type is lost on the way.
  /^the request exceeds the available context size/,
  // Mistral.
  /^Prompt contains \d+ tokens (?:and \d+ draft tokens)?, ?too large for model with \d+ maximum context length/,
  // xAI.
  /^This model's maximum prompt length is \d+ but the request contains \d+ tokens/,
];

/** What a LiteLLM proxy puts before the words of the service, which may stand in a body that it quotes. */
const proxyPrefix = /^(?:litellm\.)?\w+Error: (?:litellm\.\w+: )?(?:\w+: )?\w+Exception - /;
const quotedMessage = /^\{.*?"message": ?"((?:[^"\\]|\\.)*)"/s;
const proxyName = /^(?:litellm\.)?(?:\w+Error: (?:litellm\.)?)?ContextWindowExceededError\b/;

/** Characters of a text that are looked at. */
const longestLooked = 2_000;

/** Whether a service refuses the request as too long for the model, by a code or in words. */
export function isContextFull(payload: unknown): boolean {
  const error = errorObjectIn(payload);
  if (codes.has(textAt(error, "code")) || codes.has(textAt(error, "type"))) return true;
  const text = beginningOf(payload);
  if (proxyName.test(text)) return true;
  const words = ownWords(text);
  return sentences.some((sentence) => sentence.test(words));
}

/** OpenAI's reasoning models refuse, with a 400, what they could not finish within the limit of the answer. */
const unfinished = /^Could not finish the message because max_tokens or model output limit was reached\b/;

/** Whether a service reports that the answer's limit was reached before there was an answer. */
export function isCutShort(payload: unknown): boolean {
  return unfinished.test(ownWords(beginningOf(payload)));
}

/** OpenAI's and Azure's words for an item of an earlier answer that the account has not stored, or cannot open. */
const unknownItem = /^(?:Item with id '[^']*' not found|The encrypted content (?:for item )?\S+ could not be verified)/;

/**
 * Whether a service refuses a request because the account does not know an item in it. Sources:
 * https://github.com/openclaw/openclaw/issues/21782, https://github.com/manaflow-ai/subrouter/pull/221.
 */
export function isItemUnknown(payload: unknown): boolean {
  const { code } = errorObjectIn(payload);
  return code === "invalid_encrypted_content" || unknownItem.test(ownWords(beginningOf(payload)));
}

function beginningOf(payload: unknown): string {
  return errorMessageIn(payload).slice(0, longestLooked);
}

/** Removes what a proxy has put around a service's own message. */
function ownWords(text: string): string {
  const own = text.replace(proxyPrefix, "");
  return own === text ? text : (quotedMessage.exec(own)?.[1] ?? own);
}

/** Anthropic refuses an account without credit as it refuses a malformed request. */
export function isCreditSpent(payload: unknown): boolean {
  return /^Your credit balance is too low to access the (?:Anthropic|Claude) API/.test(errorMessageIn(payload));
}

/** Returns the object under `error`, the one under the `error` of a failed `response`, or the payload itself. */
export function errorObjectIn(payload: unknown): Json {
  if (!isRecord(payload)) return {};
  const { error, response } = payload;
  if (isRecord(error)) return error;
  return isRecord(response) && isRecord(response["error"]) ? response["error"] : payload;
}

/** Whether an object where an error may stand is one. Some servers put an empty one into an answer that is whole. */
export function isErrorObject(given: unknown): given is Json {
  return isRecord(given) && Boolean(given["code"] || given["type"] || given["message"]);
}

/**
 * Returns an error's `message`, or what stands in its place: a text (xAI), or what FastAPI does not take of a body (vLLM,
 * Mistral); "" where there is none.
 */
export function errorMessageIn(payload: unknown): string {
  if (typeof payload === "string") return payload;
  const error = errorObjectIn(payload);
  const message = textAt(error, "message");
  if (message !== "" || !isRecord(payload)) return message;
  const { message: nested = error } = error;
  return textAt(payload, "error") || detailsIn(isRecord(nested) ? nested["detail"] : undefined);
}

/** Writes `{ loc: ["body", "x"], msg: "No." }` as "body.x: No.". Source: FastAPI's docs, "Handling Errors". */
function detailsIn(detail: unknown): string {
  if (typeof detail === "string") return detail;
  const details = Array.isArray(detail) ? detail.filter(isRecord).slice(0, mostDetails) : [];
  return details
    .map((one) =>
      [Array.isArray(one["loc"]) ? one["loc"].join(".") : "", textAt(one, "msg")].filter(Boolean).join(": "),
    )
    .join("; ");
}

const mostDetails = 10;
