// A journal over a store. What a run is, and what stands of it, is the runtime's affair.
import { DefinitionError, JournalError, type Blobs, type JournalRun } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { hiddenField, openSecrets, redactionOf, systemId } from "@proviso/runtime/internal";
import { lastingEnd, runOf, standingEntries, type JournalEntry } from "@proviso/runtime/recording";
import { runId } from "./check-frames.ts";
import {
  checkEntries,
  checkFilter,
  checkOptions,
  checkPrune,
  checkReason,
  checkSession,
  checkStore,
} from "./check-options.ts";
import { copyRun } from "./copying.ts";
import { existsAlready, notFound } from "./errors.ts";
import type { ForkOptions, Journal, JournalOptions, ReplayOptions, RunOptions } from "./journal.ts";
import { unknownProcesses, type Processes } from "./process-name.ts";
import { describeRun, followEntries, listRuns, markedEntries } from "./queries.ts";
import { isAsRead, readRun, type ReadRun } from "./reading.ts";
import { pruneRuns, Retained, type Retention } from "./retention.ts";
import { sessionOf } from "./session-of.ts";
import type { LentFile } from "./lent-file.ts";
import type { AttachNow } from "./memory-store.ts";
import { appendAfter, isDecidedSo, resolveRun } from "./resolving.ts";
import { JournalSource, type Shared, type SourceOptions } from "./source.ts";
import { tornBytes, type JournalStore } from "./store.ts";
import { WriteQueue } from "./writing.ts";

/** What a journal needs of the machine beside its store. */
export interface JournalSurroundings {
  readonly processes?: Processes | undefined;
  /** What the journal has beside the methods of all. */
  readonly properties?: object | undefined;
  /** The file, where resources may be in it too. */
  readonly lent?: LentFile | undefined;
  /** Where the bytes of files are kept. Left out: nowhere. */
  readonly blobs?: Blobs | undefined;
  /** Keeps what an attempt has at once; left out: the store's `append` is awaited. */
  readonly attachNow?: AttachNow | undefined;
  /** Whether there is no such run, where that is known without a read; left out: it is read. */
  readonly isEmpty?: ((run: string) => boolean) | undefined;
  /** The runs that stay once they have ended. Left out: all. */
  readonly retention?: Retention | undefined;
}

export const journalOptionNames = { secrets: true, flushMs: true, payloads: true } as const;

/** What each journal shares with its runs: copies read the store in it. */
const stores = /* @__PURE__ */ hiddenField<Shared>();

/**
 * Makes a journal over a store of your own: four methods and `close`. `memoryJournal` and `sqliteJournal` bring theirs.
 * @throws {DefinitionError} for options that cannot be.
 */
export function createJournal(store: JournalStore, options: JournalOptions = {}): Journal {
  return makeJournal(store, options);
}

export function makeJournal(
  store: JournalStore,
  options: JournalOptions,
  { processes = unknownProcesses, properties, lent, blobs, attachNow, isEmpty, retention }: JournalSurroundings = {},
): Journal {
  checkOptions("createJournal", options, journalOptionNames);
  checkStore(store);
  const { flushMs = 5, secrets, payloads = false } = options;
  if (typeof payloads !== "boolean") {
    throw new DefinitionError(`payloads has to be true or false, not ${describeValue(payloads)}.`);
  }
  if (typeof flushMs !== "number" || !(flushMs >= 0)) {
    throw new DefinitionError(`flushMs has to be a number of milliseconds from 0, not ${describeValue(flushMs)}.`);
  }
  const queue = new WriteQueue(store, flushMs, { attachNow, lent });
  const hidden = openSecrets(secrets);
  const redaction = redactionOf(hidden);
  let closing: Promise<void> | undefined;
  let retained: Retained | undefined;
  const shared: Shared = {
    store,
    queue,
    processes,
    payloads,
    secrets: hidden,
    lent,
    blobs,
    hide: secrets === undefined ? undefined : (entry) => redaction.value(entry),
    open: new Map(),
    isEmpty: isEmpty ?? (() => false),
    ended: () => retained?.ended(),
    assertOpen() {
      if (closing !== undefined)
        throw new JournalError(`The journal in ${store.name} is closed.`, { reason: "closed" });
    },
  };
  const closeOnce = async (): Promise<void> => {
    await retained?.idle();
    await queue.idle();
    await store.close();
  };
  const journal: Journal = Object.freeze<Journal>({
    ...properties,
    ...runsOf(shared),
    ...queriesOf(shared),
    ...changesOf(shared),
    close: () => (closing ??= closeOnce()),
    async [Symbol.asyncDispose]() {
      await this.close();
    },
  });
  stores.set(journal, shared);
  if (retention !== undefined) retained = new Retained(retention, (options) => pruned(shared, options));
  return journal;
}

/** Values of the option `run`. */
function runsOf(shared: Shared): Pick<Journal, "run" | "replay" | "fork"> {
  const made = (source: SourceOptions): JournalRun => runOf(new JournalSource(shared, source));
  return {
    run(id = systemId(), run: RunOptions = {}) {
      checkOptions("run", run, { onChange: true, takeOver: true, staysOpen: true });
      const { onChange = "refuse", takeOver = false, staysOpen } = run;
      if (onChange !== "refuse" && onChange !== "adopt") {
        throw new DefinitionError(`onChange has to be "refuse" or "adopt", not ${describeValue(onChange)}.`);
      }
      if (typeof takeOver !== "boolean" && takeOver !== "alive") {
        throw new DefinitionError(`takeOver has to be true, false or "alive", not ${describeValue(takeOver)}.`);
      }
      if (staysOpen !== undefined && typeof staysOpen !== "function") {
        throw new DefinitionError(`staysOpen has to be a function, not ${describeValue(staysOpen)}.`);
      }
      return made({ id: runId(id), mode: "run", takeOver, adopts: onChange === "adopt", staysOpen });
    },
    replay(id, replay: ReplayOptions = {}) {
      checkOptions("replay", replay, { tools: true });
      const { tools = "recorded" } = replay;
      if (tools !== "recorded" && tools !== "run") {
        throw new DefinitionError(`replay: tools must be "recorded" or "run", not ${describeValue(tools)}.`);
      }
      return made({ id: runId(id), mode: "replay", takeOver: false, runsTools: tools === "run" });
    },
    fork(id, fork: ForkOptions) {
      checkOptions("fork", fork, { at: true, result: true, id: true });
      const { at, result, id: own = systemId() } = fork;
      if (!Number.isSafeInteger(at) || at < 0) {
        throw new DefinitionError(`at has to be a whole number from 0, not ${describeValue(at)}.`);
      }
      return made({ id: runId(own), mode: "fork", takeOver: false, from: { id: runId(id), at, result } });
    },
  };
}

/** Reads a run when all that was appended here is written, but for what waits for a call that is under way. */
async function read({ assertOpen, queue, store }: Shared, id: string): Promise<ReadRun> {
  assertOpen();
  await queue.settled();
  try {
    return await readRun(store, runId(id));
  } catch (error) {
    if (!(error instanceof JournalError) || error.reason !== "not_found") throw error;
    // Another process removed it meanwhile, and may have begun another one.
    return readRun(store, id);
  }
}

async function isAsKept({ assertOpen, queue, store }: Shared, id: string, run: ReadRun): Promise<boolean> {
  assertOpen();
  await queue.settled();
  return isAsRead(store, id, run);
}

/** Reads a run. @throws {JournalError} "not_found". */
async function readBegun(shared: Shared, id: string): Promise<ReadRun> {
  const run = await read(shared, id);
  if (run.length === 0) throw notFound(id);
  return run;
}

function queriesOf(shared: Shared): Pick<Journal, "describe" | "list" | "entries" | "session" | "resolve"> {
  return {
    async describe(id) {
      const run = await read(shared, id);
      return run.length === 0 ? undefined : describeRun(id, run, shared.store[tornBytes]?.(id) ?? 0);
    },
    async *list(filter = {}) {
      checkFilter(filter);
      shared.assertOpen();
      await shared.queue.settled();
      yield* listRuns(shared.store, filter);
    },
    async *entries(id, options = {}) {
      runId(id);
      checkEntries(options);
      const { after = -1, follow = false, signal } = options;
      shared.assertOpen();
      const follows = { read: () => read(shared, id), isAsRead: (run: ReadRun) => isAsKept(shared, id, run) };
      if (follow) yield* followEntries(id, follows, after, signal);
      else yield* markedEntries(await read(shared, id)).filter(({ index }) => index > after);
    },
    async session(id, options) {
      checkSession(options);
      const { slices, at } = options;
      return sessionOf(id, await readBegun(shared, id), slices, at);
    },
    resolve: (token, decision) => resolveRun(shared, token, decision),
  };
}

function changesOf(shared: Shared): Pick<Journal, "cancel" | "copy" | "remove" | "prune"> {
  const { store, queue } = shared;
  return {
    async cancel(id, reason) {
      checkReason(reason);
      for (;;) {
        const run = await readBegun(shared, id);
        const standing = standingEntries(run.entries);
        // A run that a limit ended goes on when it is evaluated again: it can be cancelled, too.
        if (lastingEnd(standing) !== undefined || standing.some(({ kind }) => kind === "cancelled")) return false;
        // A process that works on the run is refused with its next frame. Where it writes meanwhile, this is tried again.
        if (await appendAfter(shared, id, { run, summary: run.summary() }, { kind: "cancelled", reason })) break;
      }
      shared.open.get(id)?.(reason);
      return true;
    },
    async copy(id, to) {
      const target = stores.of(to);
      if (target === undefined) throw new DefinitionError("copy needs a journal that createJournal made.");
      await readBegun(shared, id);
      if ((await read(target, id)).length > 0) throw existsAlready(id);
      await copyRun(store, target, id);
    },
    async remove(id) {
      shared.assertOpen();
      await queue.idle();
      await store.remove([runId(id)]);
    },
    async prune(options) {
      checkPrune(options);
      shared.assertOpen();
      return pruned(shared, options);
    },
  };
}

async function pruned({ store, queue }: Shared, options: Parameters<Journal["prune"]>[0]): Promise<number> {
  await queue.idle();
  return pruneRuns(store, options);
}

/** What a journal keeps, for a reader that looks again and again: it reads only what is new. */
export interface KeptEntries {
  readonly store: JournalStore;
  /** Resolves when all that was appended here is written, but for what waits for a call that is under way. */
  settled(): Promise<void>;
}

/** undefined: this copy of the package did not make the journal. */
export function keptEntries(journal: Journal): KeptEntries | undefined {
  const shared = stores.of(journal);
  if (shared === undefined) return undefined;
  return {
    store: shared.store,
    async settled() {
      shared.assertOpen();
      await shared.queue.settled();
    },
  };
}

/**
 * Whether the decision of a token is kept, and is this one. false: it is not, or this copy of the package did not make the
 * journal.
 */
export async function wasDecidedSo(journal: Journal, ...given: Parameters<Journal["resolve"]>): Promise<boolean> {
  const shared = stores.of(journal);
  return shared !== undefined && isDecidedSo(shared, ...given);
}

/** The last entry of a run. undefined: it has none, or this copy of the package did not make the journal. */
export async function lastEntry(journal: Journal, id: string): Promise<JournalEntry | undefined> {
  const shared = stores.of(journal);
  return shared && (await readRun(shared.store, id)).entries.at(-1);
}
