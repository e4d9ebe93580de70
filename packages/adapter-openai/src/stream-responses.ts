// 1. Events are read in the order of their sequence numbers, each once; without numbers in the order of arrival.
// 2. The terminal event's answer is the answer; its deltas are only emitted.
import type { ModelFailure } from "@proviso/core";
import { isRecord, type ModelDelta } from "@proviso/core/provider";
import { betweenThoughts } from "./answer-parts.ts";
import { textAt, type Json, errorObjectFailure, endsResponse, streamedItems } from "@proviso/adapter-kit";

/** What a stream of `POST /responses` comes to: the body that JSON would have had, or why there is none. */
export interface StreamReader {
  /** true: this was the last event that counts. */
  read(event: unknown): boolean;
  /** Whether the answer is whole, also if nothing more comes. */
  isWhole(): boolean;
  /** Returns the result. Call it after the last event, or at the end of the stream. */
  result(): { readonly body: unknown } | ModelFailure | "cut";
}

/** A longer gap means that the server skips numbers. */
const mostHeldBack = 16;

export function responsesReader(onDelta: (delta: ModelDelta) => void): StreamReader {
  const items = streamedItems();
  const think = thoughtReader(onDelta);
  const heldBack = new Map<number, Json>();
  let next: number | undefined;
  let outcome: { readonly body: unknown } | ModelFailure | undefined;

  const readEvent = (event: Json): void => {
    const type = event["type"];
    if (type === "response.output_text.delta") {
      const { delta } = event;
      if (typeof delta === "string" && delta !== "") onDelta({ kind: "text", text: delta });
    } else if (type === "response.reasoning_summary_text.delta" || type === "response.reasoning_text.delta") {
      think(event);
    } else {
      items.read(event);
    }
  };
  /** Reads what comes next, and behind a gap as well where it holds more events back than `most`. */
  const readHeldBack = (most: number): void => {
    for (;;) {
      if (next === undefined || !heldBack.has(next)) {
        if (heldBack.size <= most) return;
        next = Math.min(...heldBack.keys());
      }
      const event = heldBack.get(next);
      heldBack.delete(next);
      next += 1;
      if (event !== undefined) readEvent(event);
    }
  };
  const inOrder = (event: Json): void => {
    const number = event["sequence_number"];
    if (typeof number !== "number") return readEvent(event);
    next ??= number;
    if (number < next) return;
    heldBack.set(number, event);
    readHeldBack(mostHeldBack);
  };
  return {
    read(event) {
      if (!isRecord(event)) return false;
      const type = textAt(event, "type");
      if (type === "error") outcome = errorObjectFailure(event);
      else if (isRecord(event["response"]) && endsResponse(type, event["response"])) {
        // What a gap holds back still counts: nothing fills the gap now.
        readHeldBack(0);
        outcome = { body: items.whole(event["response"]) };
      } else {
        inOrder(event);
        return false;
      }
      return true;
    },
    isWhole: () => outcome !== undefined,
    result: () => outcome ?? "cut",
  };
}

/** Emits the parts of a summary with what is between them, as `thoughtsIn` puts them together. */
function thoughtReader(onDelta: (delta: ModelDelta) => void): (event: Json) => void {
  let last: string | undefined;
  return ({ delta, output_index: item, summary_index: summary, content_index: content }) => {
    if (typeof delta !== "string" || delta === "") return;
    const part = JSON.stringify([item, summary, content]);
    const separator = last === undefined || last === part ? "" : betweenThoughts;
    last = part;
    onDelta({ kind: "reasoning", text: separator + delta });
  };
}
