// 1. First all is answered from what stands; from the first thing that is not there on, what happens is appended.
// 2. The time of a run moves with its entries: it is read from the clock when one is made, and from the entry when one is
//    taken.
// 3. After a fault nothing is emitted and nothing is appended any more.
import {
  JournalError,
  RunError,
  type AppEvent,
  type EvaluateOptions,
  type EvaluationFailure,
  type ModelFailure,
  type ModelResponse,
  type Prompt,
  type PromptOverride,
  type RunFacts,
  type ToolCall,
} from "@proviso/core";
import { frozenJson, isFrameworkEventType, messageOf, toJsonValue } from "@proviso/core/internal";
import type { World } from "../environment.ts";
import type { Failure } from "../failures.ts";
import type { Limits } from "../limits.ts";
import type { Run, Setup } from "../run.ts";
import type { SessionCore, UnnumberedEvent } from "../session/session-core.ts";
import type { Accepted, Invocation } from "../tools/invocation.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { answerFrom, recordedAnswer, RequestHashes } from "./answers.ts";
import { differenceIn } from "./compare.ts";
import type { EvaluationOutcome, HandlerParts, KeptCalls, NumberedEvent, RecordedRequest, Tape } from "./contract.ts";
import type { Difference, EntryContent, JournalEntry, OpenedSource, RecordedEvent, RunSource } from "./entries.ts";
import { divergedFault, runError, TapeFault } from "./fault.ts";
import { keptCalls, tellEntry, type Telling } from "./kept-calls.ts";
import { Prefix } from "./prefix.ts";
import { recordedSession, type RecordedSession } from "./session.ts";
import { goesOn, stepsIn } from "./standing.ts";
import { RecordedLimits, restoredFailure, savedFailure, type Asked } from "./tape-limits.ts";
import { EffectRecord } from "./effects.ts";
import { recordedHandler } from "./handler.ts";

/** Events that a record does not hold: they follow from its deltas. */
const derived = new Set(["text.delta", "text.reset", "output.delta", "reasoning.delta"]);

type Content = EntryContent;

/** What an evaluation brings to its record. */
interface TapeOptions {
  readonly options: EvaluateOptions;
  /** The id that was made for it; undefined: none was. */
  readonly evaluationId: string | undefined;
}

/** The record of one run, while it is evaluated. */
export class RecordedTape implements Tape {
  readonly runId: string;
  readonly attempt: number;
  readonly isReplay: boolean;
  readonly clock: World["clock"];
  readonly evaluationId: string;
  readonly signal: AbortSignal;
  readonly effects: EffectRecord;
  readonly #source: RunSource;
  readonly #opened: OpenedSource;
  readonly #prefix: Prefix;
  readonly #keptSteps: number;
  readonly #options: EvaluateOptions;
  readonly #random: World["random"];
  readonly #newId: World["newId"];
  readonly #hashes = new RequestHashes();
  readonly #delivering = new WeakSet<object>();
  #session: RecordedSession | undefined;
  #override: PromptOverride | undefined;
  #now: number;
  #next: number;
  /** Whether what happens is appended. */
  #isLive: boolean;
  #fault: TapeFault | undefined;
  /** A limit was met. Where that is before the end of what stands, nothing more is emitted: the record stays as it is. */
  #isStopped = false;
  #main: Run | undefined;
  #stopListening: (() => void) | undefined;

  constructor(source: RunSource, opened: OpenedSource, world: World, { options, evaluationId }: TapeOptions) {
    const begun = opened.entries[0];
    this.runId = source.id;
    this.attempt = opened.attempt;
    this.isReplay = source.mode === "replay";
    this.clock = world.clock;
    this.signal = source.signal;
    this.#source = source;
    this.#opened = opened;
    this.#options = options;
    this.#random = world.random;
    this.#newId = world.newId;
    this.#isLive = opened.entries.length === 0;
    this.#now = begun?.at ?? world.clock.now();
    this.#next = opened.next;
    this.evaluationId = begun?.evaluationId ?? evaluationId ?? world.newId();
    this.#keptSteps = source.mode === "replay" ? 0 : stepsIn(opened.entries);
    this.effects = new EffectRecord(opened.unknown, this);
    this.#prefix = new Prefix(opened.entries, {
      pass: (entry) => this.#pass(entry),
      timed: (at) => (this.#now = at),
    });
    this.#prefix.own.add(this.evaluationId);
    if (!this.#isLive) this.#prefix.at = 1;
  }

  setup<S extends Pick<Setup, "world">>(setup: S): S {
    const { world } = setup;
    const clock = { now: () => this.#now, sleep: world.clock.sleep.bind(world.clock) };
    const own: World = {
      ...world,
      clock,
      random: () => this.#drawn(this.#random),
      newId: () => this.#drawn(this.#newId),
    };
    return { ...setup, world: own };
  }

  openSession(options: EvaluateOptions, prompt: Prompt): SessionCore {
    this.#session = recordedSession(this.#opened.entries[0], options, prompt, {
      mode: this.#source.mode,
      newId: this.#newId,
      runId: this.runId,
    });
    return this.#session.core;
  }

  limits(limits: Limits): Limits {
    const record = {
      isReplay: () => this.isReplay,
      isKept: () => !this.#isLive,
      taken: (by: Asked) => {
        const entry = this.#isLive ? undefined : this.#prefix.nextStop(by);
        return entry && restoredFailure(entry.failure);
      },
      met: (by: Asked, why: Parameters<typeof savedFailure>[0]) => this.#met(by, why),
    };
    return new RecordedLimits(limits, record, this.#options.budget);
  }

  async override(resolve: () => Promise<PromptOverride | undefined>): Promise<PromptOverride | undefined> {
    const begun = this.#opened.entries[0];
    if (begun?.kind === "begun") return begun.override;
    this.#override = await resolve();
    return this.#override;
  }

  begin(run: Run): void {
    this.assertNoFault();
    this.#prefix.own.add(run.evaluationId);
    if (run.nesting !== undefined) return;
    this.#main = run;
    const { promptName, prompt, model, adapter } = run;
    const begun = this.#opened.entries[0];
    if (begun !== undefined) {
      if (begun.kind === "begun" && begun.prompt !== promptName) {
        this.#diverge({ what: "prompt", path: "prompt", recorded: begun.prompt, now: promptName });
      }
      if (this.isReplay && begun.kind === "begun" && begun.history !== undefined) {
        const { messages, question } = begun.history;
        run.conversation.replace({ messages, question });
      }
    } else {
      const { core, state, seq } = this.#session as RecordedSession;
      const hidden = run.redaction.value({
        params: toJsonValue(run.files?.params(prompt.params) ?? prompt.params)?.value ?? {},
        state,
      });
      const session = { id: core.session.id, seq, state: hidden.state };
      const override = this.#override === undefined ? {} : { override: this.#override };
      // The evaluation began when its tape was opened.
      this.#appendAt(run.evaluationId, {
        kind: "begun",
        prompt: promptName,
        params: hidden.params,
        adapter: adapter.name,
        model,
        nativeOutput: run.nativeOutput,
        options: {
          maxTurns: run.maxTurns,
          maxRepairs: run.maxRepairs,
          ...(run.toolChoice === undefined ? {} : { toolChoice: run.toolChoice }),
        },
        ...this.#history(run),
        session,
        ...override,
      });
    }
    this.#stopListening = run.core.session.on("*", (event) => {
      if (isFrameworkEventType(event.type) || this.#delivering.has(event) || !this.#isLive) return;
      // It comes when it comes: the time of the run does not move with it.
      if (this.#fault !== undefined) return;
      this.#appendAt(run.evaluationId, { kind: "dispatched", event: event as AppEvent, callId: undefined });
    });
  }

  /** The history that the evaluation was given; a replay is given none. */
  #history(run: Run): Pick<Extract<Content, { readonly kind: "begun" }>, "history"> {
    const { messages, continueFrom } = this.#options;
    if (messages === undefined && continueFrom === undefined) return {};
    const { question } = run.conversation;
    const all = run.conversation.messages();
    const { messages: shown } = run.redaction.details({ messages: all } as never) as { readonly messages: typeof all };
    return { history: question === undefined ? { messages: shown } : { messages: shown, question } };
  }

  options(given: EvaluateOptions): EvaluateOptions {
    const begun = this.#opened.entries[0];
    if (!this.isReplay || begun?.kind !== "begun") return given;
    const { maxTurns, maxRepairs, toolChoice } = begun.options;
    return { ...given, maxTurns, maxRepairs, toolChoice, messages: undefined, continueFrom: undefined };
  }

  cut(run: Run, ask: () => Failure | undefined): Failure | undefined {
    if (!this.#isLive && !run.isInside) {
      const entry = this.#prefix.nextStop("cut");
      return entry === undefined ? undefined : restoredFailure(entry.failure);
    }
    const why = ask();
    if (why !== undefined && this.#isLive && this.#fault === undefined) {
      this.append(run.evaluationId, { kind: "stopped", by: "cut", failure: savedFailure(why) });
    }
    return why;
  }

  number(run: Pick<Run, "core" | "evaluationId" | "isInside">, filled: object): NumberedEvent | undefined {
    if (this.#fault !== undefined || (this.#isStopped && !this.#isLive && !this.isReplay)) return undefined;
    const event = filled as UnnumberedEvent & { at: number };
    const isDerived = derived.has(event.type);
    if (!this.#isLive && !run.isInside) {
      if (isDerived) {
        event.at = this.#now;
        return { event: run.core.number(event), isTold: this.isReplay };
      }
      const recorded = this.#prefix.peek();
      if (recorded !== undefined) return this.#keptEvent(run, event, recorded);
      this.#goLive();
    }
    event.at = isDerived ? this.#now : this.#tick();
    const numbered = run.core.number(event);
    if (!isDerived) this.#appendAt(run.evaluationId, { kind: "event", event: numbered as RecordedEvent });
    return { event: numbered, isTold: true };
  }

  #keptEvent(run: Pick<Run, "core">, now: UnnumberedEvent & { at: number }, recorded: JournalEntry): NumberedEvent {
    if (recorded.kind !== "event") {
      this.#diverge({ what: "event", path: "type", recorded: recorded.kind, now: now.type });
    }
    const { event } = recorded;
    const { seq: _seq, sessionId: _session, at: _at, ...then } = event;
    const { at: _now, ...present } = toJsonValue(now)?.value as Readonly<Record<string, unknown>>;
    const found = differenceIn(then, present);
    if (found !== undefined) this.#diverge({ what: "event", ...found, path: `${event.type}: ${found.path}` });
    this.#prefix.take("event");
    run.core.renumber(event.seq);
    now.at = event.at;
    const isSame = event.sessionId === run.core.session.id;
    const numbered = run.core.number(now);
    return { event: isSame ? frozenJson(event) : numbered, isTold: this.isReplay };
  }

  dispatched(run: Run, event: AppEvent, callId: string): void {
    this.#delivering.add(event);
    if (this.#fault !== undefined || !this.#isLive) return;
    this.append(run.evaluationId, { kind: "dispatched", event, callId });
  }

  async answer(run: Run, of: RecordedRequest): Promise<ModelResponse | ModelFailure> {
    this.assertNoFault();
    const asked = this.#hashes.of(run, of.request);
    if (!this.#isLive && !run.isInside) {
      const kept = this.#keptAnswer(run, of, asked);
      if (kept !== undefined) return kept;
      this.#goLive();
    }
    const { evaluationId, turn } = run;
    const at = { turn, try: of.attempt };
    this.append(evaluationId, { kind: "asked", ...at, ...asked });
    const deltas = run.world.secrets === undefined ? of.onDelta : undefined;
    const answer = await of.ask(
      deltas &&
        ((delta) => {
          const text = delta.kind === "reset" ? "" : delta.text;
          const of = delta.kind === "text" ? {} : { of: delta.kind };
          this.append(evaluationId, { kind: "delta", ...at, text, ...of });
          deltas(delta);
        }),
    );
    this.assertNoFault();
    if (answer.failure === undefined && answer.generated !== undefined) {
      const why = "the model made a file, and files that a model makes cannot be recorded yet";
      this.fail(new TapeFault("journal", `The run "${this.runId}" cannot be kept: ${why}.`));
    }
    this.append(evaluationId, { kind: "answered", ...at, ...recordedAnswer(run, answer, this.#source.payloads) });
    return answer;
  }

  #keptAnswer(
    run: Run,
    { onDelta }: RecordedRequest,
    now: ReturnType<RequestHashes["of"]>,
  ): Promise<ModelResponse | ModelFailure> | undefined {
    const next = this.#prefix.peek();
    if (next === undefined) return undefined;
    const asked = this.#prefix.take("asked");
    if (asked === undefined) this.#diverge({ what: "extra", path: "", recorded: next.kind, now: "a request" });
    const found = this.#hashes.difference(asked, now);
    if (found !== undefined) this.#diverge({ what: "request", ...found });
    for (const { text, of = "text" } of this.#prefix.deltas()) {
      onDelta?.(of === "reset" ? { kind: of } : { kind: of, text });
    }
    const answered = this.#prefix.take("answered");
    if (answered !== undefined) {
      this.effects.answerIsRedacted = answered.isRedacted === true;
      return Promise.resolve(answerFrom(answered.answer));
    }
    // What ended the evaluation meanwhile is next.
    if (this.#prefix.peek()?.kind === "stopped") return new Promise(() => {});
    return this.#diverge({ what: "missing", path: "", recorded: undefined, now: `an answer in turn ${run.turn}` });
  }

  isKept(): boolean {
    return !this.#isLive && this.#prefix.peek() !== undefined;
  }

  cost(run: Run, compute: () => number | undefined): number | undefined {
    if (!this.#isLive && !run.isInside) {
      const entry = this.#prefix.peek();
      const value = entry?.kind === "drew" ? (entry.value as { readonly costUsd?: number } | undefined) : undefined;
      if (typeof value === "object" && value !== null && value.costUsd !== undefined) {
        this.#prefix.take("drew");
        return value.costUsd;
      }
      if (entry !== undefined) return undefined;
    }
    const costUsd = compute();
    if (costUsd !== undefined && this.#isLive && this.#fault === undefined) {
      this.append(run.evaluationId, { kind: "drew", value: { costUsd } });
    }
    return costUsd;
  }

  async waited(run: Run, wait: () => Promise<unknown>): Promise<unknown> {
    if (!this.#isLive && !run.isInside && this.#prefix.take("waited") !== undefined) return undefined;
    if (!this.#isLive && this.#prefix.peek()?.kind === "stopped") return new Promise(() => {});
    const ended = await wait();
    if (this.#isLive && this.#fault === undefined) this.append(run.evaluationId, { kind: "waited" });
    return ended;
  }

  async checked(run: Run, check: () => Promise<string | undefined>): Promise<string | undefined> {
    if (!this.#isLive && !run.isInside) {
      const entry = this.#prefix.take("checked");
      if (entry !== undefined) return entry.missing;
      if (this.#prefix.peek()?.kind === "stopped") return new Promise(() => {});
      this.#goLive();
    }
    const missing = await check();
    this.append(run.evaluationId, { kind: "checked", missing: run.redaction.value(missing) });
    return missing;
  }

  calls(run: Run, calls: readonly ToolCall[]): Promise<KeptCalls | undefined> | undefined {
    this.assertNoFault();
    if (run.isInside || this.#isLive) return undefined;
    if (this.#prefix.peek() === undefined) {
      this.#goLive();
      return undefined;
    }
    return this.#keptCalls(run, calls);
  }

  async #keptCalls(run: Run, calls: readonly ToolCall[]): Promise<KeptCalls | undefined> {
    const telling = this.#telling(run);
    const kept = await keptCalls(run, calls, this.#prefix, telling);
    if (typeof kept === "object" && "fault" in kept) return this.fail(new TapeFault("state", kept.fault));
    if (this.#prefix.isEmpty()) this.#goLiveUnlessEnded();
    else this.#prefix.passResumption();
    if (kept === undefined || kept.answers.includes(undefined)) {
      if (this.#prefix.peek() === undefined) this.#goLive();
      else
        this.#diverge({
          what: "call",
          path: "",
          recorded: this.#prefix.peek()?.kind,
          now: calls.map(({ name }) => name),
        });
      if (this.effects.answerIsRedacted) {
        const why = "the arguments of a call that has not run yet were hidden";
        this.fail(new TapeFault("redacted", `The run "${this.runId}" cannot go on: ${why}.`));
      }
    }
    return kept;
  }

  handler(
    run: Run,
    accepted: Accepted,
    parts: HandlerParts,
    thrown: (error: unknown) => Invocation,
  ): Invocation | Promise<Invocation> {
    return recordedHandler(this.effects, run, accepted, parts, thrown);
  }

  succeeded(run: Run, call: ToolCall, transaction: Transaction): void {
    if (!run.isInside && this.#fault === undefined) this.effects.succeeded(run, call, transaction);
  }

  committing(run: Run, transaction: Transaction): Promise<void> | undefined {
    return this.#fault === undefined ? this.effects.committing(run, transaction) : undefined;
  }

  committed(run: Run, transaction: Transaction): Promise<void> | undefined {
    return this.effects.committed(run, transaction);
  }

  facts(): RunFacts {
    return Object.freeze({ id: this.runId, attempt: this.attempt, keptSteps: this.#keptSteps });
  }

  async end(run: Run, outcome: EvaluationOutcome): Promise<EvaluationOutcome> {
    this.#stopListening?.();
    try {
      await this.#ended(run, outcome);
    } catch (error) {
      this.#fault ??= this.#faultOf(error);
    }
    await this.#source.close();
    if (this.#fault === undefined) return outcome;
    const error = runError(run, this.runId, this.#fault);
    const response = "response" in outcome ? outcome.response : undefined;
    return { error: Object.defineProperty(error, "response", { value: response, enumerable: false }) };
  }

  async #ended(run: Run, outcome: EvaluationOutcome): Promise<void> {
    if (this.#fault !== undefined) return;
    if (this.#isLive) {
      const code = "error" in outcome ? outcome.error.code : undefined;
      const isExecuted = code === undefined;
      const more = code !== undefined && goesOn(code) ? { goesOn: true } : {};
      this.append(run.evaluationId, { kind: "ended", outcome: isExecuted ? "executed" : "failed", ...more });
      await this.flushed();
      return;
    }
    if (this.#isStopped && !this.isReplay) return;
    const left = this.#prefix.peek();
    if (left === undefined || (!this.isReplay && "error" in outcome && goesOn(outcome.error.code))) return;
    this.#diverge({ what: "extra", path: "", recorded: left.kind, now: undefined });
  }

  async notBegun(error: EvaluationFailure): Promise<EvaluationFailure> {
    await this.#source.close().catch(() => {});
    const fault = this.#fault;
    if (fault === undefined) return error;
    const { promptName, usage, messages, toolResults } = error;
    const of = { promptName, usage, messages, toolResults, phase: "render" as const, cause: fault.cause };
    return new RunError(fault.message, {
      ...of,
      reason: fault.reason,
      runId: this.runId,
      divergence: fault.divergence,
    });
  }

  /** @throws {TapeFault} for a record that cannot be gone on with. */
  assertNoFault(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** Appends what happens now. */
  append(evaluationId: string, content: Content): void {
    if (this.#fault !== undefined) return;
    this.#tick();
    this.#appendAt(evaluationId, content);
  }

  #appendAt(evaluationId: string, content: Content): void {
    const base = { index: this.#next++, attempt: this.attempt, at: this.#now, evaluationId, isVoid: false };
    this.#source.append({ ...base, ...content } as JournalEntry);
  }

  /** Resolves when all that was appended is kept. @throws {TapeFault} */
  flushed(): Promise<void> | undefined {
    return this.#source.flush()?.catch((error: unknown) => this.fail(this.#faultOf(error)));
  }

  /** @throws the fault, which is the run's from now on. */
  fail(fault: TapeFault): never {
    this.#fault ??= fault;
    throw this.#fault;
  }

  #faultOf(error: unknown): TapeFault {
    if (error instanceof TapeFault) return error;
    const cause = error instanceof JournalError ? error : undefined;
    const reason = cause?.reason === "fenced" ? "fenced" : "journal";
    const message =
      reason === "fenced"
        ? `The run "${this.runId}" was taken over by another process.`
        : `The run "${this.runId}" cannot be kept: ${messageOf(error)}`;
    return new TapeFault(reason, message, { cause });
  }

  #diverge(difference: Difference): never {
    const step = stepsIn(this.#prefix.entries.slice(0, this.#prefix.at));
    return this.fail(divergedFault(this.runId, { step, evaluationId: this.evaluationId, ...difference }));
  }

  /** What is not in the record happens now. */
  #goLive(): void {
    this.assertNoFault();
    if (this.#isLive) return;
    if (this.isReplay || this.#opened.isEnded) {
      this.#diverge({ what: "missing", path: "", recorded: undefined, now: "more than was recorded" });
    }
    this.#isLive = true;
    this.#session?.core.renumber(Math.max(this.#opened.lastSeq + 1, this.#session.core.nextSeq));
    if (this.#source.mode === "fork") return;
    const unknown = this.#opened.unknown.map(({ callId, name }) => ({ callId, name }));
    const { runId, attempt } = this;
    this.#main?.emit({ type: "run.resumed", runId, attempt, keptSteps: this.#keptSteps, unknown });
  }

  /** Goes on at once where the calls were the last step that stands: the time of the next turn is not that of the record. */
  #goLiveUnlessEnded(): void {
    if (!this.isReplay && !this.#opened.isEnded) this.#goLive();
  }

  #tick(): number {
    return (this.#now = Math.max(this.#now, this.clock.now()));
  }

  #drawn<T>(draw: () => T): T {
    if (this.#isLive) {
      const value = draw();
      this.append(this.evaluationId, { kind: "drew", value });
      return value;
    }
    const entry = this.#prefix.take("drew");
    if (entry !== undefined) return entry.value as T;
    this.#goLive();
    return this.#drawn(draw);
  }

  #met(by: Asked, why: Parameters<typeof savedFailure>[0]): void {
    if (this.#fault !== undefined || this.#main === undefined || this.#isStopped) return;
    this.#isStopped = true;
    if (this.#isLive) this.append(this.evaluationId, { kind: "stopped", by, failure: savedFailure(why) });
  }

  /** Takes an entry that the evaluation does not come to itself. */
  #pass(entry: JournalEntry): void {
    const run = this.#main;
    if (run !== undefined) tellEntry(entry, this.#telling(run));
  }

  #telling(run: Run): Telling {
    return { run, isTold: this.isReplay, delivering: this.#delivering, timed: (at) => (this.#now = at) };
  }
}
