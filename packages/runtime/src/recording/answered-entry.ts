// The entry of an answer, as a journal in memory keeps it: one object.
import type { EntryContent, EntryOf } from "./entries.ts";
import { MadeEntry } from "./kept-entry.ts";

/** The entry of an answer. */
export class AnsweredEntry extends MadeEntry {
  readonly kind = "answered";
  readonly #turn: number;
  readonly #try: number;
  readonly #answer: EntryOf<"answered">["answer"];
  readonly #isRedacted: true | undefined;
  readonly #produced: number | undefined;

  constructor(
    turn: number,
    attempt: number,
    answer: EntryOf<"answered">["answer"],
    isRedacted: true | undefined,
    produced: number | undefined,
  ) {
    super();
    this.#turn = turn;
    this.#try = attempt;
    this.#answer = answer;
    this.#isRedacted = isRedacted;
    this.#produced = produced;
  }

  override get known(): EntryContent {
    return this.content();
  }

  content(): EntryContent {
    const isRedacted = this.#isRedacted;
    const produced = this.#produced;
    return {
      answer: this.#answer,
      ...(isRedacted === undefined ? {} : { isRedacted }),
      kind: this.kind,
      turn: this.#turn,
      try: this.#try,
      ...(produced === undefined ? {} : { produced }),
    };
  }
}
