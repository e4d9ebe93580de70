// What comes from outside of a recorded evaluation: answers of the model, ends of waits, texts of checkers, prices.
import type { ModelFailure, ModelResponse, ReportedUsage, ToolCall, Usage } from "@proviso/core";
import { addUsage, countUsage, noUsage } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import type { Attempts } from "../attempts.ts";
import { AnsweredEntry } from "./answered-entry.ts";
import { answerAgain, queuedAnswer, recordedAnswer, storedAnswer } from "./answers.ts";
import { AskedEntry, RequestHashes, type NewInRequest } from "./asked.ts";
import { hasAttempts, KeptAttempts } from "./attempts.ts";
import type { AgentTurn, RecordedRequest, UsageEstimate } from "./contract.ts";
import { lastGiven } from "./begun.ts";
import { deltaOf, keptDeltas } from "./deltas.ts";
import { EffectRecord } from "./effects.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";
import { isLift } from "./lifts.ts";
import { assertMayBegin, keptTurn, producedIn, stoppedTurn } from "./kept-turn.ts";
import { TapeEvents } from "./tape-events.ts";
import { drawnNumbers, type DrawnNumbers } from "./unanswered.ts";

type Answer = ModelResponse | ModelFailure;

export class TapeAnswers extends TapeEvents {
  /** Whether the answer whose calls are run now had arguments that were hidden. */
  answerIsRedacted = false;
  /** The turn of an agent that was asked for last; undefined: a model was asked. */
  protected turn: AgentTurn | undefined;
  /** What the calls of the run did outside its record. */
  readonly effects = new EffectRecord(this.opened.unknown, this);
  /** Takes the deltas of that turn; undefined: it is not streamed. */
  protected onDelta: RecordedRequest["onDelta"];
  readonly #hashes = new RequestHashes();
  /** The entries that say what it was given, and by which adapter it was answered. */
  readonly #given = this.opened.entries.filter(({ kind }) => kind === "begun" || kind === "given");
  /** Whether the cost of a request without an answer is computed, which is kept as a whole. */
  #isUnanswered = false;
  /** The last answer of a model that came from the record. */
  #lastAnswer: ModelResponse | undefined;

  /** No async function: each of its waits would be a promise more for every request. */
  answer(run: Run, of: RecordedRequest): Promise<ModelResponse | ModelFailure> {
    try {
      return this.#answer(run, of);
    } catch (fault) {
      return Promise.reject(fault);
    }
  }

  #answer(run: Run, of: RecordedRequest): Promise<ModelResponse | ModelFailure> {
    this.assertNoFault();
    const asked = this.#hashes.of(run, of.request);
    if (!run.isInside) {
      this.turn = of.turn;
      this.onDelta = of.onDelta;
    }
    if (!this.isLive && !run.isInside) {
      const kept = this.#keptAnswer(run, of, asked);
      if (kept !== undefined) return kept;
      this.goLive();
    }
    if (of.turn !== undefined && !run.isInside) this.#beginTurn(run);
    const failing = this.hasFailed ? this.flushed() : undefined;
    return failing === undefined ? this.#ask(run, of, asked) : failing.then(() => this.#ask(run, of, asked));
  }

  #ask(run: Run, of: RecordedRequest, asked: NewInRequest): Promise<ModelResponse | ModelFailure> {
    if (!run.isInside) {
      this.answerIsRedacted = false;
      this.#lastAnswer = undefined;
    }
    const { evaluationId, turn } = run;
    const { attempt } = of;
    const key = run.isInside && of.request !== undefined ? this.#hashes.key(run)?.whole : undefined;
    // What was compared with nothing is compared from here on.
    const isFirstAdopted = this.differs && !run.isInside;
    const shown = isFirstAdopted ? this.#hashes.whole(run, of.request) : asked;
    this.append(evaluationId, new AskedEntry({ turn, attempt, isAgent: of.turn !== undefined, key }, shown));
    if (isFirstAdopted) this.differs = false;
    const known = key === undefined ? undefined : this.opened.inside?.get(key);
    if (known !== undefined) {
      this.append(evaluationId, { kind: "answered", turn, try: attempt, answer: known.answer });
      return Promise.resolve(answerAgain(run, known.answer));
    }
    // An answer inside a call is written before the next one is asked for: a crash then costs one request, not two.
    if (this.hasUnwrittenAnswer) void this.flushed()?.catch(() => {});
    const asking = of.ask(of.onDelta && this.#keptDeltas(run, attempt, of.onDelta));
    const { turn: work } = of;
    if (work === undefined) return asking.then((answer) => this.#answered(run, of, answer));
    // The calls of an agent are in the record before its answer.
    return asking.then((answer) => work.idle(answer).then(() => this.#answered(run, of, answer)));
  }

  #keptDeltas(run: Run, attempt: number, take: NonNullable<RecordedRequest["onDelta"]>): RecordedRequest["onDelta"] {
    const { evaluationId, turn } = run;
    const keep = (delta: { readonly text: string; readonly of?: "reasoning" | "reset" }): void =>
      this.append(evaluationId, { kind: "delta", turn, try: attempt, ...delta });
    return keptDeltas(() => run.world.secrets, { keep, take, isOver: () => this.#isOver(run) });
  }

  #answered(run: Run, of: RecordedRequest, answer: Answer): Answer | Promise<Answer> {
    this.assertNoFault();
    // What has ended the evaluation counts, and not what came after it.
    if (of.turn?.isStopped() === true || this.#isOver(run)) return answer;
    // The record has references, and no bytes.
    if (answer.failure === undefined && answer.generated !== undefined) {
      return storedAnswer(run, answer).then((stored) => this.#keepAnswer(run, of, stored));
    }
    return this.#keepAnswer(run, of, answer);
  }

  #keepAnswer(run: Run, of: RecordedRequest, answer: Answer): Answer {
    const { answer: recorded, isRedacted } = recordedAnswer(run, queuedAnswer(answer, of), this.source.payloads);
    const entry = new AnsweredEntry(run.turn, of.attempt, recorded, isRedacted, producedIn(of.turn, answer));
    this.append(run.evaluationId, entry);
    if (run.isInside) this.hasUnwrittenAnswer = true;
    return answer;
  }

  /** Whether a limit has ended the evaluation: what comes after it is in no record. */
  #isOver({ isInside }: Run): boolean {
    return this.isStopped && !isInside;
  }

  called(run: Run, { id, name, arguments: given }: ToolCall, produced: number): void {
    if (!this.isLive) return;
    const call = run.redaction.value({ id, name, arguments: given });
    this.append(run.evaluationId, { kind: "called", turn: run.turn, call, ...(produced === 0 ? {} : { produced }) });
  }

  get isInTurn(): boolean {
    return this.turn !== undefined;
  }

  #beginTurn(run: Run): void {
    this.effects.staysOfTurn = false;
    try {
      assertMayBegin(this.runId, run, this.opened.lost ?? []);
    } catch (fault) {
      this.fail(this.faultOf(fault));
    }
  }

  #keptAnswer(
    run: Run,
    { onDelta, request, turn }: RecordedRequest,
    given: NewInRequest,
  ): Promise<ModelResponse | ModelFailure> | undefined {
    const next = this.prefix.peek();
    if (next === undefined) return undefined;
    const asked = this.prefix.take("asked");
    if (asked === undefined) this.diverge({ what: "extra", path: "", recorded: next.kind, now: "a request" });
    if ((asked.isAgent === true) !== (turn !== undefined)) {
      const who = (isAgent: boolean): string => (isAgent ? "an agent" : "a model");
      const [recorded, now] = [who(asked.isAgent === true), who(turn !== undefined)];
      this.diverge({ what: "request", path: "adapter", recorded, now });
    }
    if (turn !== undefined) {
      return keptTurn(this, run, { onDelta }, turn).then((end) =>
        // The race around it makes a limit of this.
        end === stoppedTurn ? (end as never) : this.#answerFrom(run, end),
      );
    }
    let found = this.#hashes.difference(asked, given.now());
    // A request that was compared with nothing was kept as a whole.
    if (found !== undefined && asked.same === 0) {
      found = this.#hashes.difference(asked, this.#hashes.whole(run, request).now());
    }
    if (found !== undefined) this.differ(asked, { what: "request", ...found });
    for (const delta of this.prefix.deltas()) onDelta?.(deltaOf(delta));
    const answered = this.prefix.take("answered");
    if (answered !== undefined) {
      this.answerIsRedacted = answered.isRedacted === true;
      return this.#answerFrom(run, answered);
    }
    // What ended the evaluation meanwhile is next.
    if (this.prefix.peek()?.kind === "stopped") return new Promise(() => {});
    return this.diverge({ what: "missing", path: "", recorded: undefined, now: `an answer in turn ${run.turn}` });
  }

  get hasAttempts(): boolean {
    return hasAttempts(this.opened.entries);
  }

  attempts(given: Attempts): Attempts {
    const kept = (): JournalEntry | undefined => (this.isLive ? undefined : this.prefix.peek());
    const lastAnswer = (): ModelResponse | undefined => this.#lastAnswer;
    return new KeptAttempts(given, kept, lastAnswer);
  }

  beginAttempt(run: Run): void {
    if (!this.isLive && this.prefix.take("attempt") !== undefined) return;
    this.goLive();
    this.append(run.evaluationId, { kind: "attempt" });
  }

  /** What a service keeps for itself in an answer is of no use to another one. */
  async #answerFrom(run: Run, entry: EntryOf<"answered">): Promise<ModelResponse | ModelFailure> {
    const answer = await answerAgain(run, entry.answer);
    if (answer.failure === undefined) this.#lastAnswer = answer;
    if (answer.failure !== undefined || !this.isAdopted(entry)) return answer;
    if (lastGiven(this.#given.filter(({ index }) => index < entry.index))?.adapter === run.adapter.name) return answer;
    const { providerItems: _items, ...message } = answer.message;
    return { ...answer, message };
  }

  refusal(): string | undefined {
    const event = this.prefix.nextEvent();
    if (event?.type !== "prompt.failed" || event.code !== "provider" || event.phase !== "request") return undefined;
    return event.message;
  }

  isKept(): boolean {
    return !this.isLive && this.prefix.peek() !== undefined;
  }

  cost(run: Run, compute: () => number | undefined): number | undefined {
    if (!this.isLive && !run.isInside) {
      const { answeredAt } = drawnNumbers(this.prefix.peek()) ?? {};
      const kept = this.#taken("costUsd");
      if (answeredAt !== undefined) this.now = answeredAt;
      if (kept !== undefined || this.prefix.peek() !== undefined) return kept;
    }
    const costUsd = compute();
    if (costUsd === undefined || this.fault !== undefined || this.#isUnanswered) return costUsd;
    if (this.isLive) this.append(run.evaluationId, { kind: "drew", value: { costUsd } });
    // The answer was the last that stands: what it costs is kept with what comes next.
    else this.costUsd = costUsd;
    return costUsd;
  }

  estimate(run: Run, reported: ReportedUsage | undefined, estimate: UsageEstimate): UsageEstimate {
    if (run.isInside) return estimate;
    if (!this.isLive) return this.#taken("estimate") ?? estimate;
    // An estimate depends on what is hidden, on files and, where there is a budget, on what earlier turns taught.
    const isNeeded = countUsage(reported, noUsage).estimated;
    if (!isNeeded || this.fault !== undefined || this.#isUnanswered) return estimate;
    const { inputTokens, outputTokens } = estimate;
    this.append(run.evaluationId, { kind: "drew", value: { estimate: { inputTokens, outputTokens } } });
    return { inputTokens, outputTokens };
  }

  tries(): Usage | undefined {
    return this.isLive ? undefined : this.#taken("tries");
  }

  unanswered(run: Run, spend: () => Usage): Usage {
    if (!this.isLive && !run.isInside) {
      const kept = this.#taken("unanswered");
      // Older records have the parts of which it is made.
      if (kept === undefined) return spend();
      run.usage = addUsage(run.usage, kept);
      return kept;
    }
    this.#isUnanswered = true;
    const usage = spend();
    this.#isUnanswered = false;
    if (usage !== noUsage) this.append(run.evaluationId, { kind: "drew", value: { unanswered: usage } });
    return usage;
  }

  /** Takes a number, or several, that was kept under this name, where it is next. */
  #taken<Name extends keyof DrawnNumbers>(name: Name): DrawnNumbers[Name] | undefined {
    const drawn = drawnNumbers(this.prefix.peek())?.[name];
    if (drawn !== undefined) this.prefix.take("drew");
    return drawn;
  }

  delay(run: Run, compute: () => number | undefined): number | undefined {
    if (!this.isKept() || run.isInside) return compute();
    const drawn = this.prefix.peek();
    if (drawn?.kind === "drew" && typeof drawn.value === "number") this.prefix.take("drew");
    const event = this.prefix.nextEvent();
    return event?.type === "provider.throttled" ? event.delayMs : compute();
  }

  lifts(run: Run, lift: () => boolean): boolean {
    return this.isKept() && !run.isInside ? isLift(this.prefix.nextEvent()) : lift();
  }

  async waited(run: Run, wait: () => Promise<unknown>): Promise<unknown> {
    if (!this.isLive && !run.isInside && this.prefix.take("waited") !== undefined) return undefined;
    if (!this.isLive && this.prefix.peek()?.kind === "stopped") return new Promise(() => {});
    const ended = await wait();
    if (this.isLive && !this.#isOver(run)) this.append(run.evaluationId, { kind: "waited" });
    return ended;
  }

  async checked(run: Run, check: () => Promise<string | undefined>): Promise<string | undefined> {
    if (!this.isLive && !run.isInside) {
      const entry = this.prefix.take("checked");
      if (entry !== undefined) return entry.missing;
      if (this.prefix.peek()?.kind === "stopped") return new Promise(() => {});
      this.goLive();
    }
    const missing = await check();
    if (!this.#isOver(run)) this.append(run.evaluationId, { kind: "checked", missing: run.redaction.value(missing) });
    return missing;
  }
}
