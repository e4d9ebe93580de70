// Runs that have ended are removed by themselves: when a journal is opened, and after every so many runs that end.
import { DefinitionError, systemClock } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import type { Journal } from "./journal.ts";

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
  checkOptionNames("retention", retention, { days: true, runs: true });
  const { days, runs } = retention;
  if (days === undefined && runs === undefined) throw new DefinitionError("A retention needs days, runs or both.");
  if (days !== undefined && !(typeof days === "number" && days > 0 && days < Infinity)) {
    throw new DefinitionError(`The days of a retention have to be a positive number, not ${describeValue(days)}.`);
  }
  if (runs !== undefined && !(Number.isSafeInteger(runs) && runs >= 0)) {
    throw new DefinitionError(`The runs of a retention have to be a whole number from 0, not ${describeValue(runs)}.`);
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
