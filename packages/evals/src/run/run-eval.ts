// Runs every row on every variant: what is kept is used again, the rest is asked, within the run's limits.
import { DefinitionError, systemClock, type Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import { internalsOf, systemId, trackerOf } from "@proviso/runtime/internal";
import { sharedPacing } from "@proviso/runtime/routing";
import { namedRows, ordered, type NamedRow } from "../data/rows.ts";
import { definitionOf, variantsOf, type AnyDefinition, type ReadyVariant } from "../define/define-eval.ts";
import type { Eval } from "../definition.ts";
import { reportOf, type Reported } from "../report/report.ts";
import { savedBaseline } from "../report/saved.ts";
import { outsideReasons } from "../scores/outside.ts";
import type { AttemptRecord, EvalReport } from "../results.ts";
import { attempted, subjectHashOf, type AttemptWorld, type PlannedAttempt } from "./attempt.ts";
import { Expected } from "./expected.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { keyOf, memoryEvalStore } from "./memory-store.ts";
import { earlyLooks, type EarlyLooks } from "./early-looks.ts";
import { checkRunOptions, type Progress, type RunOptions } from "./options.ts";

/** Attempts of a variant that fail alike before the run is ended. */
const systemicFailures = 5;
const systemicReasons = new Set(["api_key_error", "not_found_error", "bad_request_error", "render_error"]);

/**
 * Runs every row on every variant, in an order drawn from the seed, and reports scores, differences and verdicts. Resolves
 * with what there is, whatever ends it.
 * @throws {DefinitionError} before anything is spent: for rows that cannot be used, all at once, and options that cannot be.
 */
export async function runEval(of: Eval, options: RunOptions = {}): Promise<EvalReport> {
  const definition = definitionOf(of);
  checkRunOptions(options);
  const variants = variantsOf(definition);
  const baseline = savedBaseline(definition.name, options.compareWith);
  requireBaseline(definition, variants, baseline !== undefined);
  await requirePrices(definition.name, variants, trackerOf(options.budget)?.budget.maxCostUsd);
  const rows = ordered(await namedRows(definition.data, definition), options.seed ?? 1);
  const fingerprint = fingerprintOf(definition, rows, variants);
  const run = new EvalRun({ definition, variants, rows, fingerprint, baseline, options });
  return run.report();
}

function requireBaseline(definition: AnyDefinition, variants: readonly ReadyVariant[], isSaved: boolean): void {
  const gate = Object.entries(definition.gates ?? {}).find(([, { noWorseBy }]) => noWorseBy !== undefined);
  if (gate === undefined || isSaved || variants.length > 1) return;
  throw new DefinitionError(
    `The gate noWorseBy on "${gate[0]}" of the eval "${definition.name}" needs a second variant, or a saved run in compareWith.`,
  );
}

/** A limit in dollars needs a price for every model. */
async function requirePrices(
  name: string,
  variants: readonly ReadyVariant[],
  limit: number | undefined,
): Promise<void> {
  if (limit === undefined) return;
  for (const { adapter } of variants) {
    const facts = internalsOf(adapter)?.facts;
    if (facts === undefined || facts.reportsCost) continue;
    if ((facts.prices.current() ?? (await facts.prices.load())).known) continue;
    const todo = "give the adapter pricing, or limit tokens";
    throw new DefinitionError(
      `The eval "${name}" has a budget in dollars, and no price is known for ${facts.model}: ${todo}.`,
    );
  }
}

interface RunParts extends Pick<Reported, "definition" | "variants" | "rows" | "fingerprint" | "baseline"> {
  readonly options: RunOptions;
}

class EvalRun {
  readonly #parts: RunParts;
  readonly #clock;
  readonly #records = new Map<string, AttemptRecord>();
  readonly #stop = new AbortController();
  readonly #looks: EarlyLooks | undefined;
  readonly #expected = new Expected();
  readonly #failures = new Map<string, string[]>();
  #spent: Usage = noUsage;
  #lost: Usage = noUsage;
  #reused = 0;
  #failed = 0;
  #unscored = 0;
  #ended: EvalReport["ended"];
  #startedAt = 0;

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.#clock = parts.options.clock ?? systemClock;
    this.#looks = parts.options.stopEarly === true ? earlyLooks(parts) : undefined;
  }

  async report(): Promise<EvalReport> {
    const { options, definition, fingerprint } = this.#parts;
    const { newId = systemId, store = memoryEvalStore() } = options;
    this.#startedAt = this.#clock.now();
    const runId = newId();
    const opened = await store.open({ name: definition.name, runId, fingerprint });
    for (const usage of opened.lost) this.#lost = addUsage(this.#lost, usage);
    this.#spent = this.#lost;
    const kept = new Map<string, AttemptRecord>();
    if (options.resume !== "fresh") for await (const record of opened.finished) kept.set(keyOf(record), record);
    const planned = this.#planned();
    const missing = planned.filter((attempt) => !this.#reuse(attempt, kept.get(keyOf(attempt))));
    this.#look();
    await this.#runAll(missing, { newId, store });
    const of = { ...this.#parts, records: this.#records, ended: this.#ended, spent: this.#spent, lost: this.#lost };
    const startedAt = new Date(this.#startedAt).toISOString();
    return reportOf({ ...of, runId, startedAt, looks: this.#looks });
  }

  #planned(): readonly PlannedAttempt[] {
    const { rows, variants, definition, fingerprint } = this.#parts;
    const hashOf = (of: ReadyVariant, row: NamedRow<object>): string =>
      subjectHashOf(fingerprint.variants[of.name] ?? "", of, row);
    return rows.flatMap((row) =>
      variants.flatMap((of) => {
        const subjectHash = hashOf(of, row);
        return Array.from({ length: definition.repetitions ?? 1 }, (_, at): PlannedAttempt => {
          return { row, of, rowId: row.id, variant: of.name, repetition: at + 1, subjectHash };
        });
      }),
    );
  }

  /** Whether an attempt that is kept is of the same row, subject and scorers, and counts again. */
  #reuse(planned: PlannedAttempt, kept: AttemptRecord | undefined): boolean {
    if (kept === undefined || kept.rowHash !== planned.row.hash || kept.subjectHash !== planned.subjectHash)
      return false;
    const { options } = this.#parts;
    const isOutside = kept.failure !== undefined && outsideReasons.includes(kept.failure.reason);
    if (options.resume === "retry-failed" && isOutside) return false;
    this.#count(kept);
    this.#reused += 1;
    return true;
  }

  async #runAll(
    missing: readonly PlannedAttempt[],
    { newId, store }: { readonly newId: () => string; readonly store: NonNullable<RunOptions["store"]> },
  ): Promise<void> {
    const { options, definition } = this.#parts;
    const budget = trackerOf(options.budget);
    const stopping =
      options.signal === undefined ? this.#stop.signal : AbortSignal.any([options.signal, this.#stop.signal]);
    const pacing =
      options.pacing ??
      sharedPacing({ clock: this.#clock, ...(options.random === undefined ? {} : { random: options.random }) });
    const world: AttemptWorld = { clock: this.#clock, newId, budget, signal: stopping, pacing };
    const queue = missing.values();
    const worker = async (): Promise<void> => {
      for (const planned of queue) {
        if (this.#isOver(options.signal)) return;
        const worstCase = this.#expected.of(planned.variant);
        if (!this.#expected.fits(budget, worstCase)) {
          this.#end("budget", "What is left of the budget does not pay for another attempt.");
          return;
        }
        this.#expected.begin(worstCase);
        await store.begin(keyFields(planned), worstCase);
        const made = await attempted(definition, planned, world);
        this.#expected.end(worstCase);
        if ("notRun" in made) {
          this.#spent = addUsage(this.#spent, made.usage);
          if (made.notRun === "budget") this.#end("budget", "The budget is spent.");
          continue;
        }
        await store.finish(made);
        this.#took(made);
      }
    };
    const side = Math.min(options.concurrency ?? 16, missing.length);
    await Promise.all(Array.from({ length: side }, worker));
  }

  #isOver(signal: AbortSignal | undefined): boolean {
    if (signal?.aborted === true) this.#end("aborted", "The run was aborted.");
    return this.#ended !== undefined;
  }

  #count(record: AttemptRecord): void {
    this.#records.set(keyOf(record), record);
    this.#expected.add(record);
    if (record.status === "failed") this.#failed += 1;
    if (isUnscored(record)) this.#unscored += 1;
    this.#looks?.add(record);
  }

  #took(record: AttemptRecord): void {
    this.#count(record);
    this.#spent = addUsage(this.#spent, addUsage(record.usage, record.judgeUsage));
    this.#failsAlike(record);
    this.#look();
    this.#progress();
  }

  /** Ends the run where nothing can work: the first attempts of a variant all fail for the same reason. */
  #failsAlike({ variant, failure }: AttemptRecord): void {
    const reasons = this.#failures.get(variant) ?? [];
    if (reasons.length >= systemicFailures) return;
    reasons.push(failure?.reason ?? "");
    this.#failures.set(variant, reasons);
    const [first = ""] = reasons;
    if (reasons.length < systemicFailures || !systemicReasons.has(first)) return;
    if (reasons.some((reason) => reason !== first)) return;
    this.#end(
      "systemic",
      `The first ${systemicFailures} attempts of "${variant}" failed with ${first}: ${failure?.message ?? ""}`,
    );
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
    };
    try {
      onProgress(progress);
    } catch {
      // A listener that fails changes nothing.
    }
  }
}

function keyFields({ rowId, variant, repetition }: PlannedAttempt) {
  return { rowId, variant, repetition };
}

function isUnscored({ status, scores }: AttemptRecord): boolean {
  return status === "answered" && Object.values(scores).some((score) => "unscored" in score);
}
