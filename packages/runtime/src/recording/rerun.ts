// A replay whose handlers and policies run again: an evaluation beside the replay, whose calls have to come to what the record
// has. Its model, and those of evaluations inside its calls, answer from the record. What the replay emits is the record's.
import type {
  EvaluateOptions,
  EvaluationFailure,
  ModelFailure,
  ModelResponse,
  PolicyDecision,
  Prompt,
  Suspension,
  ToolCall,
  ToolInvoked,
  ToolMessage,
} from "@proviso/core";
import { toJsonValue } from "@proviso/core/internal";
import type { World } from "../environment.ts";
import type { Run } from "../run.ts";
import type { SessionCore, UnnumberedEvent } from "../session/session-core.ts";
import { answerAgain } from "./answers.ts";
import { defaultMaxDepth } from "../nested/inherit.ts";
import { recordedCalls, RecordedCalls, unrecordedRequest, type CallDifference } from "./calls-again.ts";
import { lastGiven, recallHistory } from "./begun.ts";
import type {
  HandlerParts,
  KeptCalls,
  NumberedEvent,
  NumberingRun,
  PolicyQuestion,
  RecordedRequest,
  Tape,
} from "./contract.ts";
import { canWait, Decisions } from "./decisions.ts";
import type { Difference } from "./compare.ts";
import type { EntryOf } from "./entries.ts";
import { TapeFault } from "./fault.ts";
import { ReadTape } from "./read-tape.ts";
import { givenAgain } from "./kept-feedback.ts";
import { refuseAgain } from "./refusals.ts";
import { addTo, queuesOf, taken, type Queues } from "./queues.ts";
import type { OpenedSource, RunSource } from "./run-source.ts";
import type { PendingEvent } from "../transactions/transaction.ts";
import { recordedSession } from "./session.ts";

/** Evaluates with a tape of its own. */
export type EvaluateAgain = (tape: Tape<Run>) => Promise<unknown>;

/** The record of a run for an evaluation that runs its calls again. It appends nothing. */
export class Rerun extends ReadTape implements Tape<Run> {
  readonly isRerun = true;
  readonly #world: World;
  readonly #evaluate: EvaluateAgain;
  readonly #recorded: RecordedCalls;
  readonly #queues: Queues;
  readonly #decisions: Decisions;
  readonly #dispatched = new Map<string, unknown[]>();
  readonly #counted = new WeakSet<object>();
  readonly #ended = new Map<string, ToolInvoked>();
  #now: number;
  #found: CallDifference | undefined;
  #evaluation: Promise<unknown> | undefined;
  /** The turn whose calls the replay has come to. */
  #reached = 0;
  #isOver = false;
  readonly #ending = new AbortController();
  #wake: (() => void) | undefined;
  /** The turn whose calls have ended. */
  #endedTurn = 0;
  #onTurn: (() => void) | undefined;
  /** The answers whose calls are run, by turn. */
  readonly #answered = new Map<number, EntryOf<"answered">>();
  /** The calls that the record has answered: one that was stopped, and those beside it. */
  readonly #fromRecord = new Set<string>();

  constructor(source: RunSource, opened: OpenedSource, world: World, evaluate: EvaluateAgain) {
    super(source, opened, world);
    this.#world = world;
    this.#evaluate = evaluate;
    this.#recorded = new RecordedCalls(opened.entries);
    this.#queues = queuesOf(opened.entries);
    this.#now = opened.entries[0]?.at ?? 0;
    this.#decisions = new Decisions(source.id, opened.suspended ?? [], () => this.#now);
  }

  /** Runs the calls of a turn that the replay has come to. Resolves when they have ended, or something differs. */
  async callsOf(turn: number): Promise<void> {
    this.#reached = turn;
    if (this.#evaluation === undefined) {
      const settled = (): void => {
        this.#isOver = true;
        this.#onTurn?.();
      };
      this.#evaluation = this.#evaluate(this);
      this.#evaluation.then(settled, settled);
    }
    this.#wake?.();
    while (this.#endedTurn < turn && !this.#isOver && this.#found === undefined) {
      await new Promise<void>((resolve) => (this.#onTurn = resolve));
    }
  }

  /** Where a call is not as it was; undefined: nowhere, or the record has no end of it. */
  differenceOf(turn: number, callId: string): Difference | undefined {
    if (this.#found?.turn === turn && this.#found.callId === callId) return this.#found.difference;
    const key = `${turn} ${callId}`;
    const recorded = this.#recorded.get(turn, callId);
    const end = this.#ended.get(key);
    if (recorded === undefined || this.#fromRecord.has(key) || this.#isAnswered(turn, [callId])) return undefined;
    const dispatched = this.#dispatched.get(key) ?? [];
    if (end !== undefined) return this.#recorded.difference(recorded, { end, dispatched });
    // Calls do not run after a difference.
    if (this.#found !== undefined) return undefined;
    return { what: "call", path: recorded.end.name, recorded: recorded.end.result, now: undefined };
  }

  /** Ends the evaluation, and waits until what it had opened is closed. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#ending.abort();
    this.#wake?.();
    await this.#evaluation?.catch(() => {});
  }

  /** Why the evaluation could not begin; undefined: it could. */
  failure: EvaluationFailure | undefined;

  setup<S extends { readonly world: World }>(setup: S): S {
    const { random, newId } = this.#world;
    const world: World = {
      ...this.hiding(setup.world),
      logger: undefined,
      observers: undefined,
      clock: { now: () => this.#now, sleep: setup.world.clock.sleep.bind(setup.world.clock) },
      random: () => (taken(this.#queues.numbers) as number | undefined) ?? random(),
      newId: () => (taken(this.#queues.texts) as string | undefined) ?? newId(),
    };
    return { ...setup, world };
  }

  openSession({ policies }: EvaluateOptions, prompt: Prompt): SessionCore {
    const of = { mode: "run", runId: this.runId, newId: this.#world.newId } as const;
    return recordedSession(this.opened.entries[0], { policies }, prompt, of).core;
  }

  begin(run: Run): void {
    if (run.nesting !== undefined) return;
    const history = lastGiven(this.opened.entries)?.history;
    if (history !== undefined) recallHistory(run, history);
    refuseAgain(run, this.opened.entries, (turn, callId) => this.#recorded.get(turn, callId)?.refusal);
  }

  options({ resources, policies, overrides, context, signal: given }: EvaluateOptions): EvaluateOptions {
    const loop = lastGiven(this.opened.entries)?.options;
    const signal = AbortSignal.any([this.#ending.signal, ...(given === undefined ? [] : [given])]);
    return { resources, policies, overrides, context, ...loop, signal };
  }

  number(run: NumberingRun, filled: object): NumberedEvent | undefined {
    const event = filled as UnnumberedEvent & { at: number };
    event.at = this.#now;
    const numbered = run.core.number(event);
    if (run.isInside) this.inside.emitted(run, numbered);
    if (numbered.type === "tool.invoked" && !run.isInside) this.#invoked(numbered);
    return { event: numbered, isEmitted: true };
  }

  #invoked(event: ToolInvoked): void {
    const { turn, callId } = event;
    const recorded = this.#recorded.get(turn, callId);
    const key = `${turn} ${callId}`;
    // The failure of a refused call follows from its refusal.
    if (this.#ended.has(key)) return;
    this.#ended.set(key, toJsonValue(event)?.value as ToolInvoked);
    if (recorded === undefined || this.#found !== undefined) return;
    // What it dispatched is compared when the replay comes to it.
    const of = { end: this.#ended.get(key), dispatched: recorded.dispatched };
    const difference = this.#recorded.difference(recorded, of);
    if (difference !== undefined) this.#differs({ turn, callId, difference });
  }
  #differs(found: CallDifference): void {
    this.#found ??= found;
    this.#onTurn?.();
  }

  dispatched(run: Run, { event, callId }: PendingEvent): boolean {
    // Events of an attempt count once more when that does.
    if (this.#counted.has(event)) return true;
    this.#counted.add(event);
    addTo(this.#dispatched, `${run.turn} ${callId}`, toJsonValue(run.redact(event))?.value);
    return true;
  }

  async answer(run: Run, { request }: RecordedRequest): Promise<ModelResponse | ModelFailure> {
    this.#assertGoesOn();
    if (run.isInside) return this.#answerInside(run, request);
    const answered = this.#queues.lifts.answered(run, taken(this.#queues.answers.get(run.evaluationId) ?? []));
    if (run.nesting === undefined) this.#endedTurn = run.turn - 1;
    this.#onTurn?.();
    // The record ends here.
    if (answered === undefined) throw this.#over();
    this.#now = Math.max(this.#now, answered.at);
    const { answer } = answered;
    if (run.nesting === undefined && answer.failure === undefined && answer.message.toolCalls.length > 0) {
      this.#answered.set(run.turn, answered);
      while (this.#reached < run.turn && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#assertGoesOn();
    }
    return answerAgain(run, answer);
  }

  async #answerInside(run: Run, request: RecordedRequest["request"]): Promise<ModelResponse | ModelFailure> {
    const answered = this.#queues.lifts.answered(run, await this.inside.next(run, request));
    this.#assertGoesOn();
    if (answered !== undefined) return answerAgain(run, answered.answer);
    if (run.limits.signal.aborted) throw this.#over();
    this.#differs(unrecordedRequest(run, request));
    throw this.#over();
  }

  /** A refused request is made again where the record has an answer to it. */
  delay(run: Run): number | undefined {
    const turn = this.#queues.answers.get(run.evaluationId)?.at(-1)?.turn;
    return (run.isInside ? this.inside.isAskedAgain(run) : turn === run.turn) ? 0 : undefined;
  }

  lifts(run: Run): boolean {
    return this.#queues.lifts.has(run);
  }

  async checked(): Promise<string | undefined> {
    return taken(this.#queues.checked)?.missing;
  }

  calls(run: Run, calls: readonly ToolCall[]): Promise<KeptCalls | undefined> | undefined {
    if (run.isInside) return this.inside.beginning(run, calls);
    const ids = calls.map(({ id }) => id);
    const answered = this.#isAnswered(run.turn, ids) ? this.#answered.get(run.turn) : undefined;
    if (answered === undefined) return undefined;
    for (const id of ids) this.#fromRecord.add(`${run.turn} ${id}`);
    return recordedCalls(run, calls, { entries: this.opened.entries, answered });
  }

  /** Whether calls are answered from the record: their arguments were hidden, or a limit was met before one of them ended. */
  #isAnswered(turn: number, callIds: readonly string[]): boolean {
    const isHidden = this.#answered.get(turn)?.isRedacted === true;
    return isHidden || callIds.some((callId) => this.#recorded.get(turn, callId)?.isStopped === true);
  }

  handler<Invocation>(run: Run, parts: HandlerParts<Invocation>): Invocation | Promise<Invocation> {
    if (this.#found !== undefined || this.#isOver) return parts.thrown(this.#over());
    const recorded = run.isInside ? undefined : this.#recorded.get(run.turn, parts.call.id);
    if (recorded === undefined && !run.isInside) return parts.thrown(this.#over());
    this.#now = Math.max(this.#now, recorded?.at ?? 0);
    if (recorded !== undefined) run.maxDepth = recorded.maxDepth ?? defaultMaxDepth;
    const given = this.#decisions.result(run, parts.call, false);
    if (given !== undefined) return parts.checked(given);
    if (recorded?.isUnknown !== true) return this.inside.ended(run, parts.call.id, parts.execute());
    const { result } = recorded.end;
    return result.success ? parts.checked(result.value) : parts.refused(result.message);
  }

  feedback(run: Run, { id }: ToolCall, message: ToolMessage): ToolMessage | undefined {
    return run.isInside ? undefined : givenAgain(run, message, this.#recorded.feedbackOn(run.turn, id));
  }

  /** The kept calls of a fork have the keys of its origin. */
  keyOf(run: Run, { id }: ToolCall): string | undefined {
    return this.#recorded.keyOf(run.turn, id);
  }

  decided(run: Run, question: PolicyQuestion): PolicyDecision | undefined {
    // A decision that came too late is one of the time when the run went on.
    this.#now = Math.max(this.#now, this.#recorded.get(run.turn, question.call.id)?.at ?? this.#now);
    return this.#decisions.decided(run, question, false);
  }

  suspend(run: Run, { call }: PolicyQuestion, { question }: Suspension): void {
    if (!canWait(run)) return;
    const recorded = run.isInside ? undefined : this.#recorded.get(run.turn, call.id);
    if (recorded !== undefined) {
      const path = `${recorded.end.name}: a decision`;
      const difference: Difference = { what: "call", path, recorded: recorded.end.result, now: question };
      this.#differs({ turn: run.turn, callId: call.id, difference });
    }
    throw this.#over();
  }

  async notBegun(error: EvaluationFailure): Promise<EvaluationFailure> {
    this.failure = error;
    return error;
  }

  /** @throws where nothing runs any more. */
  #assertGoesOn(): void {
    if (this.#found !== undefined || this.#isOver) throw this.#over();
  }

  #over(): TapeFault {
    return new TapeFault("diverged", `The run "${this.runId}" is not run again from here on.`);
  }
}
