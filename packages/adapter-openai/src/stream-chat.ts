import { isRecord, type ModelDelta } from "@proviso/core/provider";
import { listAt, objectAt, textAt, type Json, errorObjectFailure } from "@proviso/adapter-kit";
import { chatThoughts } from "./answer-parts.ts";
import type { StreamReader } from "./stream-responses.ts";

interface PartialCall {
  id: string;
  name: string;
  arguments: string;
}

/** Chunks of `POST /chat/completions`, put together as JSON would have had them; the first choice counts. */
export function chatReader(onDelta: (delta: ModelDelta) => void): StreamReader {
  const calls = new Map<number, PartialCall>();
  const texts = { content: "", refusal: "", thoughts: "" };
  const annotations: Json[] = [];
  const logprobs: Json[] = [];
  let base: Json = {};
  let usage: unknown;
  let finishReason: unknown;
  let failure: ReturnType<StreamReader["result"]> | undefined;

  const readDelta = (delta: Json): void => {
    const content = textAt(delta, "content");
    texts.content += content;
    texts.refusal += textAt(delta, "refusal");
    const thoughts = chatThoughts(delta);
    texts.thoughts += thoughts;
    annotations.push(...listAt(delta, "annotations"));
    if (thoughts !== "") onDelta({ kind: "reasoning", text: thoughts });
    if (content !== "") onDelta({ kind: "text", text: content });
    for (const call of listAt(delta, "tool_calls")) addCall(calls, call);
  };
  return {
    read(chunk) {
      if (!isRecord(chunk)) return false;
      if (isRecord(chunk["error"])) {
        failure = errorObjectFailure(chunk["error"]);
        return true;
      }
      if (textAt(chunk, "id") !== "") base = { ...chunk, choices: [] };
      if (isRecord(chunk["usage"])) ({ usage } = chunk);
      for (const choice of listAt(chunk, "choices")) {
        // What comes after a choice's end is late; of several choices only one is the answer.
        if (finishReason !== undefined || (choice["index"] ?? 0) !== 0) continue;
        logprobs.push(...listAt(objectAt(choice, "logprobs"), "content"));
        if (isRecord(choice["delta"])) readDelta(choice["delta"]);
        finishReason = choice["finish_reason"] ?? undefined;
      }
      return false;
    },
    result() {
      if (failure !== undefined) return failure;
      // No choice at all, to the end: an answer without a message.
      if (finishReason === undefined && usage === undefined) return "cut";
      if (finishReason === undefined && texts.content !== "") return "cut";
      const message = { role: "assistant", content: texts.content || null, refusal: texts.refusal || null };
      const toolCalls = [...calls.values()].map(({ id, ...given }) => ({ id, type: "function", function: given }));
      const choice = {
        index: 0,
        message: {
          ...message,
          ...(texts.thoughts === "" ? {} : { reasoning_content: texts.thoughts }),
          ...(annotations.length === 0 ? {} : { annotations }),
          ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
        },
        ...(logprobs.length === 0 ? {} : { logprobs: { content: logprobs } }),
        finish_reason: finishReason,
      };
      const choices = finishReason === undefined ? [] : [choice];
      return { body: { ...base, object: "chat.completion", choices, ...(usage === undefined ? {} : { usage }) } };
    },
  };
}

/**
 * Adds a piece to the call of its index. A piece without an index belongs to the last call, unless it begins another.
 */
function addCall(calls: Map<number, PartialCall>, piece: Json): void {
  const id = textAt(piece, "id");
  const given = objectAt(piece, "function");
  const index = piece["index"];
  const at = typeof index === "number" ? index : calls.size - (id === "" && calls.size > 0 ? 1 : 0);
  const call = calls.get(at) ?? { id, name: "", arguments: "" };
  call.id ||= id;
  call.name ||= textAt(given, "name");
  call.arguments += textAt(given, "arguments");
  calls.set(at, call);
}
