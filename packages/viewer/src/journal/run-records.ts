// The records of one run, as far as they were read.
import { messageOf } from "@proviso/core/internal";
import type { RecordQuery, RunRecord, Slice } from "@proviso/core";
import { isEmptyEnd, standingEntries, type JournalEntry } from "@proviso/runtime/recording";
import type { EntrySource } from "./entry-source.ts";
import { RecordMaker } from "./record-maker.ts";
import { Summariser } from "./summarise.ts";

export class RunRecords {
  readonly #id: string;
  readonly #source: EntrySource;
  readonly #slices: readonly Slice[] | undefined;
  #entries: JournalEntry[] = [];
  /** The maker of records without states, which cost the most: rows need none. */
  #plain: RecordMaker;
  /** Made when states are asked for. */
  #full: RecordMaker | undefined;
  #problem: string | undefined;
  /** The mark of the last entry. */
  #mark: string | undefined;
  #reading: Promise<void> = Promise.resolve();
  /** The summary of the first records of this list; another list begins with another one. */
  #summed: { readonly records: readonly RunRecord[]; readonly by: Summariser; count: number } | undefined;
  writer: string | undefined;
  /** The summary that was read with the last entry; undefined: there is no run, or entries come without one. */
  summary: string | undefined;
  /** What no other run of its id has begun with; undefined: it has not begun. */
  begunBy: string | undefined;

  constructor(id: string, source: EntrySource, slices: readonly Slice[] | undefined) {
    this.#id = id;
    this.#source = source;
    this.#slices = slices;
    this.#plain = this.#maker(false);
  }

  /** All records so far but for those of states. */
  get records(): readonly RunRecord[] {
    return this.#plain.records;
  }

  /** Whether its record can be read, as far as it was. */
  get isReadable(): boolean {
    return this.#problem === undefined;
  }

  /** The summary of all records so far: those that came since it was asked for last are added. */
  summarised(): Summariser {
    const { records } = this;
    if (this.#summed?.records !== records) this.#summed = { records, by: new Summariser(), count: 0 };
    for (; this.#summed.count < records.length; this.#summed.count++) {
      this.#summed.by.add(records[this.#summed.count] as RunRecord);
    }
    return this.#summed.by;
  }

  /** Reads what was kept by now: one look after the other, as one that is under way may have passed over the last entry. */
  refresh(): Promise<void> {
    const reading = this.#reading.catch(() => {}).then(() => this.#read());
    this.#reading = reading;
    return reading;
  }

  async #read(): Promise<void> {
    const next = (this.#entries.at(-1)?.index ?? -1) + 1;
    let read = await this.#source.read(this.#id, next, this.#mark);
    if (read.isOther) {
      this.#forget();
      read = await this.#source.read(this.#id, 0, undefined);
    } else if (this.#problem !== undefined) return;
    const { entries, writer, mark, begunBy, summary } = read;
    this.summary = summary;
    this.writer = writer ?? this.writer;
    this.#mark = mark;
    this.begunBy ??= begunBy;
    for (const entry of entries) this.#entries.push(entry);
    const problem = this.#taken(entries) ?? read.problem;
    if (problem === undefined) return;
    this.#problem = problem;
    for (const maker of this.#makers()) this.#close(maker);
  }

  /** Takes entries. Returns why no records can be made of them, as they are not what a journal reads; undefined: they can. */
  #taken(entries: readonly JournalEntry[]): string | undefined {
    try {
      this.#take(entries);
      return undefined;
    } catch (error) {
      return `The record of the run "${this.#id}" cannot be shown: ${messageOf(error)}`;
    }
  }

  #take(entries: readonly JournalEntry[]): void {
    // A later attempt leaves out what it did not go on from, and what it left out stands again where nothing came of it.
    if (entries.some((entry) => entry.kind === "resumed" || isEmptyEnd(entry))) {
      this.#plain = this.#maker(false);
      if (this.#full !== undefined) this.#full = this.#maker(true);
      this.#add(standingEntries(this.#entries));
    } else this.#add(entries);
  }

  /** The run was removed: what was read is of no run that is there. */
  #forget(): void {
    this.#entries = [];
    this.#plain = this.#maker(false);
    this.#full = undefined;
    this.#problem = this.#mark = this.begunBy = this.writer = undefined;
  }

  #maker(isWithStates: boolean): RecordMaker {
    return new RecordMaker(this.#id, this.#slices, isWithStates);
  }

  #makers(): readonly RecordMaker[] {
    return this.#full === undefined ? [this.#plain] : [this.#plain, this.#full];
  }

  #add(entries: readonly JournalEntry[]): void {
    for (const maker of this.#makers()) this.#addTo(maker, entries);
  }

  #addTo(maker: RecordMaker, entries: readonly JournalEntry[]): void {
    for (const entry of entries) maker.add(entry);
    const last = this.#entries.at(-1);
    if (last?.kind === "ended" || last?.kind === "cancelled") maker.flush();
  }

  /** What comes behind cannot be read. */
  #close(maker: RecordMaker): void {
    try {
      maker.flush();
    } catch {
      // What was held back cannot be shown either: the record behind it says so.
    }
    const last = this.#entries.at(-1);
    const n = 2 * ((last?.index ?? -1) + 1);
    const problem = this.#problem ?? "";
    maker.records.push({ n, runId: this.#id, at: last?.at ?? 0, kind: "unreadable", problem });
  }

  #withStates(): RecordMaker {
    if (this.#full === undefined) {
      this.#full = this.#maker(true);
      this.#addTo(this.#full, standingEntries(this.#entries));
      if (this.#problem !== undefined) this.#close(this.#full);
    }
    return this.#full;
  }

  /** Returns the records that a query asks for. */
  select({ after = -1, until = Infinity, kinds, limit = Infinity, descending = false }: RecordQuery): RunRecord[] {
    const isWithStates = this.#slices !== undefined && (kinds === undefined || kinds.includes("state"));
    const { records } = isWithStates ? this.#withStates() : this.#plain;
    const first = placeAfter(records, after);
    const end = placeAfter(records, until);
    const found: RunRecord[] = [];
    const step = descending ? -1 : 1;
    for (let at = descending ? end - 1 : first; at >= first && at < end; at += step) {
      const record = records[at] as RunRecord;
      if (found.length >= limit) break;
      if (kinds === undefined || kinds.includes(record.kind)) found.push(record);
    }
    return found;
  }
}

/** The place of the first record with a larger number. */
function placeAfter(records: readonly RunRecord[], n: number): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((records[middle] as RunRecord).n <= n) low = middle + 1;
    else high = middle;
  }
  return low;
}
