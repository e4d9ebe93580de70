// The attempts of an evaluation that may begin again with another model: from the record, as far as it goes.
import type { ModelResponse } from "@proviso/core";
import { stepOfAnswer } from "@proviso/core/internal";
import type { Failure } from "../failures.ts";
import type { Attempts, Next } from "../attempts.ts";
import type { JournalEntry } from "./entries.ts";

/** Attempts that go the way they went as long as the record has them; then they go on from there. */
export class KeptAttempts implements Attempts {
  readonly #attempts: Attempts;
  readonly #peek: () => JournalEntry | undefined;
  readonly #lastAnswer: () => Pick<ModelResponse, "route"> | undefined;

  /**
   * `peek`: the entry that is next; undefined: the evaluation goes on beyond the record. `lastAnswer`: the last answer from
   * the record.
   */
  constructor(
    attempts: Attempts,
    peek: () => JournalEntry | undefined,
    lastAnswer: () => Pick<ModelResponse, "route"> | undefined,
  ) {
    this.#attempts = attempts;
    this.#peek = peek;
    this.#lastAnswer = lastAnswer;
  }

  hasMore(): boolean {
    const next = this.#peek();
    return next === undefined ? this.#attempts.hasMore() : next.kind === "attempt";
  }

  nextAfter(why: Failure, mayRepeat: () => boolean): Next | undefined {
    const entry = this.#peek();
    const answered = stepOfAnswer(this.#lastAnswer()?.route);
    if (entry === undefined) return this.#attempts.nextAfter(why, mayRepeat, answered);
    if (entry.kind !== "event" || entry.event.type !== "evaluation.restarted") return undefined;
    const { provider, model } = entry.event;
    const next = { provider, model };
    this.#attempts.takeRecorded(why, next, answered);
    return next;
  }

  takeRecorded(...given: Parameters<Attempts["takeRecorded"]>): void {
    this.#attempts.takeRecorded(...given);
  }
}

/** All attempts of a record, one after the other. */
export class RecordedAttempts implements Attempts {
  readonly #restarted: readonly Next[];
  #left: number;
  #next = 0;

  constructor(entries: readonly JournalEntry[]) {
    const own = entries.filter(({ evaluationId }) => evaluationId === entries[0]?.evaluationId);
    this.#left = own.filter(({ kind }) => kind === "attempt").length;
    this.#restarted = own.flatMap((entry) =>
      entry.kind === "event" && entry.event.type === "evaluation.restarted" ? [entry.event] : [],
    );
  }

  hasMore(): boolean {
    return this.#left-- > 0;
  }

  nextAfter(): Next | undefined {
    return this.#restarted[this.#next++];
  }

  takeRecorded(): void {}
}

/** Whether an evaluation might have begun again with another model. */
export function hasAttempts(entries: readonly JournalEntry[]): boolean {
  return entries.some(({ kind }) => kind === "attempt");
}

/** The turns after which an evaluation began again, with the code of what had ended the attempt before. */
export function restartsIn(entries: readonly JournalEntry[]): ReadonlyMap<number, string> {
  const restarts = new Map<number, string>();
  let turn = 0;
  for (const entry of entries) {
    if (entry.evaluationId !== entries[0]?.evaluationId) continue;
    if (entry.kind === "answered") ({ turn } = entry);
    if (entry.kind === "event" && entry.event.type === "evaluation.restarted") restarts.set(turn, entry.event.code);
  }
  return restarts;
}
