// The answers of a run, as its record has them.
import type { ModelFailure, ModelResponse } from "@proviso/core";
import { frozenJson, messageOf, toJsonValue } from "@proviso/core/internal";
import { takeUpFiles, withGenerated } from "../content/files-of.ts";
import { isFailure } from "../failures.ts";
import type { Run } from "../run.ts";
import type { RecordedRequest } from "./contract.ts";
import type { EntryOf } from "./entries.ts";

/** An answer as a replay needs it: with all that held it back. */
export function queuedAnswer(
  answer: ModelResponse | ModelFailure,
  { queuedMs = 0 }: Pick<RecordedRequest, "queuedMs">,
): typeof answer {
  if (answer.failure !== undefined || queuedMs === 0) return answer;
  return { ...answer, queuedMs: queuedMs + (answer.queuedMs ?? 0) };
}

/** An answer for the record: plain JSON without raw payloads and secrets. */
export function recordedAnswer(
  run: Run,
  given: ModelResponse | ModelFailure,
  payloads = false,
): Pick<EntryOf<"answered">, "answer" | "isRedacted"> {
  const isBare = !payloads && run.world.secrets === undefined;
  const copied = isBare ? plainAnswer(given) : undefined;
  if (copied !== undefined) return { answer: copied };
  const { payload, ...bare } = given;
  const answer = payloads && payload !== undefined ? { ...bare, payload: toJsonValue(payload)?.value } : bare;
  const shown = "cause" in answer && answer.cause !== undefined ? { ...answer, cause: causeOf(answer.cause) } : answer;
  if (run.world.secrets === undefined) {
    return { answer: (toJsonValue(shown)?.value ?? shown) as typeof shown };
  }
  const hidden = run.redaction.value(shown);
  return callsIn(hidden) === callsIn(shown) ? { answer: hidden } : { answer: hidden, isRedacted: true };
}

/**
 * An answer that has text, calls and numbers alone, as nearly all do; undefined: it has more. A copy at every depth of what
 * may be anything takes many times as long.
 */
function plainAnswer(answer: ModelResponse | ModelFailure): ModelResponse | undefined {
  if (answer.failure !== undefined) return undefined;
  const { message, finishReason, usage, model } = answer;
  if (!hasOnly(answer, answerFields) || !hasOnly(message, messageFields) || typeof message.text !== "string") {
    return undefined;
  }
  if (usage !== undefined && !areNumbers(usage)) return undefined;
  for (const call of message.toolCalls) {
    if (!hasOnly(call, callFields) || typeof call.arguments !== "string") return undefined;
  }
  // The history takes the message over in any case, and freezes it.
  const own = frozenJson(message);
  const costs = usage === undefined ? undefined : { ...usage };
  if (model !== undefined) return { message: own, finishReason, model, ...(costs && { usage: costs }) };
  return costs === undefined ? { message: own, finishReason } : { message: own, finishReason, usage: costs };
}

const answerFields: Readonly<Record<string, true>> = {
  message: true,
  finishReason: true,
  usage: true,
  model: true,
  payload: true,
};
const messageFields: Readonly<Record<string, true>> = { role: true, text: true, toolCalls: true };
const callFields: Readonly<Record<string, true>> = { id: true, name: true, arguments: true };

function hasOnly(object: object, fields: Readonly<Record<string, true>>): boolean {
  for (const key in object) {
    if (fields[key] !== true && (object as Readonly<Record<string, unknown>>)[key] !== undefined) return false;
  }
  return true;
}

/** Not NaN and not infinite, which JSON has not. */
function areNumbers(object: object): boolean {
  for (const key in object) {
    if (!Number.isFinite((object as Readonly<Record<string, unknown>>)[key])) return false;
  }
  return true;
}

/** The calls of an answer, as a text. */
function callsIn(answer: ModelResponse | ModelFailure): string {
  return answer.failure === undefined ? JSON.stringify(answer.message.toolCalls) : "";
}

function causeOf(cause: unknown): unknown {
  const { name, code } = (cause ?? {}) as { readonly name?: unknown; readonly code?: unknown };
  return {
    name: typeof name === "string" ? name : "Error",
    code: typeof code === "string" || typeof code === "number" ? code : undefined,
    message: messageOf(cause),
  };
}

/** An answer whose files are stored, so that it can be kept; a failure where they cannot be. */
export async function storedAnswer(run: Run, answer: ModelResponse): Promise<ModelResponse | ModelFailure> {
  const { generated: _bytes, ...rest } = answer;
  const message = await withGenerated(run, answer);
  if (!isFailure(message)) return { ...rest, message };
  const { message: why, cause } = message;
  return { failure: "provider", reason: "invalid_response", message: why, usage: answer.usage, cause };
}

/** The answer of a record, and what the model made in it. */
export function answerAgain(
  run: Run,
  given: EntryOf<"answered">["answer"],
): ModelResponse | ModelFailure | Promise<ModelResponse | ModelFailure> {
  const answer = answerFrom(given);
  const files = answer.failure === undefined ? answer.message.files : undefined;
  return files === undefined ? answer : takeUpFiles(run, files).then(() => answer);
}

/** The answer of a record, for the evaluation. */
function answerFrom(answer: EntryOf<"answered">["answer"]): ModelResponse | ModelFailure {
  return { ...answer } as ModelResponse | ModelFailure;
}
