// 1. What an attempt emits after its end is dropped.
// 2. The deltas since the last reset are what the turn's text begins with; once it is complete they are all of it. What
//    may become a secret is held back, so that the deltas add up to the text as other events show it.
import type { ModelDelta } from "@proviso/core/provider";
import type { Run } from "../run.ts";
import { partialOutput, type PartialReader } from "./partial-output.ts";

/** The deltas of one turn, attempt after attempt. */
export interface TurnDeltas {
  /** Begins a new attempt: the text of an earlier one is taken back. */
  begin(): (delta: ModelDelta) => void;
  /** Ends the attempt and returns the text that it emitted. */
  end(): string;
  /** The turn's text is known. */
  complete(text: string): void;
}

export function turnDeltas(run: Run): TurnDeltas {
  const { turn } = run;
  const spec = run.rendered.output;
  const { secrets } = run.world;
  let received = "";
  let isShown = false;
  let attempts = 0;
  let current = 0;
  let pieces = secrets?.pieces();
  let partial: PartialReader | undefined;

  const show = (text: string): void => {
    if (text === "") return;
    isShown = true;
    run.publish({ type: "text.delta", turn, text });
  };
  const add = (text: string): void => {
    received += text;
    show(pieces === undefined ? text : pieces.add(text));
    if (spec === undefined) return;
    partial ??= partialOutput(spec, (unfinished) => secrets?.pieces().add(unfinished) ?? unfinished);
    showOutput(partial.read(received));
  };
  const showOutput = (read: ReturnType<PartialReader["read"]>): void => {
    if (read === undefined) return;
    isShown = true;
    run.publish({ type: "output.delta", turn, partial: read.value as never });
  };
  const takeBack = (): void => {
    received = "";
    partial = undefined;
    pieces = secrets?.pieces();
    if (isShown) run.publish({ type: "text.reset", turn });
    isShown = false;
  };
  return {
    begin() {
      takeBack();
      const attempt = ++attempts;
      current = attempt;
      return (delta) => {
        const text = textOf(delta);
        if (attempt === current && text !== "") add(text);
      };
    },
    end() {
      current = 0;
      return received;
    },
    complete(text) {
      // A provider may have emitted nothing of its text, only a part, or something else.
      if (!text.startsWith(received)) takeBack();
      if (received.length < text.length) add(text.slice(received.length));
      if (pieces !== undefined) show(pieces.end());
      if (partial !== undefined) showOutput(partial.finish(received));
    },
  };
}

/** "" for a delta of another kind, or one without a text. */
export function textOf({ kind, text }: ModelDelta): string {
  return kind === "text" && typeof text === "string" ? text : "";
}
