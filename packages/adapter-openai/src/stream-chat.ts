import { isRecord, type ModelDelta } from "@proviso/core/provider";
import { argumentsAt } from "./answer-parts.ts";
import { contentText, errorIn } from "./from-chat.ts";
import { errorObjectFailure, isErrorObject, listAt, objectAt, textAt, type Json } from "@proviso/adapter-kit";
import { areWantedBack, asThoughts, chatThoughts } from "./chat-thoughts.ts";
import type { StreamReader } from "./stream-responses.ts";

interface PartialCall {
  id: string;
  name: string;
  /** What came as text. */
  arguments: string;
  /** The JSON of what came as an object; it counts where no text came. */
  object: string;
}

/** Chunks of `POST /chat/completions`, put together as JSON would have had them; the first choice counts. */
export function chatReader(onDelta: (delta: ModelDelta) => void): StreamReader {
  const calls = new PartialCalls();
  const texts = { content: "", refusal: "", thoughts: "" };
  let wantsThoughts = false;
  const annotations: Json[] = [];
  const logprobs: Json[] = [];
  let base: Json = {};
  let usage: unknown;
  let hasChoice = false;
  let finishReason: unknown;
  let broken: unknown;
  let failure: ReturnType<StreamReader["result"]> | undefined;

  const readDelta = (delta: Json): void => {
    const content = contentText(delta["content"]);
    texts.content += content;
    texts.refusal += textAt(delta, "refusal");
    const thoughts = chatThoughts(delta);
    texts.thoughts += thoughts;
    wantsThoughts ||= areWantedBack(delta);
    for (const annotation of listAt(delta, "annotations")) annotations.push(annotation);
    if (thoughts !== "") onDelta({ kind: "reasoning", text: thoughts });
    if (content !== "") onDelta({ kind: "text", text: content });
    for (const call of listAt(delta, "tool_calls")) calls.add(call);
  };
  return {
    read(chunk) {
      if (!isRecord(chunk)) return false;
      const error = errorIn(chunk);
      if (error !== undefined) {
        failure = errorObjectFailure(error);
        return true;
      }
      if (textAt(chunk, "id") !== "") base = { ...chunk, choices: [] };
      if (isRecord(chunk["usage"])) ({ usage } = chunk);
      for (const choice of listAt(chunk, "choices")) {
        hasChoice = true;
        // What comes after a choice's end is late; of several choices only one is the answer.
        if (finishReason !== undefined || (choice["index"] ?? 0) !== 0) continue;
        for (const token of listAt(objectAt(choice, "logprobs"), "content")) logprobs.push(token);
        if (isRecord(choice["delta"])) readDelta(choice["delta"]);
        broken = choice["error"];
        // Some servers write an empty text in place of null. A choice that broke has come to its end.
        finishReason = choice["finish_reason"] || (isErrorObject(broken) ? "error" : undefined);
      }
      return false;
    },
    isWhole: () => finishReason !== undefined,
    result() {
      if (failure !== undefined) return failure;
      // A usage, and no choice at all to the end: an answer without a message. Some services give it with each chunk.
      if (finishReason === undefined && (hasChoice || usage === undefined)) return "cut";
      const choice = {
        index: 0,
        message: { ...asMessage(texts, annotations, calls.all), ...asThoughts(texts.thoughts, wantsThoughts) },
        ...(logprobs.length === 0 ? {} : { logprobs: { content: logprobs } }),
        finish_reason: finishReason,
        ...(isErrorObject(broken) ? { error: broken } : {}),
      };
      const choices = finishReason === undefined ? [] : [choice];
      return { body: { ...base, object: "chat.completion", choices, ...(usage === undefined ? {} : { usage }) } };
    },
  };
}

/** The message as it stands in an answer that came as JSON, but for its thoughts. */
function asMessage(
  { content, refusal }: Readonly<Record<"content" | "refusal", string>>,
  annotations: readonly Json[],
  calls: readonly PartialCall[],
): Json {
  const toolCalls = calls.map(({ id, name, arguments: text, object }) => ({
    id,
    type: "function",
    function: { name, arguments: text || object },
  }));
  return {
    role: "assistant",
    content: content || null,
    refusal: refusal || null,
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

/** The calls of an answer, as their pieces come. */
class PartialCalls {
  readonly all: PartialCall[] = [];
  /** The last one of each index. */
  readonly #lastOf = new Map<number, PartialCall>();

  /**
   * Adds a piece to the call that it belongs to: the last one of its index, without an index the last one of all. A piece
   * with a name and another id begins a call, because some servers give every call the same index, or none; one without a
   * name goes on, because others give every piece an id of its own.
   */
  add(piece: Json): void {
    const { index } = piece;
    const id = textAt(piece, "id");
    const given = objectAt(piece, "function");
    const name = textAt(given, "name");
    const last = typeof index === "number" ? this.#lastOf.get(index) : this.all.at(-1);
    const isAnother = name !== "" && id !== "" && last?.name !== "" && last?.id !== id;
    let call = isAnother ? undefined : last;
    if (call === undefined) {
      this.all.push((call = { id, name: "", arguments: "", object: "" }));
      if (typeof index === "number") this.#lastOf.set(index, call);
    }
    call.id ||= id;
    call.name ||= name;
    // Some servers send an object, whole.
    if (typeof given["arguments"] === "string") call.arguments += given["arguments"];
    else call.object ||= argumentsAt(given, "arguments");
  }
}
