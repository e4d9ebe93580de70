// Runs that have ended are removed by themselves: when a journal is opened, and after every so many attempts that end.
import { DefinitionError, systemClock } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptions } from "./check-options.ts";
import type { Journal } from "./journal.ts";
import { readFrames } from "./read-frames.ts";
import type { JournalStore } from "./store.ts";
import { readSummary } from "./summary.ts";
import { inTurns, turnsBetween } from "./turns.ts";

/** The runs that stay once they have ended. Open and suspended runs always do. */
export interface Retention {
  /** Days that a run stays after its last entry. Left out: without end. */
  readonly days?: number | undefined;
  /** How many runs stay, those that changed last. Left out: all. */
  readonly runs?: number | undefined;
}

const dayMs = 24 * 3_600_000;
/** How many attempts of runs end between two prunings. */
const endsBetween = 1_000;

/** @throws {DefinitionError} for a retention that keeps everything, or numbers that cannot be. */
export function checkRetention(retention: Retention): void {
  checkOptions("retention", retention, { days: true, runs: true });
  const { days, runs } = retention;
  if (days === undefined && runs === undefined) throw new DefinitionError("A retention needs days, runs or both.");
  if (days !== undefined && !(typeof days === "number" && days > 0 && days < Infinity)) {
    throw new DefinitionError(`The option days must be a positive number, not ${describeValue(days)}.`);
  }
  if (runs !== undefined && !(Number.isSafeInteger(runs) && runs >= 0)) {
    throw new DefinitionError(`The option runs must be a whole number from 0, not ${describeValue(runs)}.`);
  }
}

/** Prunes a journal, one pruning at a time. */
export class Retained {
  readonly #retention: Retention;
  readonly #prune: Journal["prune"];
  #ends = 0;
  #pruning: Promise<unknown> = Promise.resolve();

  constructor(retention: Retention, prune: Journal["prune"]) {
    this.#retention = retention;
    this.#prune = prune;
    this.#begin();
  }

  /** An attempt of a run has ended. */
  ended(): void {
    if (++this.#ends % endsBetween === 0) this.#begin();
  }

  /** Resolves when nothing is being removed. */
  async idle(): Promise<void> {
    await this.#pruning;
  }

  #begin(): void {
    const { days, runs } = this.#retention;
    const endedBefore = days === undefined ? undefined : new Date(systemClock.now() - days * dayMs);
    // What cannot be removed now, in a full file say, is removed with the next pruning.
    this.#pruning = this.#pruning.then(() => this.#prune({ endedBefore, keep: runs })).catch(() => {});
  }
}

/** A run as it was listed. */
interface Seen {
  readonly run: string;
  readonly summary: string;
}

/** Runs that are removed in one step: other work goes on between two. */
const removedAtOnce = 20;

/** Removes runs that have ended, the oldest first, and returns how many. One that has gone on since it was listed stays. */
export async function pruneRuns(
  store: JournalStore,
  { endedBefore, keep = Infinity }: Parameters<Journal["prune"]>[0],
): Promise<number> {
  const isOld = (updatedAt: number): boolean => endedBefore !== undefined && updatedAt < endedBefore.getTime();
  const going: Seen[] = [];
  let ended = 0;
  // The list has those that changed last first.
  for await (const { run, summary } of inTurns(store.list())) {
    const saved = readSummary(summary);
    if (saved === undefined || saved.state === "open" || saved.state === "suspended") continue;
    if (isOld(saved.updatedAt) || ended >= keep) going.push({ run, summary });
    ended += 1;
  }
  going.reverse();
  let gone = 0;
  const turn = turnsBetween();
  for (let from = 0; from < going.length; from += removedAtOnce) {
    const seen = going.slice(from, from + removedAtOnce);
    gone += await (store.removeUnchanged?.(seen) ?? removeAfterALook(store, seen));
    await turn();
  }
  return gone;
}

async function removeAfterALook(store: JournalStore, seen: readonly Seen[]): Promise<number> {
  const same: string[] = [];
  for (const { run, summary } of seen) {
    let newest: string | undefined;
    for await (const frame of readFrames(store, run)) newest = frame.summary;
    if (newest === summary) same.push(run);
  }
  await store.remove(same);
  return same.length;
}
