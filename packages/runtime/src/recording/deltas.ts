// The deltas of a streamed answer, as a record has them: without secrets.
import type { ModelDelta } from "@proviso/core/provider";
import { textOf } from "../streaming/deltas.ts";
import { ShownAnswer } from "../streaming/shown-text.ts";
import type { Secrets } from "../secrets.ts";
import type { EntryContent, EntryOf } from "./entries.ts";

type Delta = Extract<EntryContent, { readonly kind: "delta" }>;

/** A delta as the model or the agent gave it. */
export function deltaOf({ text, of }: EntryOf<"delta">): ModelDelta {
  return of === "reset" ? { kind: of } : { kind: of ?? "text", text };
}

/**
 * Returns what keeps a delta before it is taken. What may become a secret is held back until more has come, as it is in
 * what is streamed; what is held back at the end is in the answer. Where a secret becomes known, what is kept from then on
 * hides it, too. What comes when the evaluation is over is neither kept nor taken.
 */
export function keptDeltas(
  known: () => Secrets | undefined,
  {
    keep,
    take,
    isOver,
  }: {
    keep(delta: Pick<Delta, "text" | "of">): void;
    take(delta: ModelDelta): void;
    isOver(): boolean;
  },
): (delta: ModelDelta) => void {
  const takeBack = (): void => keep({ text: "", of: "reset" });
  const show = (of: "text" | "reasoning", text: string): void => keep(of === "text" ? { text } : { text, of });
  const kept = new ShownAnswer(known, { show, takeBack });
  return (delta) => {
    if (isOver()) return;
    if (delta.kind === "reset") {
      kept.reset();
      takeBack();
    } else {
      const text = textOf(delta);
      if (text !== "") kept.add(delta.kind, text);
    }
    take(delta);
  };
}
