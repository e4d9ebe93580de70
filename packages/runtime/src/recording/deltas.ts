// The deltas of a streamed answer, as a record has them: without secrets.
import type { ModelDelta } from "@proviso/core/provider";
import { textOf } from "../streaming/deltas.ts";
import type { Secrets } from "../secrets.ts";
import type { EntryContent, EntryOf } from "./entries.ts";

type Delta = Extract<EntryContent, { readonly kind: "delta" }>;

/** A delta as the model or the agent gave it. */
export function deltaOf({ text, of }: EntryOf<"delta">): ModelDelta {
  return of === "reset" ? { kind: of } : { kind: of ?? "text", text };
}

/**
 * Returns what keeps a delta before it is taken. What may become a secret is held back until more has come, as it is in
 * what is streamed; what is held back at the end is in the answer.
 */
export function keptDeltas(
  secrets: Secrets | undefined,
  keep: (delta: Pick<Delta, "text" | "of">) => void,
  take: (delta: ModelDelta) => void,
): (delta: ModelDelta) => void {
  let pieces: Partial<Record<"text" | "reasoning", ReturnType<Secrets["pieces"]>>> = {};
  return (delta) => {
    if (delta.kind === "reset") {
      pieces = {};
      keep({ text: "", of: "reset" });
    } else {
      const text = textOf(delta);
      const hidden = secrets === undefined ? text : (pieces[delta.kind] ??= secrets.pieces()).add(text);
      if (hidden !== "") keep(delta.kind === "text" ? { text: hidden } : { text: hidden, of: delta.kind });
    }
    take(delta);
  };
}
