import {
  DefinitionError,
  systemClock,
  type RunQuery,
  type RunReader,
  type RunRecord,
  type RunSummary,
  type Slice,
} from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import type { Journal } from "@proviso/journal";
import { isOtherRun } from "@proviso/journal/internal";
import { journalSource, type EntrySource, type ListedRun } from "./entry-source.ts";
import { RunRecords } from "./run-records.ts";
import type { Summarised } from "./summarise.ts";

/** How recorded runs are read. */
export interface ReadOptions {
  /**
   * The slices of the sessions: the states are reduced again with them, as a journal keeps events and no states. Left out:
   * no states are shown.
   */
  readonly slices?: readonly Slice[] | undefined;
}

/** Milliseconds between two looks at what was kept. */
const followMs = 150;
/** Unchanged runs after which a look for changes ends. */
const mostUnchanged = 20;
/** Runs whose records stay in memory. */
const mostRuns = 3;
/** Records from which on a run that was read for a list stays in memory. */
const longRun = 5_000;
/** Runs whose summaries stay in memory. */
const mostSummaries = 20_000;

/**
 * Reads the runs of a journal, to look at. `n` of a record grows within its run. Whether the process behind an open run
 * lives is not known: it is "running".
 * @throws {DefinitionError} for options that cannot be.
 */
export function journalRuns(journal: Journal, options: ReadOptions = {}): RunReader {
  checkReadOptions("journalRuns", options);
  return readerOf(journalSource(journal), options);
}

export function checkReadOptions(name: string, options: ReadOptions): void {
  checkOptionNames(name, options, { slices: true });
  if (options.slices !== undefined && !Array.isArray(options.slices)) {
    throw new DefinitionError(`The option slices of ${name} has to be a list of slices.`);
  }
}

export function readerOf(source: EntrySource, { slices }: ReadOptions): RunReader {
  const open = new Map<string, RunRecords>();
  const summaries = new Map<string, SummarisedRun>();

  const keep = (id: string, run: RunRecords): void => {
    open.delete(id);
    open.set(id, run);
    for (const oldest of open.keys()) if (open.size > mostRuns) open.delete(oldest);
  };
  const recordsOf = async (id: string): Promise<RunRecords> => {
    const known = open.get(id) ?? new RunRecords(id, source, slices);
    keep(id, known);
    await known.refresh();
    return known;
  };
  const summarised = async (given: ListedRun): Promise<SummarisedRun | undefined> => {
    const { id } = given;
    const known = summaries.get(id);
    // Whether an open run's process lives changes without an entry.
    if (known?.listed.version === given.version && given.state !== "open") return known;
    const run = open.get(id) ?? new RunRecords(id, source, slices);
    const listed = await listedAsRead(run, given, source);
    if (listed === undefined) return undefined;
    // Reading it again would take a while, and who sees it in a list may look at it next.
    if (run.records.length > longRun) keep(id, run);
    const isGone = run.writer !== undefined && source.isGone(run.writer);
    const made = { ...run.summarised().summary(listed, isGone), listed };
    summaries.delete(id);
    summaries.set(id, made);
    for (const oldest of summaries.keys()) if (summaries.size > mostSummaries) summaries.delete(oldest);
    return made;
  };
  return Object.freeze<RunReader>({
    async list(query = {}) {
      return page(source, summarised, query);
    },
    async summary(runId) {
      const listed = await source.listed(runId);
      return listed && (await summarised(listed))?.summary;
    },
    async *records(runId, query = {}) {
      yield* (await recordsOf(runId)).select(query);
    },
    async begunBy(runId) {
      return (await recordsOf(runId)).begunBy;
    },
    follow: (query) =>
      query.runId === undefined ? followAll(source, recordsOf, query) : followOne(recordsOf, query.runId, query),
  });
}

/** A summary, with what the list says of the same run. */
interface SummarisedRun extends Summarised {
  readonly listed: ListedRun;
}

/**
 * Reads a run, and returns what the list says of the one that was read: another one may have taken its id since it was
 * listed. undefined: there is none any more.
 */
async function listedAsRead(run: RunRecords, given: ListedRun, source: EntrySource): Promise<ListedRun | undefined> {
  await run.refresh();
  for (;;) {
    const { begunBy, summary, isReadable } = run;
    // What is damaged does not show which run it is of.
    if (!isReadable) return given;
    if (source.listedBy !== undefined) return summary === undefined ? undefined : source.listedBy(given.id, summary);
    const listed = await source.listed(given.id);
    await run.refresh();
    if (run.begunBy === begunBy) return listed;
  }
}

type Follow = Parameters<RunReader["follow"]>[0];

async function* followOne(
  read: (id: string) => Promise<RunRecords>,
  runId: string,
  { after, signal, kinds }: Follow,
): AsyncGenerator<RunRecord, void, undefined> {
  let last = after;
  let begunBy: string | undefined;
  while (!signal.aborted) {
    const run = await read(runId);
    // The run was removed: what has its id now is another one.
    if (isOtherRun(begunBy, run.begunBy)) return;
    ({ begunBy } = run);
    for (const record of run.select({ after: last, kinds })) {
      if (signal.aborted) return;
      last = record.n;
      yield record;
    }
    await systemClock.sleep(followMs, signal).catch(() => {});
  }
}

/** Follows all runs: what is kept from now on. */
async function* followAll(
  source: EntrySource,
  read: (id: string) => Promise<RunRecords>,
  { signal, kinds }: Follow,
): AsyncGenerator<RunRecord, void, undefined> {
  const known = new Map<string, ListedRun>();
  const places = new Map<string, { readonly n: number; readonly begunBy: string | undefined }>();
  for await (const run of source.list()) known.set(run.id, run);
  const before = new Map(known);
  while (!signal.aborted) {
    await systemClock.sleep(followMs, signal).catch(() => {});
    const changed: string[] = [];
    let unchanged = 0;
    for await (const run of source.list()) {
      unchanged = known.get(run.id)?.version === run.version ? unchanged + 1 : 0;
      if (unchanged === 0) changed.push(run.id);
      known.set(run.id, run);
      // What changed last comes first. A few more are looked at: a folder may have several times at once.
      if (unchanged === mostUnchanged) break;
    }
    for (const id of changed) {
      const run = await read(id);
      const { begunBy } = run;
      const place = places.get(id);
      const after = isOtherRun(place?.begunBy, begunBy) ? undefined : place?.n;
      const listed = before.get(id);
      const isListedSo = listed?.startedAt === known.get(id)?.startedAt;
      for (const record of run.select({ after, kinds })) {
        if (signal.aborted) return;
        const isKnown = !places.has(id) && isListedSo && record.at <= (listed?.updatedAt ?? -Infinity);
        if (isKnown) continue;
        places.set(id, { n: record.n, begunBy });
        yield record;
      }
    }
  }
}

type Key = readonly [number, string];

async function page(
  source: EntrySource,
  summarised: (listed: ListedRun) => Promise<SummarisedRun | undefined>,
  query: RunQuery,
): Promise<{ runs: readonly RunSummary[]; cursor: string | undefined }> {
  const { order = "newest", limit = 50, cursor } = query;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 500) {
    throw new DefinitionError(
      `The limit of a list has to be a whole number from 1 to 500, not ${describeValue(limit)}.`,
    );
  }
  const listed: { readonly run: ListedRun; readonly key: Key }[] = [];
  for await (const run of source.list()) {
    if (mayFit(run, query)) listed.push({ run, key: [keyOf(run, order), run.id] });
  }
  listed.sort((one, other) => compareKeys(one.key, other.key));
  const after = cursor === undefined ? undefined : keyIn(cursor);
  const runs: RunSummary[] = [];
  let last: Key | undefined;
  for (const { run, key } of listed) {
    if (after !== undefined && compareKeys(key, after) <= 0) continue;
    if (runs.length === limit) return { runs, cursor: last === undefined ? undefined : `${last[0]} ${last[1]}` };
    const found = await summarised(run);
    if (found === undefined || !mayFit(found.listed, query) || !fits(found, query)) continue;
    runs.push(found.summary);
    last = key;
  }
  return { runs, cursor: undefined };
}

/** Whether a run fits, by what its list says. */
function mayFit({ prompt, startedAt, state }: ListedRun, { promptName, from, to, status }: RunQuery): boolean {
  if (promptName !== undefined && prompt !== promptName) return false;
  if ((from !== undefined && startedAt < from) || (to !== undefined && startedAt > to)) return false;
  return status === "executed" || status === "failed" || status === "suspended" ? state === status : true;
}

function fits({ summary, tools, text }: Summarised, query: RunQuery): boolean {
  const { status, model, tool, sessionId, undone } = query;
  if (status !== undefined && summary.status !== status) return false;
  if (model !== undefined && summary.model !== model) return false;
  if (sessionId !== undefined && summary.sessionId !== sessionId) return false;
  if (tool !== undefined && !tools.has(tool)) return false;
  if (undone !== undefined && summary.undone > 0 !== undone) return false;
  return query.text === undefined || text.includes(query.text.toLowerCase());
}

/** What runs are sorted by, the smallest first. */
function keyOf({ startedAt, updatedAt, usage }: ListedRun, order: NonNullable<RunQuery["order"]>): number {
  switch (order) {
    case "newest":
      return -startedAt;
    case "oldest":
      return startedAt;
    case "slowest":
      return startedAt - updatedAt;
    case "costliest":
      return usage.costUsd === undefined ? 0 : -usage.costUsd;
  }
}

function compareKeys([a, one]: Key, [b, other]: Key): number {
  if (a !== b) return a - b;
  return one < other ? -1 : one > other ? 1 : 0;
}

/** @throws {DefinitionError} for what is no cursor. */
function keyIn(cursor: string): Key {
  const space = cursor.indexOf(" ");
  const value = Number(cursor.slice(0, space));
  if (space < 1 || Number.isNaN(value)) throw new DefinitionError("The cursor is none of an answer before.");
  return [value, cursor.slice(space + 1)];
}
