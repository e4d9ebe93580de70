// What an evaluation beside a record needs of it, where nothing is appended and nothing is waited for.
import type { Blobs, PromptOverride, ReportedUsage, RunFacts, Usage } from "@proviso/core";
import type { World } from "../environment.ts";
import type { Failure } from "../failures.ts";
import type { Limits } from "../limits.ts";
import type { Attempts } from "../attempts.ts";
import { hasAttempts, RecordedAttempts, restartsIn } from "./attempts.ts";
import type { Run } from "../run.ts";
import { joinSecrets } from "../secrets.ts";
import type { EvaluationOutcome, UsageEstimate } from "./contract.ts";
import { InsideAnswers } from "./inside-answers.ts";
import type { OpenedSource, RunSource } from "./run-source.ts";

/** A tape that appends nothing: all that is asked of it comes from a record. */
export abstract class ReadTape {
  readonly #secrets: RunSource["secrets"];
  readonly runId: string;
  readonly attempt: number;
  readonly isReplay = false;
  readonly sendsNothing = true;
  readonly clock: World["clock"];
  readonly evaluationId: string;
  readonly signal: AbortSignal;
  readonly blobs: Blobs | undefined;
  readonly hasAttempts: boolean;
  protected readonly opened: OpenedSource;
  /** The answers of evaluations inside calls. */
  protected readonly inside: InsideAnswers;
  #restarts: ReadonlyMap<number, string> | undefined;

  constructor(source: RunSource, opened: OpenedSource, { clock }: World) {
    this.runId = source.id;
    this.attempt = opened.attempt;
    this.clock = clock;
    this.evaluationId = opened.entries[0]?.evaluationId ?? "";
    this.signal = source.signal;
    this.blobs = source.blobs;
    this.opened = opened;
    this.inside = new InsideAnswers(opened.entries);
    this.#secrets = source.secrets;
    this.hasAttempts = hasAttempts(opened.entries);
  }

  /** What the record hides is hidden here, too: the two are compared. */
  hiding(world: World): World {
    return { ...world, secrets: joinSecrets(world.secrets, this.#secrets) };
  }

  runAgain(): void {}

  refusal(): undefined {
    return undefined;
  }

  limits(limits: Limits): Limits {
    return limits;
  }

  async override(): Promise<PromptOverride | undefined> {
    const { entries } = this.opened;
    const begun = entries.findLast((entry) => entry.kind === "adopted") ?? entries[0];
    return begun?.kind === "begun" || begun?.kind === "adopted" ? begun.override : undefined;
  }

  attempts(): Attempts {
    return new RecordedAttempts(this.opened.entries);
  }

  beginAttempt(): void {}

  undone(): void {}

  endingAttempt(): undefined {
    return undefined;
  }

  called(): void {}

  /** Where an attempt ended, and another one began; else it ends where the record does: nothing is answered then. */
  endsLoop({ isInside, turn }: Run, code: string | undefined, isMet: () => boolean): boolean {
    if (isInside) return isMet();
    this.#restarts ??= restartsIn(this.opened.entries);
    return code !== undefined && this.#restarts.get(turn) === code;
  }

  cut(run: Run, _ask: unknown, text?: string): Failure | undefined {
    return this.inside.cut(run, text);
  }

  over(run: Run): Promise<void> | undefined {
    return this.inside.over(run);
  }

  keepsHistory(): boolean {
    return false;
  }

  /** Milliseconds before a refused request is made again; undefined: it is not. */
  abstract delay(run: Run): number | undefined;

  repeats(run: Run): boolean {
    return this.delay(run) !== undefined;
  }

  isKept(): boolean {
    return true;
  }

  tries(): undefined {
    return undefined;
  }

  unsent(): undefined {
    return undefined;
  }

  unanswered(_run: Run, spend: () => Usage): Usage {
    return spend();
  }

  estimate(_run: Run, _reported: ReportedUsage | undefined, estimate: UsageEstimate): UsageEstimate {
    return estimate;
  }

  cost(): number | undefined {
    return undefined;
  }

  announced(): void {}

  async waited(): Promise<unknown> {
    return undefined;
  }

  assertNoFault(): void {}

  lost(): void {}

  error(): undefined {
    return undefined;
  }

  callsOverlap(): void {}

  stops(): void {}

  keeping<T>(_run: unknown, _call: unknown, record: () => T): T {
    return record();
  }

  succeeded(): void {}

  committing(): undefined {
    return undefined;
  }

  committed(): undefined {
    return undefined;
  }

  facts(): RunFacts {
    return Object.freeze({ id: this.runId, attempt: this.attempt, keptSteps: 0 });
  }

  async end(_run: unknown, outcome: EvaluationOutcome): Promise<EvaluationOutcome> {
    return outcome;
  }
}
