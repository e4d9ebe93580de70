// 1. What an attempt emits after its end is dropped.
// 2. The deltas since the last reset are what the turn's text begins with; once it is complete they are all of it. What
//    may become a secret is held back, so that the deltas add up to the text as other events show it. The same holds for
//    the model's thoughts, which are never part of the text. Where a secret becomes known that was shown, all is taken
//    back and shown without it.
// 3. What an attempt streams is bounded: the delta that passes the bound throws, which ends the provider's reading.
import type { AssistantMessage, ModelFailure } from "@proviso/core";
import type { OutputSpec } from "@proviso/core/internal";
import type { ModelDelta } from "@proviso/core/provider";
import type { Run } from "../run.ts";
import type { Secrets } from "../secrets.ts";
import { partialOutput, type PartialReader } from "./partial-output.ts";
import { ShownText } from "./shown-text.ts";

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
  let { secrets } = run.world;
  const output = run.rendered.output && outputReader(run.rendered.output, () => run.world.secrets);
  const bound = new AnswerBound();
  let isShown = false;
  let [attempts, current] = [0, 0];
  const show = (event: Parameters<Run["publish"]>[0]): void => {
    isShown = true;
    run.publish(event);
  };
  const answer = new ShownText(secrets, (text) => show({ type: "text.delta", turn, text }));
  const thoughts = new ShownText(secrets, (text) => show({ type: "reasoning.delta", turn, text }));

  const add = (text: string): void => {
    if (!answer.add(text)) revise();
    showOutput(output?.read(before + answer.received));
  };
  const showOutput = (read: ReturnType<PartialReader["read"]>): void => {
    if (read !== undefined) show({ type: "output.delta", turn, partial: read.value as never });
  };
  const hideAll = (): void => {
    output?.reset();
    if (isShown) run.publish({ type: "text.reset", turn });
    isShown = false;
  };
  const takeBack = (): void => {
    answer.reset();
    thoughts.reset();
    bound.reset();
    hideAll();
  };
  const revise = (): void => {
    hideAll();
    thoughts.showAgain();
    answer.showAgain();
  };
  /** An evaluation inside a call of this turn may have brought secrets of its own. */
  const learn = (): void => {
    if (run.world.secrets === secrets) return;
    ({ secrets } = run.world);
    const isRight = thoughts.learn(secrets);
    if (!answer.learn(secrets) || !isRight) revise();
  };
  const take = (delta: ModelDelta): void => {
    learn();
    if (delta.kind === "reset") takeBack();
    else {
      const text = textOf(delta);
      bound.add(text);
      if (delta.kind === "text") add(text);
      else if (!thoughts.add(text)) revise();
    }
  };
  return {
    begin() {
      takeBack();
      const attempt = (current = ++attempts);
      return (delta) => {
        if (attempt === current && (delta.kind === "reset" || textOf(delta) !== "")) take(delta);
      };
    },
    end() {
      current = 0;
      return thoughts.received + answer.received;
    },
    fault: () => bound.fault(),
    complete({ text, reasoning = "" }) {
      // A provider may have emitted nothing of its text, only a part, or something else.
      if (!text.startsWith(answer.received) || !reasoning.startsWith(thoughts.received)) takeBack();
      learn();
      const rest = reasoning.slice(thoughts.received.length);
      if (rest !== "" && !thoughts.add(rest)) revise();
      if (!thoughts.end()) revise();
      if (answer.received.length < text.length) add(text.slice(answer.received.length));
      if (!answer.end()) revise();
      showOutput(output?.finish(before + answer.received));
    },
  };
}

/** Reads the output while its text arrives; nothing of it is made before the first text. */
function outputReader(spec: OutputSpec<unknown>, secrets: () => Secrets | undefined) {
  let partial: PartialReader | undefined;
  return {
    read(text: string) {
      partial ??= partialOutput(spec, (unfinished) => secrets()?.pieces().add(unfinished) ?? unfinished);
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

/** "" for a delta of another kind, or one without a text. */
export function textOf(delta: ModelDelta): string {
  const isKnown = delta.kind === "text" || delta.kind === "reasoning";
  return isKnown && typeof delta.text === "string" ? delta.text : "";
}
