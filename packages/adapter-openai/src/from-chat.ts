import type { ModelFailure, ModelRequest, ModelResponse, ToolCall } from "@proviso/core";
import { isRecord, type FinishReason } from "@proviso/core/provider";
import {
  errorObjectFailure,
  invalidResponse,
  isErrorObject,
  listAt,
  objectAt,
  parsedOutput,
  textAt,
  type Json,
} from "@proviso/adapter-kit";
import { beside, chatSources, argumentsAt, servedBy, usageFrom } from "./answer-parts.ts";
import { chatThoughts, keptThoughts } from "./chat-thoughts.ts";

/**
 * The error that a body or a chunk is: an object, a text with its code beside it, or the body itself. undefined: it is none.
 * Sources: OpenRouter's API reference, "Errors"; Ollama's API, "Errors"; vLLM's `ErrorResponse`.
 */
export function errorIn(body: Json): Json | undefined {
  const { error, code, type } = body;
  if (isRecord(error)) return error;
  if (typeof error === "string" && error !== "") return { message: error, code, type };
  return body["object"] === "error" ? body : undefined;
}

/** What is known of a request beside its answer. */
interface AskedChat {
  readonly costUsd?: number | undefined;
  /** The host of the service that answered; undefined: it is OpenAI's. */
  readonly service?: string | undefined;
}

/** An answer of `POST /chat/completions`; the first choice counts. */
export function fromChat(
  body: unknown,
  output: ModelRequest["output"],
  { costUsd, service }: AskedChat = {},
): ModelResponse | ModelFailure {
  if (!isRecord(body)) return invalidResponse("The provider's answer is not a JSON object.", body);
  const usage = usageFrom(body["usage"], { input: "prompt_tokens", output: "completion_tokens" }, costUsd);
  // Routers answer with status 200 before they know that it failed.
  const error = errorIn(body);
  if (error !== undefined) return { ...errorObjectFailure(error), payload: body, usage };
  const [choice] = listAt(body, "choices");
  const message = choice?.["message"];
  if (choice === undefined || !isRecord(message)) {
    return { ...invalidResponse("The provider's answer has no message.", body), usage };
  }
  // Routers say so of a model that broke while it answered: the text is not whole.
  if (choice["finish_reason"] === "error" || isErrorObject(choice["error"])) {
    return { ...errorObjectFailure(choice["error"]), payload: body, usage };
  }
  const text = contentText(message["content"]);
  const toolCalls = listAt(message, "tool_calls").flatMap(callOf);
  const refusal = textAt(message, "refusal");
  const reasoning = chatThoughts(message);
  return {
    message: {
      role: "assistant",
      text,
      toolCalls,
      ...(reasoning === "" ? {} : { reasoning }),
      ...keptThoughts(message, { service, hasCalls: toolCalls.length > 0 }),
    },
    finishReason: finishReason(choice["finish_reason"], toolCalls.length > 0),
    usage,
    model: textAt(body, "model") || undefined,
    ...beside(chatSources(message)),
    ...servedBy(body, listAt(objectAt(choice, "logprobs"), "content")),
    ...(toolCalls.length > 0 ? {} : parsedOutput(output, text)),
    refusal: refusal === "" ? undefined : refusal,
    payload: body,
  };
}

/** The text of a message or of a piece of one: a text, or a list of parts, as Mistral's reasoning models send it. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return listAt({ content }, "content")
    .map((part) => textAt(part, "text"))
    .join("");
}

function callOf(call: Json): readonly ToolCall[] {
  if (!isRecord(call["function"])) return [];
  const given = objectAt(call, "function");
  return [{ id: textAt(call, "id"), name: textAt(given, "name"), arguments: argumentsAt(given, "arguments") }];
}

function finishReason(reason: unknown, hasCalls: boolean): FinishReason {
  if (reason === "length") return "length";
  if (reason === "content_filter") return "content-filter";
  if (hasCalls) return "tool-calls";
  // Some servers give no reason, or an empty text for it.
  return !reason || reason === "stop" ? "stop" : "other";
}
