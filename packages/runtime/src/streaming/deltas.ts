// 1. What an attempt emits after its end is dropped.
// 2. The deltas since the last reset are what the turn's text begins with; once it is complete they are all of it. What
//    may become a secret is held back, so that the deltas add up to the text as other events show it. The same holds for
//    the model's thoughts, which are never part of the text. Where a secret becomes known that was shown, all is taken
//    back and shown without it.
// 3. What an attempt streams is bounded: the delta that passes the bound throws, which ends the provider's reading.
import type { AssistantMessage, ModelFailure } from "@proviso/core";
import { isRecord, type ModelDelta } from "@proviso/core/provider";
import type { Run } from "../run.ts";
import { partialOutput, type PartialReader } from "./partial-output.ts";
import { withoutLastHalf } from "../well-formed.ts";
import { ShownAnswer } from "./shown-text.ts";

/** UTF-16 units of the text and the thoughts that one attempt may stream: more than any model answers. */
const longestAnswer = 16 * 1024 * 1024;
const tooLong = `The provider streams more than ${longestAnswer} characters.`;

/** The deltas of one turn, attempt after attempt. */
export interface TurnDeltas {
  /** Begins a new attempt: the text of an earlier one is taken back. */
  begin(): (delta: ModelDelta) => void;
  /** Ends the attempt and returns all that it emitted. */
  end(): string;
  /** Why the attempt that ended last is no answer: it streamed more than is taken; undefined: it did not. */
  fault(): ModelFailure | undefined;
  /** The turn's text and thoughts are known. */
  complete(message: AssistantMessage): void;
}

/** `before` is what the output begins with: the text of an answer that its provider paused. */
export function turnDeltas(run: Run, before = ""): TurnDeltas {
  const { turn } = run;
  const output = outputReader(run);
  const bound = new AnswerBound();
  let isShown = false;
  let [attempts, current] = [0, 0];
  const show = (event: Parameters<Run["publish"]>[0]): void => {
    isShown = true;
    run.publish(event);
  };
  const hideAll = (): void => {
    output?.reset();
    if (isShown) run.publish({ type: "text.reset", turn });
    isShown = false;
  };
  const showText = (kind: Kind, text: string): void => show({ type: `${kind}.delta`, turn, text });
  const answer = new ShownAnswer(() => run.world.secrets, { show: showText, takeBack: hideAll });
  const showOutput = (read: ReturnType<PartialReader["read"]>): void => {
    if (read !== undefined) show({ type: "output.delta", turn, partial: read.value as never });
  };
  const add = (kind: Kind, text: string): void => {
    answer.add(kind, text);
    if (kind === "text") showOutput(output?.read(before + answer.received("text")));
  };
  const takeBack = (): void => {
    answer.reset();
    bound.reset();
    hideAll();
  };
  return {
    begin() {
      takeBack();
      const attempt = (current = ++attempts);
      return (delta) => {
        if (attempt !== current) return;
        if (delta.kind === "reset") return takeBack();
        const text = textOf(delta);
        if (text === "") return;
        bound.add(text);
        add(delta.kind, text);
      };
    },
    end() {
      current = 0;
      return answer.received("reasoning") + answer.received("text");
    },
    fault: () => bound.fault(),
    complete({ text, reasoning = "" }) {
      const whole = { reasoning, text };
      // A provider may have emitted nothing of its text, only a part, or something else.
      if (!kinds.every((kind) => whole[kind].startsWith(answer.received(kind)))) takeBack();
      for (const kind of kinds) {
        const rest = whole[kind].slice(answer.received(kind).length);
        if (rest !== "") add(kind, rest);
        answer.end(kind);
      }
      showOutput(output?.finish(before + answer.received("text")));
    },
  };
}

const kinds = ["reasoning", "text"] as const;
type Kind = (typeof kinds)[number];

/** Reads the output while its text arrives; nothing of it is made before the first text. undefined: there is none. */
function outputReader(run: Run) {
  const { output: spec } = run.rendered;
  let partial: PartialReader | undefined;
  if (spec === undefined) return undefined;
  return {
    read(text: string) {
      const cut = (unfinished: string): string => run.world.secrets?.pieces().add(unfinished) ?? unfinished;
      partial ??= partialOutput(spec, (unfinished) => withoutLastHalf(cut(unfinished)));
      return partial.read(text);
    },
    finish: (text: string) => partial?.finish(text),
    reset(): void {
      partial = undefined;
    },
  };
}

/** Counts what an attempt streams. */
class AnswerBound {
  #received = 0;

  /** @throws {RangeError} beyond the bound. */
  add({ length }: string): void {
    this.#received += length;
    if (this.#received > longestAnswer) throw new RangeError(tooLong);
  }

  reset(): void {
    this.#received = 0;
  }

  fault(): ModelFailure | undefined {
    if (this.#received <= longestAnswer) return undefined;
    return { failure: "provider", reason: "invalid_response", message: tooLong };
  }
}

/** What receives the deltas of a provider or an agent: anyone may have written it, and what is no delta is passed over. */
export function deltasFor(take: (delta: ModelDelta) => void): (delta: ModelDelta) => void {
  return (delta) => {
    if (isRecord(delta)) take(delta);
  };
}

/** "" for a delta of another kind, or one without a text. */
export function textOf(delta: ModelDelta): string {
  const isKnown = delta.kind === "text" || delta.kind === "reasoning";
  return isKnown && typeof delta.text === "string" ? delta.text : "";
}
