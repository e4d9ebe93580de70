/** What is made of the texts of a model that are tried for the work that they cause. */
import { definePrompt, defineTool, type ModelProvider, type Schema, type Tool } from "@proviso/core";
import { z } from "zod";

export const promptOf = (...tools: readonly Tool[]) =>
  definePrompt({ ns: "growth", key: "tools", sections: [{ key: "s", text: "Work.", tools }] }).bind({});

export const takes = (input: Schema<unknown, object>): Tool =>
  defineTool({ name: "take", description: "Takes it.", input, execute: () => 1 }) as Tool;

export const answer = definePrompt({
  ns: "growth",
  key: "answer",
  output: z.object({ a: z.number() }),
  text: "Answer.",
});
interface Node {
  readonly op?: string | undefined;
  readonly of?: Node | undefined;
}
/** Both branches are read at each level. */
export const node: z.ZodType<Node> = z.lazy(() =>
  z.union([
    z.object({ op: z.string().optional(), of: node.optional() }),
    z.object({ fn: z.string().optional(), of: node.optional() }),
  ]),
);
export const nested = (depth: number): Node => (depth === 0 ? {} : { op: "x", of: nested(depth - 1) });

/** The model tells its text in pieces of so many characters, each after the other, as a network would bring them. */
export function inPieces(model: ModelProvider, size: number): ModelProvider {
  return {
    ...model,
    async generate(request) {
      const { onDelta, ...unheard } = request;
      const response = await model.generate(unheard);
      const text = "failure" in response ? "" : response.message.text;
      for (let at = 0; at < text.length && onDelta !== undefined; at += size) {
        await new Promise((resolve) => setImmediate(resolve));
        onDelta({ kind: "text", text: text.slice(at, at + size) });
      }
      return response;
    },
  };
}
