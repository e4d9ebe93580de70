import type { FrameworkEvent, StreamEvent } from "@proviso/core";
import { thought } from "./model.ts";
import type { Reading } from "./evaluation.ts";
import type { Watched } from "./registry.ts";
import type { World } from "./world.ts";

/** STR-1, STR-2 and THR-9: a stream tells what the session heard of its evaluation, in order, and nothing else. */
export async function checkStream({ book }: World, watched: Watched | undefined, reading: Reading): Promise<void> {
  const { events, left, error } = reading;
  const heard = watched?.events ?? [];
  const own = events.filter((event): event is Exclude<StreamEvent, { type: "app" }> => event.type !== "app");
  const told = own.map((event) => `${event.seq} ${event.type}`);
  const wanted = heard.map((event) => `${event.seq} ${event.type}`);
  // A rollback that outlasts its grace fails after the evaluation has ended, and the stream with it.
  const end = heard.findIndex(({ type }) => type === "prompt.executed" || type === "prompt.failed") + 1;
  const length = left ? told.length : Math.max(told.length, end === 0 ? wanted.length : end);
  book.same(told, wanted.slice(0, length), "STR-2 what a stream tells");
  if (watched === undefined) return;
  const last = end === 0 ? heard.at(-1) : heard[end - 1];
  if (!left)
    book.demand((error === undefined) === (last?.type === "prompt.executed"), `STR-2 it ends after ${last?.type}`);
  checkTexts({ book }, watched, heard);
}

/** Of each turn that was answered, the deltas since the last reset are its text. */
function checkTexts({ book }: Pick<World, "book">, { said, id }: Watched, heard: readonly FrameworkEvent[]): void {
  const told = new Map<number, string>();
  const answered: number[] = [];
  let attempt = 1;
  let needsReset = false;
  for (const event of heard) {
    if (event.type === "text.reset") {
      told.set(event.turn, "");
      needsReset = false;
    }
    if (event.type === "provider.requested") {
      attempt = event.attempt;
      needsReset = attempt > 1 && (told.get(event.turn) ?? "") !== "";
    }
    if (event.type === "text.delta" || event.type === "reasoning.delta") {
      book.demand(event.text !== thought, `STR-1 ${id} tells a delta of another kind as ${event.type}`);
    }
    if (event.type === "text.delta") {
      book.demand(!needsReset, `THR-9 ${id} tells more of attempt ${attempt} without taking back the one before`);
      told.set(event.turn, (told.get(event.turn) ?? "") + event.text);
    }
    if (event.type === "provider.responded") answered.push(event.turn);
  }
  // An answer that could not be used is the last one, and is not kept.
  for (const [at, message] of said.entries()) {
    const turn = answered[at];
    if (turn === undefined) continue;
    const text = told.get(turn) ?? "";
    book.demand(text === message.text, `STR-1 ${id} tells "${text}" of "${message.text}"`);
  }
}
