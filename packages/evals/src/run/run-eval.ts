// Runs every row on every variant: what is kept is used again, the rest is asked, within the run's limits.
import { systemClock } from "@proviso/core";
import { noUsage } from "@proviso/core/internal";
import { systemId, trackerOf } from "@proviso/runtime/internal";
import { defaultTimeoutMs, type Bounds } from "../bounded.ts";
import type { Eval } from "../definition.ts";
import { keepRows } from "../judges/labels.ts";
import { pairsByKey } from "../report/pairs.ts";
import { reportOf, type Reported } from "../report/report.ts";
import type { AttemptKey, AttemptRecord, EvalReport } from "../results.ts";
import { askedOf, rowsToAsk } from "./check-eval.ts";
import { type AttemptWorld, type NotRun, type PlannedAttempt } from "./attempt.ts";
import { rescored } from "./rescoring.ts";
import { Expected, type Room } from "./expected.ts";
import { cutBefore, cutRecord } from "./cut-attempts.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { Lanes } from "./lanes.ts";
import { missingAttempts, type MissingAttempt } from "./missing.ts";
import { earlyLooks, type EarlyLooks } from "./early-looks.ts";
import type { RunOptions } from "./options.ts";
import { askPair, missingPairs, type AskedPair, type PlannedPair } from "./pairs.ts";
import { keyFields, plannedAttempts } from "./planning.ts";
import { recordsOf, type Records } from "./records.ts";
import { RunEnd } from "./run-end.ts";
import { openRunStore, type RunStore } from "./run-store.ts";
import { SystemicFailures } from "./systemic.ts";
import { Tally } from "./tally.ts";
import { makeAttempt, withWorkers } from "./workers.ts";

/**
 * Runs every row on every variant, in an order drawn from the seed, and reports scores, differences and verdicts. Resolves
 * with what there is, whatever ends it.
 * @throws {DefinitionError} before anything is spent: for rows that cannot be used, all at once, and options that cannot be.
 * An Error, too, where a row of the data does not come before the signal aborts, or in `timeoutMs`.
 */
export async function runEval(of: Eval, options: RunOptions = {}): Promise<EvalReport> {
  const asked = await askedOf(of, options);
  const rows = await rowsToAsk(asked.definition, options);
  const fingerprint = fingerprintOf(asked.definition, rows, asked.variants);
  const run = new EvalRun({ ...asked, rows, fingerprint, options });
  return withWorkers(options, () => run.report());
}

/** What belongs to one of the loops that run side by side; each makes one attempt after the other. */
interface Side {
  /** Settles when the store has what this one made last, and never rejects. undefined: it has it. */
  keeping: Promise<void> | undefined;
}

/** What the attempts of a run are made with. */
interface Making {
  readonly world: AttemptWorld;
  readonly store: RunStore;
}

interface RunParts extends Pick<Reported, "definition" | "variants" | "rows" | "fingerprint" | "baseline"> {
  readonly options: RunOptions;
}

class EvalRun {
  readonly #parts: RunParts;
  readonly #clock;
  readonly #lanes: Lanes;
  readonly #records: Records;
  readonly #end: RunEnd;
  readonly #looks: EarlyLooks | undefined;
  readonly #expected = new Expected();
  readonly #pairs: AskedPair[] = [];
  readonly #systemic = new SystemicFailures();
  readonly #tally: Tally;
  /** How long what the program gave is waited for before and between attempts. */
  readonly #bounds: Bounds;

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.#end = new RunEnd(parts.options.signal);
    const { options, rows, variants, definition } = parts;
    const records = (this.#records = recordsOf(parts));
    const clock = (this.#clock = options.clock ?? systemClock);
    const lanes = (this.#lanes = new Lanes(options, clock));
    const looks = (this.#looks = options.stopEarly === true ? earlyLooks(parts) : undefined);
    const total = rows.length * variants.length * (definition.repetitions ?? 1);
    const { onProgress } = options;
    this.#bounds = { clock, signal: options.signal, ms: definition.timeoutMs ?? defaultTimeoutMs };
    this.#tally = new Tally({ clock, lanes, records, looks, onProgress, total });
  }

  /** Runs, and reports what it came to. */
  async report(): Promise<EvalReport> {
    try {
      return await this.#report();
    } finally {
      this.#end.close();
    }
  }

  async #report(): Promise<EvalReport> {
    const { options, definition, fingerprint, rows, variants } = this.#parts;
    const { newId = systemId } = options;
    const tally = this.#tally;
    const planned = await plannedAttempts(definition, rows, variants, fingerprint, this.#bounds);
    const runId = newId();
    const run = { name: definition.name, runId, fingerprint };
    const store = await openRunStore(options, run, { bounds: this.#bounds, planned });
    // What a killed run had begun may have been paid for, so it stays part of what is spent.
    tally.lost = store.lost;
    tally.spend(store.lost);
    this.#expected.begin(store.lost);
    const making = { world: this.#world(newId), store };
    await this.#makeAll(planned, making);
    await this.#comparePairs(making);
    const { spent, lost, reused } = tally;
    const of = { ...this.#parts, records: this.#records, ended: this.#end.ended, spent, lost };
    const counted = { reused, pairs: pairsByKey(this.#pairs), looks: this.#looks };
    const report = reportOf({ ...of, ...counted, runId, startedAt: new Date(tally.startedAt).toISOString() });
    keepRows(report, rows);
    // The report is there, whether it can be kept or not.
    await store.end(report).catch(() => {});
    return report;
  }

  /** Makes what is not kept. */
  async #makeAll(planned: readonly PlannedAttempt[], making: Making): Promise<void> {
    const { options, definition, fingerprint } = this.#parts;
    const { kept } = making.store;
    const again = options.resume === "retry-failed";
    const older: AttemptRecord[] = [];
    const missing = missingAttempts(definition, planned, { kept, again }, ({ place }, record) => {
      this.#expected.add(record);
      this.#tally.reuse(place, record);
      if (!kept.isNewest(record)) older.push(record);
    });
    // What an older run made is the newest again: who looks at this run later finds it.
    await Promise.all(older.map(async (record) => making.store.finish(record)));
    for (const each of cutBefore(missing, kept, fingerprint)) this.#expected.add(each);
    this.#look();
    await this.#sideBySide(missing, (each, side) => this.#next(each, making, side));
  }

  #world(newId: () => string): AttemptWorld {
    const { journal, budget: given } = this.#parts.options;
    const budget = trackerOf(given);
    const { signal } = this.#end;
    const { pacing } = this.#lanes;
    return { clock: this.#clock, newId, budget, signal, pacing, journal, given: new Map() };
  }

  /** Works on as many items at once as the options say, until the run ends or `work` returns false. */
  async #sideBySide<Item>(items: readonly Item[], work: (item: Item, side: Side) => Promise<boolean>): Promise<void> {
    const queue = items.values();
    const worker = async (): Promise<void> => {
      const side: Side = { keeping: undefined };
      for (const each of queue) if (this.#end.isOver || !(await work(each, side))) break;
      await side.keeping;
    };
    const count = Math.min(this.#parts.options.concurrency ?? 16, items.length);
    const failed = (error: unknown): void => {
      this.#end.break(error);
      this.#expected.wake();
    };
    await Promise.all(Array.from({ length: count }, () => worker().catch(failed)));
    this.#end.assertSound();
  }

  /** Scores or makes an attempt. false: the run is over. */
  async #next(missing: MissingAttempt, making: Making, side: Side): Promise<boolean> {
    if (missing.kept !== undefined && (await this.#rescore(missing, missing.kept, making))) return true;
    const door = this.#lanes.door(missing.planned.of.adapter);
    const waiting = door?.enter(making.world.signal);
    if (waiting !== undefined) await waiting;
    const goesOn = !this.#end.isOver && (await this.#make(missing.planned, making, side));
    door?.left();
    return goesOn;
  }

  /** Asks about the pairs of answers that are not kept, once all answers are there. */
  async #comparePairs(making: Making): Promise<void> {
    if (this.#end.ended !== undefined || this.#parts.baseline !== undefined) return;
    const again = this.#parts.options.resume === "retry-failed";
    const of = { ...this.#parts, records: this.#records, kept: making.store.kept, again };
    const missing = missingPairs(of, (pair, record) => {
      this.#expected.add(record);
      this.#pairs.push(pair);
    });
    await this.#sideBySide(missing, (pair, side) => this.#askPair(pair, making, side));
  }

  async #askPair(planned: PlannedPair, making: Making, side: Side): Promise<boolean> {
    const room = await this.#begin(planned.key, making, side);
    if (room === undefined) return false;
    const made = await askPair(this.#parts.definition, planned, making.world);
    if ("record" in made) this.#expected.add(made.record);
    this.#expected.leave(room);
    if ("notRun" in made) return this.#cutShort(made);
    this.#tally.spend(made.asked.usage);
    this.#keep(made.record, making.store, side, () => void this.#pairs.push(made.asked));
    return true;
  }

  /** Scores what is kept by the scorers that changed. false: it takes more than what is kept. */
  async #rescore(
    { planned, scorers }: MissingAttempt,
    kept: AttemptRecord,
    { world, store }: Making,
  ): Promise<boolean> {
    // Scoring what is kept costs other amounts than an attempt.
    const kind = JSON.stringify(["scoring", planned.variant]);
    const room = await this.#room(kind, world);
    if (room === undefined) return true;
    const scored = await rescored(this.#parts.definition, { planned, kept, scorers }, world);
    this.#tally.spend(scored.usage);
    if ("record" in scored) this.#expected.add({ variant: kind, usage: scored.usage, judgeUsage: noUsage });
    this.#expected.leave(room);
    if ("isShort" in scored) return false;
    if ("notRun" in scored) {
      if (scored.notRun === "budget") this.#end.end("budget", "The budget is spent.");
      return true;
    }
    await store.finish(scored.record);
    this.#expected.add(scored.record);
    this.#tally.reuse(planned.place, scored.record);
    this.#look();
    this.#tally.progress();
    return true;
  }

  /** Makes one attempt. false: what is left of the budget does not pay for it. */
  async #make(planned: PlannedAttempt, making: Making, side: Side): Promise<boolean> {
    const room = await this.#begin(keyFields(planned), making, side);
    if (room === undefined) return false;
    const made = await makeAttempt(this.#parts, planned, making.world);
    if (!("notRun" in made)) this.#expected.add(made);
    this.#expected.leave(room);
    if ("notRun" in made) {
      const cut = cutRecord(planned, made, making.world.budget, this.#parts.fingerprint);
      if (cut !== undefined) this.#keep(cut, making.store, side, () => {});
      return this.#cutShort(made);
    }
    this.#tally.spend(made.usage);
    this.#tally.spend(made.judgeUsage);
    this.#keep(made, making.store, side, () => this.#took(planned, made));
    return true;
  }

  /**
   * Begins what is paid for, where the budget allows as much as others like it have spent: that much is taken. What was made
   * before it is kept when it begins: both are written together. undefined: the run is over.
   */
  async #begin(key: AttemptKey, making: Making, side: Side): Promise<Room | undefined> {
    const { world, store } = making;
    const room = await this.#room(key.variant, world);
    if (room === undefined) return undefined;
    const begun = store.begin(key, room.expected);
    const { keeping } = side;
    if (begun === undefined && keeping === undefined) return room;
    await begun;
    await keeping;
    side.keeping = undefined;
    // Other attempts went on meanwhile, and may have spent more than was expected of them.
    if (!this.#end.isOver && this.#expected.fits(world.budget, noUsage)) return room;
    this.#expected.leave(room);
    return this.#end.isOver ? undefined : this.#begin(key, making, side);
  }

  /** Room in the budget. undefined: the run is over. */
  async #room(variant: string, { budget }: AttemptWorld): Promise<Room | undefined> {
    const room = await this.#expected.room(variant, budget, this.#end);
    // What ended the run before stands.
    if (room === undefined) this.#end.end("budget", "What is left of the budget does not pay for another attempt.");
    return room;
  }

  /** The store is given what was made, which counts when the store has it. */
  #keep(record: AttemptRecord, store: RunStore, side: Side, then: () => void): void {
    const kept = store.finish(record);
    if (kept === undefined) then();
    else side.keeping = kept.then(then).catch((error: unknown) => this.#end.break(error));
  }

  #cutShort(made: NotRun): boolean {
    this.#tally.spend(made.usage);
    if (made.notRun === "budget") this.#end.end("budget", "The budget is spent.");
    else if (made.notRun === "refused") this.#end.end("systemic", made.message ?? "");
    return true;
  }

  #took(planned: PlannedAttempt, record: AttemptRecord): void {
    this.#tally.take(planned.place, record);
    const why = this.#systemic.add(record);
    if (why !== undefined) this.#end.end("systemic", why);
    this.#look();
    this.#tally.progress();
  }

  #look(): void {
    if (this.#end.ended !== undefined || this.#looks?.isSettled(this.#records) !== true) return;
    const rows = this.#looks.settled()?.rows ?? 0;
    this.#end.end("settled", `All gates are settled by the first ${rows} rows: the scores are theirs.`);
  }
}
