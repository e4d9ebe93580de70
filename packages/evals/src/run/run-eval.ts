// Runs every row on every variant: what is kept is used again, the rest is asked, within the run's limits.
import { systemClock, type Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import { systemId, trackerOf } from "@proviso/runtime/internal";
import { namedRows, ordered } from "../data/rows.ts";
import { definitionOf, variantsOf } from "../define/define-eval.ts";
import type { Eval } from "../definition.ts";
import { keepRows } from "../judges/labels.ts";
import { pairsByKey } from "../report/pairs.ts";
import { reportOf, type Reported } from "../report/report.ts";
import { savedBaseline } from "../report/saved.ts";
import { outsideReasons } from "../scores/outside.ts";
import type { AttemptKey, AttemptRecord, EvalReport } from "../results.ts";
import { type AttemptWorld, type NotRun, type PlannedAttempt } from "./attempt.ts";
import { requireBaseline, requirePrices } from "./requirements.ts";
import { rescored, scorersToRun } from "./rescoring.ts";
import { isUnscored } from "./scoring.ts";
import { Expected } from "./expected.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { keyOf } from "./memory-store.ts";
import { Lanes } from "./lanes.ts";
import { earlyLooks, type EarlyLooks } from "./early-looks.ts";
import { checkRunOptions, callListener, type Progress, type RunOptions } from "./options.ts";
import { askPair, keptPair, plannedPairs, type AskedPair, type PlannedPair } from "./pairs.ts";
import { keyFields, plannedAttempts } from "./planning.ts";
import { repeated, rowsToRun, variantsToRun } from "./part.ts";
import { recordsOf, type Records } from "./records.ts";
import { openRunStore, type RunStore } from "./run-store.ts";
import { SystemicFailures } from "./systemic.ts";
import { makeAttempt, withWorkers } from "./workers.ts";

/**
 * Runs every row on every variant, in an order drawn from the seed, and reports scores, differences and verdicts. Resolves
 * with what there is, whatever ends it.
 * @throws {DefinitionError} before anything is spent: for rows that cannot be used, all at once, and options that cannot be.
 */
export async function runEval(of: Eval, options: RunOptions = {}): Promise<EvalReport> {
  checkRunOptions(options);
  const definition = repeated(definitionOf(of), options);
  const variants = variantsToRun(variantsOf(definition), options);
  const baseline = savedBaseline(definition, options.compareWith);
  requireBaseline(definition, variants, baseline !== undefined);
  await requirePrices(definition, variants, trackerOf(options.budget)?.budget.maxCostUsd);
  const rows = ordered(rowsToRun(await namedRows(definition.data, definition), options), options.seed ?? 1);
  const fingerprint = fingerprintOf(definition, rows, variants);
  const run = new EvalRun({ definition, variants, rows, fingerprint, baseline, options });
  return withWorkers(options.workers, () => run.report());
}

/** An attempt that is to be made, or whose answer is kept and has to be scored. */
interface MissingAttempt {
  readonly planned: PlannedAttempt;
  readonly kept: AttemptRecord | undefined;
  /** The scorers of what is kept. */
  readonly scorers: readonly string[];
}

interface RunParts extends Pick<Reported, "definition" | "variants" | "rows" | "fingerprint" | "baseline"> {
  readonly options: RunOptions;
}

class EvalRun {
  readonly #parts: RunParts;
  readonly #clock;
  readonly #lanes: Lanes;
  readonly #records: Records;
  readonly #stop = new AbortController();
  readonly #looks: EarlyLooks | undefined;
  readonly #expected = new Expected();
  readonly #pairs: AskedPair[] = [];
  readonly #systemic = new SystemicFailures();
  #spent: Usage = noUsage;
  #lost: Usage = noUsage;
  #reused = 0;
  #failed = 0;
  #unscored = 0;
  #ended: EvalReport["ended"];
  #startedAt = 0;

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.#records = recordsOf(parts);
    this.#clock = parts.options.clock ?? systemClock;
    this.#lanes = new Lanes(parts.options, this.#clock);
    this.#looks = parts.options.stopEarly === true ? earlyLooks(parts) : undefined;
  }

  async report(): Promise<EvalReport> {
    const { options, definition, fingerprint, rows, variants } = this.#parts;
    const { newId = systemId } = options;
    this.#startedAt = this.#clock.now();
    const runId = newId();
    const store = await openRunStore(options, { name: definition.name, runId, fingerprint });
    // What a killed run had begun may have been paid for, so it stays part of what is spent.
    this.#lost = this.#spent = store.lost;
    this.#expected.begin(this.#lost);
    const planned = await plannedAttempts(definition, rows, variants, fingerprint);
    const keptOf = (key: AttemptKey) => (store.kept.size === 0 ? undefined : store.kept.get(keyOf(key)));
    const missing = planned.flatMap((attempt) => this.#missing(attempt, keptOf(attempt)));
    this.#look();
    const world = this.#world(newId);
    await this.#sideBySide(missing, (each) => this.#next(each, world, store));
    await this.#comparePairs(world, store);
    const of = { ...this.#parts, records: this.#records, ended: this.#ended, spent: this.#spent, lost: this.#lost };
    const counted = { reused: this.#reused, pairs: pairsByKey(this.#pairs), looks: this.#looks };
    const report = reportOf({ ...of, ...counted, runId, startedAt: new Date(this.#startedAt).toISOString() });
    keepRows(report, new Map(rows.map(({ id, row }) => [id, row])));
    // The report is there, whether it can be kept or not.
    await store.end(report).catch(() => {});
    return report;
  }

  /** What is still to be done for an attempt; nothing, where all of it is kept. */
  #missing(planned: PlannedAttempt, kept: AttemptRecord | undefined): readonly MissingAttempt[] {
    if (kept === undefined || kept.rowHash !== planned.row.hash || kept.subjectHash !== planned.subjectHash) {
      return [{ planned, kept: undefined, scorers: [] }];
    }
    const again = this.#parts.options.resume === "retry-failed";
    const isOutside = kept.failure !== undefined && outsideReasons.includes(kept.failure.reason);
    if (again && isOutside) return [{ planned, kept: undefined, scorers: [] }];
    const scorers = scorersToRun(this.#parts.definition, planned.row.row, kept, again);
    if (scorers.length > 0) return [{ planned, kept, scorers }];
    this.#count(planned, kept);
    this.#reused += 1;
    return [];
  }

  #world(newId: () => string): AttemptWorld {
    const { budget, signal: given, journal } = this.#parts.options;
    const signal = AbortSignal.any([this.#stop.signal, ...(given === undefined ? [] : [given])]);
    return { clock: this.#clock, newId, budget: trackerOf(budget), signal, pacing: this.#lanes.pacing, journal };
  }

  /** Works on as many items at once as the options say, until the run ends or `work` returns false. */
  async #sideBySide<Item>(items: readonly Item[], work: (item: Item) => Promise<boolean>): Promise<void> {
    const { options } = this.#parts;
    const queue = items.values();
    const worker = async (): Promise<void> => {
      for (const each of queue) if (this.#isOver() || !(await work(each))) return;
    };
    const side = Math.min(options.concurrency ?? 16, items.length);
    const ended = await Promise.allSettled(
      Array.from({ length: side }, () => worker().catch((error: unknown) => this.#broke(error))),
    );
    const broken = ended.find((one) => one.status === "rejected");
    if (broken !== undefined) throw broken.reason;
  }

  /** Scores or makes an attempt. false: the run is over. */
  async #next(missing: MissingAttempt, world: AttemptWorld, store: RunStore): Promise<boolean> {
    if (missing.kept !== undefined && (await this.#rescore(missing, missing.kept, { world, store }))) return true;
    const door = this.#lanes.door(missing.planned.of.adapter);
    const waiting = door?.enter(world.signal);
    if (waiting !== undefined) await waiting;
    const goesOn = !this.#isOver() && (await this.#make(missing.planned, world, store));
    door?.left();
    return goesOn;
  }

  /** Asks about the pairs of answers that are not kept, once all answers are there. */
  async #comparePairs(world: AttemptWorld, store: RunStore): Promise<void> {
    if (this.#ended !== undefined || this.#parts.baseline !== undefined) return;
    const again = this.#parts.options.resume === "retry-failed";
    const missing = plannedPairs({ ...this.#parts, records: this.#records }).filter((planned) => {
      const pair = keptPair(planned, store.kept.get(keyOf(planned.key)), again);
      if (pair !== undefined) this.#pairs.push(pair);
      return pair === undefined;
    });
    await this.#sideBySide(missing, (planned) => this.#askPair(planned, world, store));
  }

  async #askPair(planned: PlannedPair, world: AttemptWorld, store: RunStore): Promise<boolean> {
    const done = await this.#paid(planned.key, { world, store }, () => askPair(this.#parts.definition, planned, world));
    if (!("made" in done)) return done.goesOn;
    const { record, asked } = done.made;
    await store.finish(record);
    this.#pairs.push(asked);
    this.#expected.add(record);
    this.#spent = addUsage(this.#spent, asked.usage);
    return true;
  }

  /** Scores what is kept by the scorers that changed. false: it takes more than what is kept. */
  async #rescore(
    { planned, scorers }: MissingAttempt,
    kept: AttemptRecord,
    { world, store }: { readonly world: AttemptWorld; readonly store: RunStore },
  ): Promise<boolean> {
    const scored = await rescored(this.#parts.definition, { planned, kept, scorers }, world);
    this.#spent = addUsage(this.#spent, scored.usage);
    if ("isShort" in scored) return false;
    if ("notRun" in scored) {
      if (scored.notRun === "budget") this.#end("budget", "The budget is spent.");
      else this.#isOver();
      return true;
    }
    await store.finish(scored.record);
    this.#reused += 1;
    this.#count(planned, scored.record);
    this.#look();
    this.#progress();
    return true;
  }

  /** Makes one attempt. false: what is left of the budget does not pay for it. */
  async #make(planned: PlannedAttempt, world: AttemptWorld, store: RunStore): Promise<boolean> {
    const done = await this.#paid(keyFields(planned), { world, store }, () => makeAttempt(this.#parts, planned, world));
    if (!("made" in done)) return done.goesOn;
    await store.finish(done.made);
    this.#took(planned, done.made);
    return true;
  }

  /** Does what is paid for, where the budget allows as much as others like it have spent. */
  async #paid<Made extends object>(
    key: AttemptKey,
    { world, store }: { readonly world: AttemptWorld; readonly store: RunStore },
    work: () => Promise<Made | NotRun>,
  ): Promise<{ readonly made: Made } | { readonly goesOn: boolean }> {
    const worstCase = this.#expected.of(key.variant);
    if (!this.#expected.fits(world.budget, worstCase)) {
      this.#end("budget", "What is left of the budget does not pay for another attempt.");
      return { goesOn: false };
    }
    this.#expected.begin(worstCase);
    await store.begin(key, worstCase);
    const made = await work();
    this.#expected.end(worstCase);
    if (!("notRun" in made)) return { made };
    this.#spent = addUsage(this.#spent, made.usage);
    if (made.notRun === "budget") this.#end("budget", "The budget is spent.");
    else if (made.notRun === "refused") this.#end("systemic", made.message ?? "");
    else this.#isOver();
    return { goesOn: true };
  }

  /** A store that fails ends the run: what is asked could not be kept. What is in flight is aborted. */
  #broke(error: unknown): never {
    this.#ended ??= { why: "aborted", message: "The store of attempts failed." };
    this.#stop.abort();
    throw error;
  }

  #isOver(): boolean {
    if (this.#parts.options.signal?.aborted === true) this.#end("aborted", "The run was aborted.");
    return this.#ended !== undefined;
  }

  #count({ place }: PlannedAttempt, record: AttemptRecord): void {
    this.#records.set(place, record);
    this.#expected.add(record);
    if (record.status === "failed") this.#failed += 1;
    if (isUnscored(record)) this.#unscored += 1;
    this.#looks?.add(record);
  }

  #took(planned: PlannedAttempt, record: AttemptRecord): void {
    this.#count(planned, record);
    this.#spent = addUsage(this.#spent, addUsage(record.usage, record.judgeUsage));
    const why = this.#systemic.add(record);
    if (why !== undefined) this.#end("systemic", why);
    this.#look();
    this.#progress();
  }

  #look(): void {
    if (this.#ended === undefined && this.#looks?.isSettled(this.#records) === true) {
      this.#end("settled", "All gates are settled.");
    }
  }

  /** What is in flight goes on, unless the run was aborted or settled: its cost is paid already. */
  #end(why: NonNullable<EvalReport["ended"]>["why"], message: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = { why, message };
    if (why === "settled" || why === "systemic") this.#stop.abort();
  }

  #progress(): void {
    const { onProgress } = this.#parts.options;
    if (onProgress === undefined) return;
    const { rows, variants, definition } = this.#parts;
    const done = this.#records.size;
    const total = rows.length * variants.length * (definition.repetitions ?? 1);
    const elapsedMs = this.#clock.now() - this.#startedAt;
    const now = done - this.#reused;
    const progress: Progress = {
      done,
      total,
      reused: this.#reused,
      failed: this.#failed,
      unscored: this.#unscored,
      spent: this.#spent,
      elapsedMs,
      leftMs: now === 0 ? undefined : Math.round((elapsedMs / now) * (total - done)),
      pace: this.#lanes.perSecond(),
    };
    callListener(onProgress, progress);
  }
}
