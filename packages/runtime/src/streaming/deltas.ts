// 1. What an attempt tells after its end is not heard.
// 2. The deltas since the last reset are what the turn's text begins with; once it is complete they are all of it. What
//    may become a secret is held back, so that the deltas add up to the text as other events show it.
import type { ModelDelta } from "@proviso/core/provider";
import type { Run } from "../run.ts";
import { partialOutput, type PartialReader } from "./partial-output.ts";

/** The deltas of one turn, attempt after attempt. */
export interface TurnDeltas {
  /** A new attempt: what was told of an earlier one is taken back. */
  begin(): (delta: ModelDelta) => void;
  /** The attempt is over; the text that it told. */
  end(): string;
  /** The turn's text is known. */
  complete(text: string): void;
}

export function turnDeltas(run: Run): TurnDeltas {
  const { turn } = run;
  const spec = run.rendered.output;
  const { secrets } = run.world;
  let told = "";
  let isShown = false;
  let attempts = 0;
  let current = 0;
  let pieces = secrets?.pieces();
  let partial: PartialReader | undefined;

  const show = (text: string): void => {
    if (text === "") return;
    isShown = true;
    run.emit({ type: "text.delta", turn, text });
  };
  const tell = (text: string): void => {
    told += text;
    show(pieces === undefined ? text : pieces.add(text));
    if (spec === undefined) return;
    partial ??= partialOutput(spec, (unfinished) => secrets?.pieces().add(unfinished) ?? unfinished);
    showOutput(partial.read(told));
  };
  const showOutput = (read: ReturnType<PartialReader["read"]>): void => {
    if (read === undefined) return;
    isShown = true;
    run.emit({ type: "output.delta", turn, partial: read.value as never });
  };
  const takeBack = (): void => {
    told = "";
    partial = undefined;
    pieces = secrets?.pieces();
    if (isShown) run.emit({ type: "text.reset", turn });
    isShown = false;
  };
  return {
    begin() {
      takeBack();
      const attempt = ++attempts;
      current = attempt;
      return (delta) => {
        const text = textOf(delta);
        if (attempt === current && text !== "") tell(text);
      };
    },
    end() {
      current = 0;
      return told;
    },
    complete(text) {
      // A provider may have told nothing of its text, only a part, or something else.
      if (!text.startsWith(told)) takeBack();
      if (told.length < text.length) tell(text.slice(told.length));
      if (pieces !== undefined) show(pieces.end());
      if (partial !== undefined) showOutput(partial.finish(told));
    },
  };
}

/** "" for a delta of another kind, or one without a text. */
export function textOf({ kind, text }: ModelDelta): string {
  return kind === "text" && typeof text === "string" ? text : "";
}
