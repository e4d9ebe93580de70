// 1. Entries of all runs are written in the order in which they came, each run's in frames without a gap.
// 2. While a call has its own transaction in the file, nothing is written but the record of that call.
// 3. A write that fails ends the use of each run in it: nothing is written after a gap.
import { systemClock, type Clock, type JournalError } from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";
import { fenced, journalError } from "./errors.ts";
import type { KeptEntry } from "@proviso/runtime/recording";
import { FrameToWrite } from "./frame-to-write.ts";
import type { LentFile } from "./lent-file.ts";
import type { AttachNow, Attached } from "./memory-store.ts";
import type { Frame, JournalStore } from "./store.ts";
import type { Summary } from "./summary.ts";

/** Entries that wait before they are written without a reason. */
const mostWaiting = 256;

/** The frames of one attempt of a run. */
export class RunWriter {
  readonly run: string;
  readonly attempt: number;
  readonly writer: string;
  readonly summary: Summary;
  /** The writer of the run's first frame; undefined: this one begins the run, with the next frame. */
  begunBy: string | undefined;
  /** The index of the first entry that is not written. */
  first: number;
  entries: KeptEntry[] = [];
  failed: JournalError | undefined;
  /** How many of `entries` are kept already, where a store in memory has them as they are. */
  keptCount = 0;
  /** The place that it has in a store in memory; undefined: it has none yet. */
  attached: Attached | undefined;
  readonly #queue: WriteQueue;
  constructor(
    queue: WriteQueue,
    of: {
      readonly run: string;
      readonly attempt: number;
      readonly writer: string;
      readonly begunBy: string | undefined;
      readonly first: number;
      readonly summary: Summary;
    },
  ) {
    this.#queue = queue;
    this.run = of.run;
    this.attempt = of.attempt;
    this.writer = of.writer;
    this.begunBy = of.begunBy;
    this.first = of.first;
    this.summary = of.summary;
  }

  append(entry: KeptEntry): void {
    if (this.failed !== undefined) return;
    this.entries.push(entry);
    this.#queue.waits(this);
  }

  /** Appends entries that are kept together, or none of them. */
  appendAll(entries: readonly KeptEntry[]): void {
    for (const entry of entries) this.entries.push(entry);
    this.#queue.waits(this);
  }

  flush(): Promise<void> | undefined {
    if (this.failed !== undefined) return Promise.reject(this.failed);
    return this.#queue.flush(this);
  }

  /** Writes what waits into the transaction that a call has open in the file. @throws {JournalError} */
  writeInside(): void {
    if (this.failed === undefined) this.#queue.writeInside(this);
    if (this.failed !== undefined) throw this.failed;
  }

  /** Takes what waits as a frame; undefined: nothing does. */
  frame(): FrameToWrite | undefined {
    return this.failed === undefined ? this.#taken(this.entries.length) : undefined;
  }

  /** Takes what a store in memory has of it as a frame; undefined: nothing. */
  keptFrame(): FrameToWrite | undefined {
    return this.#taken(this.keptCount);
  }

  #taken(count: number): FrameToWrite | undefined {
    if (count === 0) return undefined;
    const { first } = this;
    const isAll = count === this.entries.length;
    const entries = isAll ? this.entries : this.entries.slice(0, count);
    this.entries = isAll ? [] : this.entries.slice(count);
    this.first += count;
    this.keptCount = 0;
    for (const entry of entries) this.summary.add(entry);
    const { saved } = this.summary;
    saved.attempts = Math.max(saved.attempts, this.attempt);
    const frame = new FrameToWrite(this, first, entries, { ...saved });
    this.begunBy ??= this.writer;
    return frame;
  }
}

interface QueueOptions {
  readonly clock?: Clock;
  readonly attachNow?: AttachNow | undefined;
  /** The file, where calls have transactions in it. */
  readonly lent?: LentFile | undefined;
}

/** What the runs of a journal write, together. */
export class WriteQueue {
  readonly #store: JournalStore;
  /** undefined: the store is awaited. */
  readonly #attachNow: AttachNow | undefined;
  readonly #flushMs: number;
  readonly #clock: Clock;
  readonly #lent: LentFile | undefined;
  readonly #waiting = new Set<RunWriter>();
  #count = 0;
  #writing: Promise<void> | undefined;
  #stopAlarm: (() => void) | undefined;

  constructor(store: JournalStore, flushMs: number, { clock = systemClock, attachNow, lent }: QueueOptions = {}) {
    this.#lent = lent;
    this.#store = store;
    this.#attachNow = attachNow;
    this.#flushMs = flushMs;
    this.#clock = clock;
  }

  waits(writer: RunWriter): void {
    if (this.#attachNow !== undefined) {
      // A read looks for writers that wait.
      if (writer.entries.length === writer.keptCount + 1) this.#waiting.add(writer);
      return;
    }
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
    if (this.#attachNow !== undefined) return this.#keepNow(this.#attachNow, writer);
    // Where others wait too, one commit is made for all that come in this turn of the event loop.
    const isAlone = this.#writing === undefined && this.#waiting.size === 1 && this.#waiting.has(writer);
    if (isAlone && this.#lent?.isLent() === false) return this.#writeNow(this.#lent, writer);
    // What does not wait is kept, or is in the write that is under way.
    const writing = this.#waiting.has(writer) ? this.#writeAll() : this.#writing;
    return writing && this.#written(writer, writing);
  }

  #written(writer: RunWriter, writing: Promise<void>): Promise<void> {
    return writing.then(() => {
      if (writer.failed !== undefined) throw writer.failed;
    });
  }

  /** Writes what the only writer has that waits, without a promise where the file is free. */
  #writeNow(lent: LentFile, writer: RunWriter): Promise<void> | undefined {
    const taken = this.#taken();
    const kept = taken.frames.length === 0 ? [] : lent.appendNow(taken.frames);
    if (kept === undefined) return this.#written(writer, this.#under(this.#append(taken)));
    settle(taken, kept);
    return writer.failed && Promise.reject(writer.failed);
  }

  #keepNow(attach: AttachNow, writer: RunWriter): Promise<void> | undefined {
    this.#waiting.delete(writer);
    if (writer.keptCount === writer.entries.length) return undefined;
    try {
      const attached = (writer.attached ??= attach(writer));
      if (attached.mayGrow()) writer.keptCount = writer.entries.length;
      else writer.failed = fenced(writer.run);
    } catch (error) {
      writer.failed = journalError(error, writer.run);
    }
    return writer.failed && Promise.reject(writer.failed);
  }

  writeInside(writer: RunWriter): void {
    this.#waiting.delete(writer);
    try {
      const frame = writer.frame()?.written();
      if (frame === undefined) return;
      const lost = (cause: unknown): void => void (writer.failed ??= journalError(cause, writer.run));
      if (this.#lent?.writeInside(frame, lost) !== "kept") writer.failed = fenced(writer.run);
    } catch (error) {
      writer.failed = journalError(error, writer.run);
    }
  }

  /** Waits for what earlier attempts of a run have left behind. */
  async leftOf(run: string): Promise<void> {
    for (const writer of this.#waiting) if (writer.run === run) await this.flush(writer)?.catch(() => {});
  }

  /** Waits for all that can be written now. */
  async settled(): Promise<void> {
    if (this.#lent?.isLent() !== true) await this.idle();
  }

  async idle(): Promise<void> {
    const attach = this.#attachNow;
    if (attach !== undefined) {
      // All at once: the store has them as attempts that grow, and a frame of one would refuse what its attempt goes on with.
      for (const writer of Array.from(this.#waiting)) this.#keepNow(attach, writer)?.catch(() => {});
      return;
    }
    while (this.#waiting.size > 0 || this.#writing !== undefined) await this.#writeAll();
  }

  /** Resolves when all that waits now is written. */
  #writeAll(): Promise<void> {
    // What came while another write was under way is written after it, together: by the first that goes on here, while
    // the others wait for that write.
    return this.#writing === undefined ? this.#write() : this.#writing.then(() => this.#writing ?? this.#write());
  }

  #write(): Promise<void> {
    if (this.#waiting.size > 0) {
      return this.#under(this.#lent?.isLent() === true ? this.#writeLater() : this.#append(this.#taken()));
    }
    this.#endAlarm();
    return Promise.resolve();
  }

  #endAlarm(): void {
    this.#stopAlarm?.();
    this.#stopAlarm = undefined;
  }

  /** Nothing else is written while this is. */
  #under(work: Promise<void>): Promise<void> {
    this.#endAlarm();
    const writing = work.finally(() => {
      this.#writing = undefined;
      // What came meanwhile, and nothing waits for.
      if (this.#waiting.size > 0) this.#writeSoon();
    });
    this.#writing = writing;
    return writing;
  }

  async #writeLater(): Promise<void> {
    for (let free = this.#lent?.free(); free !== undefined; free = this.#lent?.free()) await free;
    await this.#append(this.#taken());
  }

  /** Takes all that waits. */
  #taken(): Taken {
    this.#endAlarm();
    const writers = [...this.#waiting];
    this.#waiting.clear();
    this.#count = 0;
    const frames: Frame[] = [];
    const writing: RunWriter[] = [];
    for (const writer of writers) {
      try {
        const frame = writer.frame()?.written();
        if (frame === undefined) continue;
        frames.push(frame);
        writing.push(writer);
      } catch (error) {
        writer.failed = journalError(error, writer.run);
      }
    }
    return { frames, writing };
  }

  async #append(taken: Taken): Promise<void> {
    if (taken.frames.length === 0) return;
    try {
      settle(taken, await this.#store.append(taken.frames));
    } catch (error) {
      for (const writer of taken.writing) writer.failed = journalError(error, writer.run);
    }
  }
}

/** Frames that are written together, and whose each is. */
interface Taken {
  readonly frames: readonly Frame[];
  readonly writing: readonly RunWriter[];
}

function settle({ writing }: Taken, kept: readonly ("kept" | "fenced")[]): void {
  for (const [place, writer] of writing.entries()) {
    if (kept[place] !== "kept") writer.failed = fenced(writer.run);
  }
}
