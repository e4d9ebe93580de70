import { defineEvent, definePrompt, defineSlice, defineTool, toolError, type Tool } from "@proviso/core";
import { z } from "zod";

/** A span of whichever SDK. */
interface AnySpan {
  readonly name: string;
  readonly parentSpanContext?: { readonly spanId: string } | undefined;
  spanContext(): { readonly spanId: string };
}

interface Tree {
  readonly name: string;
  readonly inside: readonly Tree[];
}

/** The spans as a tree, by the order in which they began. */
export function treeOf(spans: readonly AnySpan[], parent?: string): readonly Tree[] {
  return spans
    .filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)
    .toSorted((a, b) => spans.indexOf(a) - spans.indexOf(b))
    .map((span) => ({ name: span.name, inside: treeOf(spans, span.spanContext().spanId) }));
}

/** Names with their depth, sorted inside each parent. */
export function outline(trees: readonly Tree[], depth = 0): readonly string[] {
  return trees
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, inside }) => [`${"  ".repeat(depth)}${name}`, ...outline(inside, depth + 1)]);
}

const noted = defineEvent("noted", z.object({ text: z.string() }));
export const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
export const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({ text: z.string(), fail: z.boolean().default(false) }),
  execute({ text, fail }, { session }) {
    session.dispatch(noted({ text }));
    return fail ? toolError(`cannot note ${text}`) : text;
  },
});
export const asks = defineTool({
  name: "asks",
  description: "Asks.",
  input: z.object({}),
  execute: async (_, { evaluate }) => (await evaluate(promptOf("inner"))).output,
});

export const promptOf = (key: string, ...tools: readonly Tool[]) =>
  definePrompt({
    key,
    sections: [
      { key: "rules", text: "The rules are secret-of-prompt.", tools, slices: [notes] },
      { key: "ask", text: "Go on.", role: "user" },
    ],
  }).bind();
export const noting = (text: string, fail = false) => ({ name: "note", arguments: { text, fail } });
