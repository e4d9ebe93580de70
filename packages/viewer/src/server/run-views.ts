// The rows of the runs that are looked at, as far as their records were read.
import type { RunReader, RunRecord, RunSummary } from "@proviso/core";
import { isOtherRun } from "@proviso/journal/internal";
import { runRows, type RunRows } from "../runs/rows.ts";

/** A row with its place in the list. */
export type PlacedRow = readonly [place: number, row: RunRows["rows"][number]];

/** What rows are made of. */
export const rowKinds: readonly RunRecord["kind"][] = ["event", "app", "unreadable"];
/** Runs whose rows stay in memory. */
const mostViews = 4;

/** A summary that is being made, and the one after it. */
interface AskedSummary {
  readonly now: Promise<RunSummary | undefined>;
  next: Promise<RunSummary | undefined> | undefined;
}

export class RunViews {
  readonly #reader: RunReader;
  readonly #views = new Map<string, RunView>();
  readonly #summaries = new Map<string, AskedSummary>();

  constructor(reader: RunReader) {
    this.#reader = reader;
  }

  /** Returns the rows of a run, up to its last record. */
  async of(runId: string): Promise<RunView> {
    const view = this.#views.get(runId) ?? new RunView(this.#reader, runId);
    this.#views.delete(runId);
    this.#views.set(runId, view);
    for (const oldest of this.#views.keys()) if (this.#views.size > mostViews) this.#views.delete(oldest);
    await view.refresh();
    return view;
  }

  /**
   * Returns the summary of a run as it is now. Of all that ask at once, for however many pages, one is under way and the
   * others wait for the next.
   */
  summary(runId: string): Promise<RunSummary | undefined> {
    const asked = this.#summaries.get(runId);
    if (asked !== undefined) return (asked.next ??= asked.now.catch(() => {}).then(() => this.#ask(runId)));
    return this.#ask(runId);
  }

  #ask(runId: string): Promise<RunSummary | undefined> {
    const now = this.#reader.summary(runId);
    const asked: AskedSummary = { now, next: undefined };
    this.#summaries.set(runId, asked);
    const over = (): void => {
      if (asked.next === undefined) this.#summaries.delete(runId);
    };
    now.then(over, over);
    return now;
  }
}

export class RunView {
  readonly #reader: RunReader;
  readonly #runId: string;
  #made = runRows();
  #reading: Promise<void> = Promise.resolve();
  /** What the run began with, by its reader; undefined: it has not begun. */
  #began: string | undefined;
  /** The number of the last record. */
  last = -1;
  /** Grows where the rows were made anew: an attempt left out what was shown before, or the run is another one. */
  version = 0;

  constructor(reader: RunReader, runId: string) {
    this.#reader = reader;
    this.#runId = runId;
  }

  get rows(): RunRows["rows"] {
    return this.#made.rows;
  }

  refresh(): Promise<void> {
    const reading = this.#reading.catch(() => {}).then(() => this.#read());
    this.#reading = reading;
    return reading;
  }

  async #read(): Promise<void> {
    this.#began ??= await this.#beginning();
    const before = this.last;
    const isResumed = await this.#readOn();
    const isOther = isOtherRun(this.#began, await this.#beginning());
    // An attempt has left out what it did not go on from.
    if (isOther || (isResumed && before >= 0)) await this.#makeAnew();
  }

  async #beginning(): Promise<string | undefined> {
    return this.#reader.begunBy?.(this.#runId);
  }

  async #makeAnew(): Promise<void> {
    this.version += 1;
    do {
      this.last = -1;
      this.#made = runRows();
      this.#began = await this.#beginning();
      await this.#readOn();
    } while (isOtherRun(this.#began, await this.#beginning()));
  }

  /** Reads the records behind the last one, and returns whether an attempt begins with one of them. */
  async #readOn(): Promise<boolean> {
    let isResumed = false;
    for await (const record of this.#reader.records(this.#runId, { after: this.last, kinds: rowKinds })) {
      isResumed ||= record.kind === "event" && record.event.type === "run.resumed";
      this.last = record.n;
      this.#made.add(record);
    }
    return isResumed;
  }

  /** Returns the rows that changed, and those that are new, since the rows ended with record `n`. */
  changedSince(n: number): readonly PlacedRow[] {
    const changed: PlacedRow[] = [];
    // Only the last rows of a long run change.
    for (let at = this.rows.length - 1; at >= 0; at--) {
      const row = this.rows[at] as RunRows["rows"][number];
      if (row.until > n) changed.push([at, row]);
    }
    return changed.reverse();
  }
}
