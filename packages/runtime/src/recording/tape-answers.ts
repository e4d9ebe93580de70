// What comes from outside of a recorded evaluation: answers of the model, ends of waits, texts of checkers, prices.
import type { ModelFailure, ModelResponse } from "@proviso/core";
import type { Run } from "../run.ts";
import { answerFrom, AskedContent, recordedAnswer, RequestHashes, type NewInRequest } from "./answers.ts";
import type { RecordedRequest } from "./contract.ts";
import type { EntryOf } from "./entries.ts";
import { TapeFault } from "./fault.ts";
import { TapeEvents } from "./tape-events.ts";

/** An answer as a replay needs it: with all that held it back. */
function queuedAnswer(answer: ModelResponse | ModelFailure, { queuedMs = 0 }: RecordedRequest): typeof answer {
  if (answer.failure !== undefined || queuedMs === 0) return answer;
  return { ...answer, queuedMs: queuedMs + (answer.queuedMs ?? 0) };
}

export class TapeAnswers extends TapeEvents {
  /** Whether the answer whose calls are run now had arguments that were hidden. */
  answerIsRedacted = false;
  readonly #hashes = new RequestHashes();

  async answer(run: Run, of: RecordedRequest): Promise<ModelResponse | ModelFailure> {
    this.assertNoFault();
    const asked = this.#hashes.of(run, of.request);
    if (!this.isLive && !run.isInside) {
      const kept = this.#keptAnswer(run, of, asked);
      if (kept !== undefined) return kept;
      this.goLive();
    }
    if (this.hasFailed) await this.flushed();
    if (!run.isInside) this.answerIsRedacted = false;
    const { evaluationId, turn } = run;
    const { attempt } = of;
    // What was compared with nothing is compared from here on.
    const isFirstAdopted = this.differs && !run.isInside;
    const shown = isFirstAdopted ? this.#hashes.whole(run, of.request) : asked;
    this.append(evaluationId, new AskedContent(turn, attempt, shown));
    if (isFirstAdopted) this.differs = false;
    const deltas = run.world.secrets === undefined ? of.onDelta : undefined;
    const answer = await of.ask(
      deltas &&
        ((delta) => {
          const text = delta.kind === "reset" ? "" : delta.text;
          const of = delta.kind === "text" ? {} : { of: delta.kind };
          this.append(evaluationId, { kind: "delta", turn, try: attempt, text, ...of });
          deltas(delta);
        }),
    );
    this.assertNoFault();
    if (answer.failure === undefined && answer.generated !== undefined) {
      const why = "the model made a file, and files that a model makes cannot be recorded yet";
      this.fail(new TapeFault("journal", `The run "${this.runId}" cannot be kept: ${why}.`));
    }
    const recorded = recordedAnswer(run, queuedAnswer(answer, of), this.source.payloads);
    // One spread, and in front: V8 makes an object with one behind other fields many times slower.
    this.append(evaluationId, { ...recorded, kind: "answered", turn, try: attempt });
    return answer;
  }

  #keptAnswer(
    run: Run,
    { onDelta, request }: RecordedRequest,
    given: NewInRequest,
  ): Promise<ModelResponse | ModelFailure> | undefined {
    const next = this.prefix.peek();
    if (next === undefined) return undefined;
    const asked = this.prefix.take("asked");
    if (asked === undefined) this.diverge({ what: "extra", path: "", recorded: next.kind, now: "a request" });
    const isWhole = asked.same === 0 && given.same > 0;
    const now = isWhole ? this.#hashes.whole(run, request) : given;
    const found = this.#hashes.difference(asked, now.now());
    if (found !== undefined) this.differ(asked, { what: "request", ...found });
    for (const { text, of = "text" } of this.prefix.deltas()) {
      onDelta?.(of === "reset" ? { kind: of } : { kind: of, text });
    }
    const answered = this.prefix.take("answered");
    if (answered !== undefined) {
      this.answerIsRedacted = answered.isRedacted === true;
      return Promise.resolve(this.#answerFrom(run, answered));
    }
    // What ended the evaluation meanwhile is next.
    if (this.prefix.peek()?.kind === "stopped") return new Promise(() => {});
    return this.diverge({ what: "missing", path: "", recorded: undefined, now: `an answer in turn ${run.turn}` });
  }

  /** What a service keeps for itself in an answer is of no use to another one. */
  #answerFrom(run: Run, entry: EntryOf<"answered">): ModelResponse | ModelFailure {
    const answer = answerFrom(entry.answer);
    const [begun] = this.opened.entries;
    if (answer.failure !== undefined || !this.isAdopted(entry)) return answer;
    if (begun?.kind !== "begun" || begun.adapter === run.adapter.name) return answer;
    const { providerItems: _items, ...message } = answer.message;
    return { ...answer, message };
  }

  isKept(): boolean {
    return !this.isLive && this.prefix.peek() !== undefined;
  }

  cost(run: Run, compute: () => number | undefined): number | undefined {
    if (!this.isLive && !run.isInside) {
      const entry = this.prefix.peek();
      const value = entry?.kind === "drew" ? (entry.value as { readonly costUsd?: number } | undefined) : undefined;
      if (typeof value === "object" && value !== null && value.costUsd !== undefined) {
        this.prefix.take("drew");
        return value.costUsd;
      }
      if (entry !== undefined) return undefined;
    }
    const costUsd = compute();
    if (costUsd !== undefined && this.isLive && this.fault === undefined) {
      this.append(run.evaluationId, { kind: "drew", value: { costUsd } });
    }
    return costUsd;
  }

  delay(run: Run, compute: () => number | undefined): number | undefined {
    if (!this.isKept() || run.isInside) return compute();
    const drawn = this.prefix.peek();
    if (drawn?.kind === "drew" && typeof drawn.value === "number") this.prefix.take("drew");
    const next = this.prefix.peek();
    return next?.kind === "event" && next.event.type === "provider.throttled" ? next.event.delayMs : compute();
  }

  async waited(run: Run, wait: () => Promise<unknown>): Promise<unknown> {
    if (!this.isLive && !run.isInside && this.prefix.take("waited") !== undefined) return undefined;
    if (!this.isLive && this.prefix.peek()?.kind === "stopped") return new Promise(() => {});
    const ended = await wait();
    if (this.isLive && this.fault === undefined) this.append(run.evaluationId, { kind: "waited" });
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
    this.append(run.evaluationId, { kind: "checked", missing: run.redaction.value(missing) });
    return missing;
  }
}
