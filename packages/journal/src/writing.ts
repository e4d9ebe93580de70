// 1. Entries of all runs are written in the order in which they came, each run's in frames without a gap.
// 2. A write that fails ends the use of each run in it: nothing is written after a gap.
import { JournalError, systemClock, type Clock } from "@proviso/core";
import { messageOf, setAlarm } from "@proviso/core/internal";
import type { JournalEntry } from "@proviso/runtime/recording";
import { bodyOf } from "./format.ts";
import type { Frame, JournalStore } from "./store.ts";
import { frameSum } from "./sum.ts";
import type { Summary } from "./summary.ts";

/** Entries that wait before they are written without a reason. */
const mostWaiting = 256;
/** Bytes of one entry, nearly: UTF-16 units of its JSON. */
const longestEntry = 64 * 1024 * 1024;

/** The frames of one attempt of a run. */
export class RunWriter {
  readonly run: string;
  readonly attempt: number;
  readonly writer: string;
  readonly summary: Summary;
  /** The index of the first entry that is not written. */
  first: number;
  entries: JournalEntry[] = [];
  failed: JournalError | undefined;
  readonly #queue: WriteQueue;
  constructor(
    queue: WriteQueue,
    of: {
      readonly run: string;
      readonly attempt: number;
      readonly writer: string;
      readonly first: number;
      readonly summary: Summary;
    },
  ) {
    this.#queue = queue;
    this.run = of.run;
    this.attempt = of.attempt;
    this.writer = of.writer;
    this.first = of.first;
    this.summary = of.summary;
  }

  append(entry: JournalEntry): void {
    if (this.failed !== undefined) return;
    this.summary.add(entry);
    this.entries.push(entry);
    this.#queue.waits(this);
  }

  flush(): Promise<void> | undefined {
    if (this.failed !== undefined) return Promise.reject(this.failed);
    return this.#queue.flush(this);
  }

  /** Takes what waits as a frame; undefined: nothing does. */
  frame(): Frame | undefined {
    const { entries, run, first, attempt, writer } = this;
    if (entries.length === 0 || this.failed !== undefined) return undefined;
    const body = bodyOf(attempt, entries);
    if (body.length > longestEntry * entries.length || (entries.length === 1 && body.length > longestEntry)) {
      throw new JournalError(`An entry of the run "${run}" is larger than 64 MiB.`, { reason: "full", run });
    }
    this.first += entries.length;
    this.entries = [];
    const summary = JSON.stringify(this.summary.saved);
    return { run, first, count: entries.length, writer, body, sum: frameSum({ run, first, body }), summary };
  }
}

/** What the runs of a journal write, together. */
export class WriteQueue {
  readonly #store: JournalStore;
  readonly #flushMs: number;
  readonly #clock: Clock;
  readonly #waiting = new Set<RunWriter>();
  #count = 0;
  #writing: Promise<void> | undefined;
  #stopAlarm: (() => void) | undefined;

  constructor(store: JournalStore, flushMs: number, clock: Clock = systemClock) {
    this.#store = store;
    this.#flushMs = flushMs;
    this.#clock = clock;
  }

  waits(writer: RunWriter): void {
    this.#waiting.add(writer);
    this.#count += 1;
    if (this.#count >= mostWaiting) void this.#writeAll();
    else if (this.#writing === undefined) this.#writeSoon();
  }

  #writeSoon(): void {
    this.#stopAlarm ??= setAlarm(this.#clock, this.#flushMs, () => {
      this.#stopAlarm = undefined;
      void this.#writeAll();
    });
  }

  /** Resolves when all that the run has appended is kept; undefined: it is already. */
  flush(writer: RunWriter): Promise<void> | undefined {
    if (!this.#waiting.has(writer) && this.#writing === undefined) return undefined;
    return this.#writeAll().then(() => {
      if (writer.failed !== undefined) throw writer.failed;
    });
  }

  /** Waits for all that is written. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0 || this.#writing !== undefined) await this.#writeAll();
  }

  #writeAll(): Promise<void> {
    // What came while another write was under way is written after it, together.
    if (this.#writing !== undefined)
      return this.#writing.then(() => (this.#waiting.size > 0 ? this.#writeAll() : undefined));
    this.#stopAlarm?.();
    this.#stopAlarm = undefined;
    const writers = [...this.#waiting];
    this.#waiting.clear();
    this.#count = 0;
    if (writers.length === 0) return Promise.resolve();
    const writing = this.#write(writers).finally(() => {
      this.#writing = undefined;
      // What came meanwhile, and nothing waits for.
      if (this.#waiting.size > 0) this.#writeSoon();
    });
    this.#writing = writing;
    return writing;
  }

  async #write(writers: readonly RunWriter[]): Promise<void> {
    const frames: Frame[] = [];
    const writing: RunWriter[] = [];
    for (const writer of writers) {
      try {
        const frame = writer.frame();
        if (frame === undefined) continue;
        frames.push(frame);
        writing.push(writer);
      } catch (error) {
        writer.failed = journalError(error, writer.run);
      }
    }
    try {
      const kept = await this.#store.append(frames);
      for (const [place, writer] of writing.entries()) {
        if (kept[place] === "kept") continue;
        const message = `The run "${writer.run}" was taken over, removed or cancelled by another writer.`;
        writer.failed = new JournalError(message, { reason: "fenced", run: writer.run });
      }
    } catch (error) {
      for (const writer of writing) writer.failed = journalError(error, writer.run);
    }
  }
}

function journalError(error: unknown, run: string): JournalError {
  if (error instanceof JournalError) return error;
  return new JournalError(`The run "${run}" cannot be written: ${messageOf(error)}`, {
    reason: "failed",
    run,
    cause: error,
  });
}
