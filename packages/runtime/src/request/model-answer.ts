import {
  isRecord,
  toJsonValue,
  type AssistantMessage,
  type FinishReason,
  type ModelFailure,
  type ModelResponse,
  type ProviderErrorReason,
  type ReportedUsage,
  type ThrottleKind,
  type ToolCall,
} from "@proviso/core";
import { isNetworkError, isTimeoutError } from "../adapter/network-error.ts";
import { messageOf } from "../failures.ts";
import { isA } from "../is-a.ts";
import type { Work } from "./attempt.ts";

/** Begins the work; what it throws is returned as the data that it should have been. Never rejects. */
export function asData(work: Work, onDelta: Parameters<Work["begin"]>[0]): Promise<ModelResponse | ModelFailure> {
  try {
    return Promise.resolve(work.begin(onDelta)).then(checked, thrown);
  } catch (cause) {
    return Promise.resolve(thrown(cause));
  }
}

function checked(answer: unknown): ModelResponse | ModelFailure {
  try {
    const read = readAnswer(answer);
    if (read !== undefined) return read;
  } catch (cause) {
    return thrown(cause);
  }
  const message = "The provider returned no message.";
  return { failure: "provider", reason: "invalid_response", message, payload: answer };
}

function thrown(cause: unknown): ModelFailure {
  const message = messageOf(cause);
  try {
    if (isTimeoutError(cause)) return { failure: "throttle", kind: "timeout", message, cause };
    if (isNetworkError(cause) || isFailedFetch(cause)) return { failure: "throttle", kind: "unknown", message, cause };
  } catch {
    // An error whose fields throw when they are read is nobody's network.
  }
  return { failure: "provider", reason: "unknown", message, cause };
}

/**
 * Anyone may have written the provider: what it returns is read once, here, and only what was read goes on. undefined for
 * what is no answer.
 */
function readAnswer(answer: unknown): ModelResponse | ModelFailure | undefined {
  if (!isRecord(answer)) return undefined;
  const { failure, message, payload, usage } = answer;
  if (failure !== undefined)
    return typeof message === "string" ? readFailure(answer, { failure, message, payload, usage }) : undefined;
  const read = readMessage(message);
  if (read === undefined) return undefined;
  const { finishReason, model, parsed, refusal } = answer;
  return {
    message: read,
    finishReason: finishReasons.has(finishReason) ? (finishReason as FinishReason) : "other",
    usage: usage as ReportedUsage | undefined,
    model: typeof model === "string" ? model : undefined,
    parsed,
    refusal: typeof refusal === "string" ? refusal : undefined,
    payload,
  };
}

const finishReasons: ReadonlySet<unknown> = new Set<FinishReason>([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "other",
]);

function readMessage(message: unknown): AssistantMessage | undefined {
  if (!isRecord(message)) return undefined;
  const { text, toolCalls, providerItems } = message;
  if (typeof text !== "string" || !Array.isArray(toolCalls)) return undefined;
  const calls: ToolCall[] = [];
  for (const call of toolCalls as readonly unknown[]) {
    if (!isRecord(call)) return undefined;
    const { id, name, arguments: given } = call;
    if (typeof name !== "string") return undefined;
    calls.push({ id: typeof id === "string" ? id : "", name, arguments: argumentsText(given) });
  }
  const own = { role: "assistant", text, toolCalls: calls } as const;
  return providerItems === undefined ? own : { ...own, providerItems };
}

/** A provider may have left the arguments out, or handed on what it parsed; in a history they are text. */
function argumentsText(given: unknown): string {
  if (typeof given === "string") return given;
  const json = given === undefined || given === null ? undefined : toJsonValue(given);
  return json === undefined ? "" : JSON.stringify(json.value);
}

const throttleKinds: ReadonlySet<unknown> = new Set<ThrottleKind>([
  "rate_limit",
  "quota_exhausted",
  "timeout",
  "server_error",
  "unknown",
]);

function readFailure(
  answer: Readonly<Record<string, unknown>>,
  read: { readonly failure: unknown; readonly message: string; readonly payload: unknown; readonly usage: unknown },
): ModelFailure | undefined {
  const { failure, message, payload } = read;
  const { status, cause } = answer;
  const usage = read.usage as ReportedUsage | undefined;
  const told = { message, status: status as number | undefined, payload, usage, cause };
  switch (failure) {
    case "throttle": {
      const { kind, retryAfterMs: asked } = answer;
      // A wait that is no number of milliseconds is as if nothing was asked for.
      const retryAfterMs = typeof asked === "number" && Number.isFinite(asked) && asked >= 0 ? asked : undefined;
      return { ...told, failure, kind: throttleKinds.has(kind) ? (kind as ThrottleKind) : "unknown", retryAfterMs };
    }
    case "provider": {
      const { reason } = answer;
      return { ...told, failure, reason: typeof reason === "string" ? (reason as ProviderErrorReason) : "unknown" };
    }
    case "process": {
      const { stderr, exitCode, signal } = answer;
      if (typeof stderr !== "string") return undefined;
      return { ...told, failure, stderr, exitCode: exitCode as number | null, signal: signal as string | null };
    }
    default:
      return undefined;
  }
}

/** `fetch` does not always name what it met as its cause. */
function isFailedFetch(error: unknown): boolean {
  return isA(error, TypeError) && ["fetch failed", "terminated"].includes(error.message);
}
