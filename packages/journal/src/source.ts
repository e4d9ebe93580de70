// One run of a journal, as the runtime records it and goes on from it.
import { JournalError, systemClock, type Blobs, type EvaluationFailure, type ToolReturn } from "@proviso/core";
import {
  cutAfterLastStep,
  emptyEnd,
  entriesToReplay,
  insideAnswers,
  isAtRest,
  journalEntry,
  keptEntry,
  lastingEnd,
  lostCalls,
  standingEntries,
  suspendedCalls,
  suspendedEver,
  unansweredBefore,
  unknownCalls,
  type EntryOf,
  type JournalEntry,
  type KeptEntry,
  type OpenedSource,
  type RunSource,
} from "@proviso/runtime/recording";
import { cancelled, existsAlready, fenced, notFound, takenUp } from "./errors.ts";
import { forkedEntries, isForkOf, savedFork } from "./forking.ts";
import type { RunOptions } from "./journal.ts";
import type { LentFile } from "./lent-file.ts";
import { working, type Processes } from "./process-name.ts";
import { lastOf, readRun, type ReadRun } from "./reading.ts";
import type { JournalStore } from "./store.ts";
import { Summary } from "./summary.ts";
import { RunWriter, type WriteQueue } from "./writing.ts";

/** What the runs of one journal share. */
export interface Shared {
  readonly store: JournalStore;
  readonly queue: WriteQueue;
  readonly processes: Processes;
  readonly payloads: boolean;
  readonly secrets: RunSource["secrets"];
  /** The file, where resources may be in it too. */
  readonly lent: LentFile | undefined;
  /** Where the bytes of files are kept; undefined: nowhere. */
  readonly blobs: Blobs | undefined;
  /** Hides what no entry shows; undefined: nothing has to be hidden. */
  readonly hide: ((entry: JournalEntry) => JournalEntry) | undefined;
  /** The runs that are evaluated here now, by id: what cancels one. */
  readonly open: Map<string, (reason: string | undefined) => void>;
  /** Whether it is known without a read that there is no such run. */
  readonly isEmpty: (run: string) => boolean;
  /** An attempt of a run has ended. */
  ended(): void;
  assertOpen(): void;
}

/** The run, and how it begins. */
export interface SourceOptions {
  readonly id: string;
  readonly mode: RunSource["mode"];
  readonly takeOver: NonNullable<RunOptions["takeOver"]>;
  /** Whether it goes on where what is asked for is not what was recorded. */
  readonly adopts?: boolean | undefined;
  /** Whether a replay runs handlers and policies again. */
  readonly runsTools?: boolean | undefined;
  readonly staysOpen?: RunOptions["staysOpen"];
  /** The step that a fork begins with; undefined: it is none. */
  readonly from?:
    | { readonly id: string; readonly at: number; readonly result: ToolReturn<unknown> | undefined }
    | undefined;
}

/** An entry that is not at its place yet. */
const noPlace = { index: 0, attempt: 0 } as const;

/** A run of a journal. */
export class JournalSource implements RunSource {
  readonly id: string;
  readonly mode: RunSource["mode"];
  readonly payloads: boolean;
  readonly adopts: boolean;
  readonly runsTools: boolean;
  readonly secrets: RunSource["secrets"];
  readonly blobs: RunSource["blobs"];
  readonly together: RunSource["together"];
  readonly #shared: Shared;
  readonly #options: SourceOptions;
  #cancelling = new AbortController();
  #writer: RunWriter | undefined;
  #name = "";
  #attempt = 1;
  #next = 0;
  #isBusy = false;
  /** The entry that the run goes on, while the attempt has kept nothing else. */
  #resumed: EntryOf<"resumed"> | undefined;
  #isCancelled = false;
  #stopWorking: (() => void) | undefined;

  constructor(shared: Shared, options: SourceOptions) {
    this.#shared = shared;
    this.#options = options;
    this.id = options.id;
    this.mode = options.mode;
    this.payloads = shared.payloads;
    this.adopts = options.adopts === true;
    this.runsTools = options.runsTools === true;
    this.secrets = shared.secrets;
    this.blobs = shared.blobs;
    const { lent } = shared;
    this.together = lent && { file: lent, free: () => lent.free(), write: () => this.#writeInside() };
  }

  get signal(): AbortSignal {
    return this.#cancelling.signal;
  }

  staysOpen(error: EvaluationFailure): boolean {
    return this.#options.staysOpen?.(error) === true;
  }

  async open(): Promise<OpenedSource> {
    const { id, mode } = this;
    this.#shared.assertOpen();
    if (this.#isBusy || (mode !== "replay" && this.#shared.open.has(id))) {
      throw new JournalError(`The run "${id}" is being evaluated.`, { reason: "busy", run: id });
    }
    this.#isBusy = true;
    this.#isCancelled = false;
    if (this.#cancelling.signal.aborted) this.#cancelling = new AbortController();
    if (mode !== "replay") this.#shared.open.set(id, (reason) => this.#cancel(reason));
    try {
      const { from } = this.#options;
      if (mode === "run" && from === undefined && this.#shared.isEmpty(id)) return this.#toBegin(new Summary());
      if (mode !== "replay") await this.#shared.queue.leftOf(id);
      const read = await readRun(this.#shared.store, id);
      return mode === "replay" ? this.#toReplay(read) : await this.#toGoOn(read);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  #toReplay(read: ReadRun): OpenedSource {
    const entries = entriesToReplay(read.entries);
    if (entries.length === 0) throw notFound(this.id);
    return {
      entries,
      attempt: read.attempt,
      ...lastOf(read.entries),
      next: read.length,
      isEnded: true,
      unknown: [],
      suspended: this.runsTools ? suspendedEver(read.entries) : [],
    };
  }

  async #toGoOn(read: ReadRun): Promise<OpenedSource> {
    const { from } = this.#options;
    if (read.length === 0) return from === undefined ? this.#toBegin(new Summary()) : this.#toFork(from);
    if (from !== undefined && !isForkOf(read, from)) throw existsAlready(this.id);
    const standing = standingEntries(read.entries);
    if (standing.some(({ kind }) => kind === "cancelled")) throw cancelled(this.id);
    const last = lastOf(read.entries);
    if (lastingEnd(standing) !== undefined) {
      return { entries: standing, attempt: read.attempt, ...last, next: read.length, isEnded: true, unknown: [] };
    }
    if (!isAtRest(read.entries)) this.#assertGone(read.writer);
    const cut = cutAfterLastStep(standing);
    const attempt = read.attempt + 1;
    this.#begin(attempt, read.length, read.summary(cut.entries), read.begunBy);
    await this.#takeOver(cut.kept, standing[0]?.evaluationId ?? "", read.entries.at(-1)?.at ?? 0);
    return {
      entries: cut.entries,
      attempt,
      ...last,
      next: this.#next,
      isEnded: false,
      unknown: unknownCalls(read.entries),
      inside: insideAnswers(read.entries),
      lost: lostCalls(read.entries),
      unanswered: unansweredBefore(read.entries, cut.entries),
      suspended: suspendedCalls(read.entries),
    };
  }

  #toBegin(summary: Summary): OpenedSource {
    this.#begin(1, 0, summary);
    return { entries: [], attempt: 1, lastSeq: -1, lastAt: 0, next: 0, isEnded: false, unknown: [] };
  }

  async #toFork(from: NonNullable<SourceOptions["from"]>): Promise<OpenedSource> {
    const origin = await readRun(this.#shared.store, from.id);
    if (origin.length === 0) throw notFound(from.id);
    const entries = forkedEntries(origin.entries, from);
    this.#begin(1, 0, new Summary({ ...savedFork(from), begunAt: systemClock.now() }));
    const { hide } = this.#shared;
    // One frame: a crash leaves no fork with a part of its steps.
    this.#writer?.appendAll(entries.map((entry) => keptEntry(hide === undefined ? entry : hide(entry))));
    this.#next = entries.length;
    try {
      await this.#writer?.flush();
    } catch (error) {
      throw error instanceof JournalError && error.reason === "fenced" ? existsAlready(this.id) : error;
    }
    return { entries, attempt: 1, ...lastOf(entries), next: entries.length, isEnded: false, unknown: [] };
  }

  #begin(attempt: number, first: number, summary: Summary, begunBy?: string): void {
    this.#name = this.#shared.processes.newWriter();
    this.#stopWorking = working(this.#name);
    this.#attempt = attempt;
    this.#next = first;
    const of = { run: this.id, attempt, writer: this.#name, begunBy, first, summary };
    this.#writer = new RunWriter(this.#shared.queue, of);
  }

  /** Going on is itself an entry: the writer before is refused from then on. */
  async #takeOver(kept: number, evaluationId: string, before: number): Promise<void> {
    const at = Math.max(before, systemClock.now());
    const base = { index: this.#next, attempt: this.#attempt, at, evaluationId, isVoid: false };
    const entry: EntryOf<"resumed"> = { ...base, kind: "resumed", kept };
    this.append(entry);
    this.#next += 1;
    this.#resumed = entry;
    try {
      await this.flush();
    } catch (error) {
      throw error instanceof JournalError && error.reason === "fenced" ? takenUp(this.id) : error;
    }
  }

  #assertGone(writer: string): void {
    const { takeOver } = this.#options;
    if (takeOver === "alive") return;
    const life = this.#shared.processes.lifeOf(writer);
    if (life === "gone" || (life === "unknown" && takeOver)) return;
    const why =
      life === "alive"
        ? "a living process works on it"
        : "it is not known whether the process that began it lives: give { takeOver: true } when you know that it does not";
    throw new JournalError(`The run "${this.id}" cannot be continued: ${why}.`, { reason: "busy", run: this.id });
  }

  append(entry: JournalEntry): void {
    this.keep(keptEntry(entry));
  }

  keep(entry: KeptEntry): void {
    if (this.#isCancelled) return;
    this.#resumed = undefined;
    const { hide } = this.#shared;
    this.#writer?.append(hide === undefined ? entry : keptEntry(hide(journalEntry(entry, noPlace))));
  }

  get hasFailed(): boolean {
    return this.#writer?.failed !== undefined;
  }

  flush(): Promise<void> | undefined {
    // What waits for it looks whether it may go on.
    if (this.#isCancelled) return Promise.resolve();
    return this.#writer?.flush()?.catch((error: unknown) => this.#refused(error));
  }

  /** A writer is refused, too, where another process, or this one just now, cancelled its run. */
  async #refused(error: unknown): Promise<void> {
    if (!(error instanceof JournalError) || error.reason !== "fenced") throw error;
    const read = await readRun(this.#shared.store, this.id).catch(() => undefined);
    const isSame = read?.begunBy === this.#writer?.begunBy;
    const end = isSame ? read?.entries.findLast(({ kind }) => kind === "cancelled") : undefined;
    if (end?.kind !== "cancelled") throw error;
    if (!this.#isCancelled) this.#cancel(end.reason);
  }

  #writeInside(): void {
    // What a call changed may not be committed without its record.
    if (this.#isCancelled) throw fenced(this.id);
    this.#writer?.writeInside();
  }

  /** What this run has not written yet is lost with it: it was cancelled. */
  #cancel(reason: string | undefined): void {
    this.#isCancelled = true;
    this.#cancelling.abort(new DOMException(reason ?? `The run "${this.id}" was cancelled.`, "AbortError"));
  }

  async close(): Promise<void> {
    // Where it cannot be kept, the attempt looks like one that crashed.
    if (this.#resumed !== undefined && !this.hasFailed) {
      this.append(emptyEnd(this.#resumed, this.#next));
      await this.flush()?.catch(() => {});
    }
    this.#isBusy = false;
    this.#stopWorking?.();
    this.#stopWorking = undefined;
    if (this.#writer !== undefined) this.#shared.ended();
    this.#writer = undefined;
    if (this.mode !== "replay") this.#shared.open.delete(this.id);
  }
}
