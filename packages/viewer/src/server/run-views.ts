// The rows of the runs that are looked at, as far as their records were read.
import type { RunReader, RunRecord, RunSummary } from "@proviso/core";
import { createHash } from "node:crypto";
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

/** What rows are of. Where either is another one, what was shown before does not hold any more. */
export interface RowsOf {
  /** A hash of what no other run of the id began with; undefined: there is no such run, or its reader does not know. */
  readonly begunBy: string | undefined;
  /** Grows where an attempt left out what was there before. */
  readonly version: number;
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

  /** Returns what the run began with that has the id now, as `RowsOf` has it. */
  async begunBy(runId: string): Promise<string | undefined> {
    return hashed(await this.#reader.begunBy?.(runId));
  }

  /** Reads, again where another run took one of the ids meanwhile: what is returned is of these runs alone. */
  async ofTheseRuns<T>(
    runIds: readonly string[],
    read: () => Promise<T>,
  ): Promise<{ readonly value: T; readonly begunBy: readonly (string | undefined)[] }> {
    const beginnings = () => Promise.all(runIds.map((runId) => this.begunBy(runId)));
    for (let before = await beginnings(); ;) {
      const value = await read();
      const begunBy = await beginnings();
      if (begunBy.every((each, place) => each === before[place])) return { value, begunBy };
      before = begunBy;
    }
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

function isResumption(record: RunRecord): boolean {
  return record.kind === "event" && record.event.type === "run.resumed";
}

function hashed(beginning: string | undefined): string | undefined {
  return beginning === undefined ? undefined : createHash("sha256").update(beginning).digest("base64url").slice(0, 22);
}

export class RunView implements RowsOf {
  readonly #reader: RunReader;
  readonly #runId: string;
  #made = runRows();
  #reading: Promise<void> = Promise.resolve();
  /** What the run began with, by its reader; undefined: it has not begun, or its reader does not know. */
  #began: string | undefined;
  begunBy: string | undefined;
  /** The number of the last record. */
  last = -1;
  /** The number of the record that the last attempt but the first begins with: the same for each reader of the run. */
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
    let [began, since] = [this.#began ?? (await this.#beginning()), this.last];
    let records = await this.#recordsSince(since);
    let now = await this.#beginning();
    while (began !== now || (since >= 0 && records.some(isResumption))) {
      // Another run, or an attempt that has left out what it did not go on from.
      [began, since] = [now, -1];
      records = await this.#recordsSince(since);
      now = await this.#beginning();
    }
    this.#began = now;
    this.begunBy = hashed(now);
    this.#show(records, since < 0);
  }

  async #beginning(): Promise<string | undefined> {
    return this.#reader.begunBy?.(this.#runId);
  }

  async #recordsSince(n: number): Promise<readonly RunRecord[]> {
    const records: RunRecord[] = [];
    for await (const record of this.#reader.records(this.#runId, { after: n, kinds: rowKinds })) records.push(record);
    return records;
  }

  /** Nothing comes between: what is looked at is of one run. */
  #show(records: readonly RunRecord[], isAnew: boolean): void {
    if (isAnew) [this.#made, this.last, this.version] = [runRows(), -1, 0];
    for (const record of records) {
      if (isResumption(record)) this.version = record.n;
      this.last = record.n;
      this.#made.add(record);
    }
  }

  /** Returns the rows that changed, and those that are new, since the rows ended with record `n`. */
  changedSince(n: number): readonly PlacedRow[] {
    return this.#made.changedSince(n);
  }
}
