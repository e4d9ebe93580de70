// 1. What an attempt emits after its end is dropped.
// 2. The deltas since the last reset are what the turn's text begins with; once it is complete they are all of it. What
//    may become a secret is held back, so that the deltas add up to the text as other events show it. The same holds for
//    the model's thoughts, which are never part of the text.
import type { AssistantMessage } from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import type { Run } from "../run.ts";
import type { Secrets } from "../secrets.ts";
import { partialOutput, type PartialReader } from "./partial-output.ts";

/** The deltas of one turn, attempt after attempt. */
export interface TurnDeltas {
  /** Begins a new attempt: the text of an earlier one is taken back. */
  begin(): (delta: ModelDelta) => void;
  /** Ends the attempt and returns all that it emitted. */
  end(): string;
  /** The turn's text and thoughts are known. */
  complete(message: AssistantMessage): void;
}

export function turnDeltas(run: Run): TurnDeltas {
  const { turn } = run;
  const spec = run.rendered.output;
  const { secrets } = run.world;
  let isShown = false;
  let [attempts, current] = [0, 0];
  let partial: PartialReader | undefined;
  const stretch = (type: "text.delta" | "reasoning.delta"): Stretch =>
    new Stretch(secrets, (text) => {
      isShown = true;
      run.publish({ type, turn, text });
    });
  const answer = stretch("text.delta");
  const thoughts = stretch("reasoning.delta");

  const add = (text: string): void => {
    answer.add(text);
    if (spec === undefined) return;
    partial ??= partialOutput(spec, (unfinished) => secrets?.pieces().add(unfinished) ?? unfinished);
    showOutput(partial.read(answer.received));
  };
  const showOutput = (read: ReturnType<PartialReader["read"]>): void => {
    if (read === undefined) return;
    isShown = true;
    run.publish({ type: "output.delta", turn, partial: read.value as never });
  };
  const takeBack = (): void => {
    answer.reset();
    thoughts.reset();
    partial = undefined;
    if (isShown) run.publish({ type: "text.reset", turn });
    isShown = false;
  };
  const take = (delta: ModelDelta): void => {
    if (delta.kind === "reset") takeBack();
    else if (delta.kind === "text") add(textOf(delta));
    else thoughts.add(textOf(delta));
  };
  return {
    begin() {
      takeBack();
      const attempt = ++attempts;
      current = attempt;
      return (delta) => {
        if (attempt === current && (delta.kind === "reset" || textOf(delta) !== "")) take(delta);
      };
    },
    end() {
      current = 0;
      return thoughts.received + answer.received;
    },
    complete({ text, reasoning = "" }) {
      // A provider may have emitted nothing of its text, only a part, or something else.
      if (!text.startsWith(answer.received) || !reasoning.startsWith(thoughts.received)) takeBack();
      if (thoughts.received.length < reasoning.length) thoughts.add(reasoning.slice(thoughts.received.length));
      thoughts.end();
      if (answer.received.length < text.length) add(text.slice(answer.received.length));
      answer.end();
      if (partial !== undefined) showOutput(partial.finish(answer.received));
    },
  };
}

/** The text of an answer, or its thoughts, as far as it was received; what may become a secret is held back. */
class Stretch {
  received = "";
  readonly #secrets: Secrets | undefined;
  readonly #emit: (text: string) => void;
  #pieces: ReturnType<Secrets["pieces"]> | undefined;

  constructor(secrets: Secrets | undefined, emit: (text: string) => void) {
    this.#secrets = secrets;
    this.#emit = emit;
    this.#pieces = secrets?.pieces();
  }

  add(text: string): void {
    this.received += text;
    this.#show(this.#pieces === undefined ? text : this.#pieces.add(text));
  }

  /** Emits what was held back. */
  end(): void {
    if (this.#pieces !== undefined) this.#show(this.#pieces.end());
  }

  reset(): void {
    this.received = "";
    this.#pieces = this.#secrets?.pieces();
  }

  #show(text: string): void {
    if (text !== "") this.#emit(text);
  }
}

/** "" for a delta of another kind, or one without a text. */
export function textOf(delta: ModelDelta): string {
  const isKnown = delta.kind === "text" || delta.kind === "reasoning";
  return isKnown && typeof delta.text === "string" ? delta.text : "";
}
