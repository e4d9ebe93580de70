import { JournalError } from "@proviso/core";
import type { KeptEntry } from "@proviso/runtime/recording";
import { bodyOf } from "./format.ts";
import type { Frame } from "./store.ts";
import { frameSum } from "./sum.ts";
import { writtenSummary, type SavedSummary } from "./summary.ts";

/** Bytes of one entry, nearly: UTF-16 units of its JSON. */
const longestEntry = 64 * 1024 * 1024;

/** The attempt of a run that a frame belongs to. */
interface Writer {
  readonly run: string;
  readonly attempt: number;
  readonly writer: string;
  /** The writer of the run's first frame; undefined: this one begins the run. */
  readonly begunBy: string | undefined;
}

/** A frame whose texts are made when they are first read: a store in memory may never read them. */
export class FrameToWrite implements Frame {
  readonly run: string;
  readonly first: number;
  readonly count: number;
  readonly writer: string;
  readonly begunBy: string | undefined;
  readonly #attempt: number;
  readonly #saved: SavedSummary;
  #entries: readonly KeptEntry[];
  #body: string | undefined;

  constructor(
    { run, attempt, writer, begunBy }: Writer,
    first: number,
    entries: readonly KeptEntry[],
    saved: SavedSummary,
  ) {
    this.run = run;
    this.first = first;
    this.count = entries.length;
    this.writer = writer;
    this.begunBy = begunBy;
    this.#attempt = attempt;
    this.#entries = entries;
    this.#saved = saved;
  }

  get body(): string {
    if (this.#body === undefined) {
      this.#body = bodyOf(this.#attempt, this.#entries);
      this.#entries = [];
    }
    return this.#body;
  }

  get sum(): number {
    return frameSum(this);
  }

  get summary(): string {
    return writtenSummary(this.#saved);
  }

  /** Returns the frame as plain data. @throws {JournalError} "full" for an entry of more than 64 MiB. */
  written(): Frame {
    const { run, first, count, writer, begunBy, body, sum, summary } = this;
    if (body.length > longestEntry * count || (count === 1 && body.length > longestEntry)) {
      throw new JournalError(`An entry of the run "${run}" is larger than 64 MiB.`, { reason: "full", run });
    }
    return Object.freeze({ run, first, count, writer, begunBy, body, sum, summary });
  }
}
