import {
  deadlineIn,
  definePrompt,
  defineTool,
  Filesystem,
  provide,
  type EvaluateOptions,
  type ModelProvider,
  type Prompt,
} from "@proviso/core";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection } from "./support.ts";

interface Node {
  readonly op?: string | undefined;
  readonly fn?: string | undefined;
  readonly of?: Node | undefined;
}
const node: z.ZodType<Node> = z.lazy(() =>
  z.union([
    z.object({ op: z.string().optional(), of: node.optional() }),
    z.object({ fn: z.string().optional(), of: node.optional() }),
  ]),
);
const nested = (depth: number): Node => (depth === 0 ? {} : { op: "x", of: nested(depth - 1) });

const search = defineTool({
  name: "search",
  description: "Finds files.",
  input: z.object({ pattern: z.string() }),
  readOnly: true,
  execute: ({ pattern }, { resources }) => resources.get(Filesystem).glob(pattern),
});
const tree = defineTool({
  name: "tree",
  description: "Takes a tree.",
  input: z.object({ root: node }),
  execute: () => 1,
});
const list = defineTool({
  name: "list",
  description: "Takes a list.",
  input: z.object({ items: z.array(z.object({ a: z.number() })) }),
  execute: () => 1,
});
const optional = defineTool({
  name: "optional",
  description: "Takes a list.",
  input: z.object({ items: z.array(z.object({ a: z.number().optional() })) }),
  execute: () => 1,
});
const unknownItems = JSON.stringify({ items: Array.from({ length: 60_000 }, () => ({ b: 1 })) });
const answering = definePrompt({
  ns: "tests",
  key: "answer",
  output: z.object({ a: z.number() }),
  text: "Answer.",
}).bind({});
const tools = promptWith(search, tree, list, optional);

/** Tells its text in a few pieces, as a network would bring them. */
function inPieces(model: ModelProvider): ModelProvider {
  return {
    ...model,
    async generate(request) {
      const { onDelta: _, ...unheard } = request;
      const response = await model.generate(unheard);
      const text = "failure" in response ? "" : response.message.text;
      for (let at = 0; at < text.length && request.onDelta !== undefined; at += 16_384) {
        await new Promise((resolve) => setImmediate(resolve));
        request.onDelta({ kind: "text", text: text.slice(at, at + 16_384) });
      }
      return response;
    },
  };
}

const texts: readonly [string, Prompt<unknown>, ScriptedStep][] = [
  ["a glob with 300 empty choices", tools, { toolCalls: [call("search", { pattern: "{,}".repeat(300) })] }],
  [
    "a glob with many alternatives and stars",
    tools,
    { toolCalls: [call("search", { pattern: "{a,b}".repeat(8) + "*?".repeat(400) })] },
  ],
  ["60,000 unknown keys in place of known ones", tools, { toolCalls: [call("list", unknownItems)] }],
  ["60,000 unknown keys", tools, { toolCalls: [call("optional", unknownItems)] }],
  ["a recursive union that nests 60 deep", tools, { toolCalls: [call("tree", { root: nested(60) })] }],
  ["1 MiB of brackets", answering, { text: "[".repeat(1024 * 1024) }],
  ["255 brackets and a long list", answering, { text: `${"[".repeat(255)}${"1,".repeat(80_000)}` }],
  ["a list of 80,000 lists of no JSON", answering, { text: `[${"[x,".repeat(80_000)}` }],
  ["40,000 fences", answering, { text: "```json".repeat(40_000) }],
];

describe("text of the model", () => {
  // Measured as time of the processor: others may keep the machine busy, and only our own work can hold the timer up.
  test.each(texts)(
    "LIM-2 LIM-9 %s holds no evaluation up: it settles soon after its deadline",
    { retry: 2 },
    async (_, prompt, step) => {
      const resources = [provide(Filesystem, memoryFilesystem({ "a.txt": "", "src/b.ts": "" }))];
      const adapter = () => modelAdapter(inPieces(scriptedModel([step, { text: "{}" }])));
      const asked = [
        (options: EvaluateOptions) => adapter().evaluate(prompt, options),
        (options: EvaluateOptions) => adapter().stream(prompt, options).response,
      ];
      for (const ask of asked) {
        const before = process.cpuUsage();
        await ask({ resources, deadline: deadlineIn(100) }).catch(() => {});
        const { user, system } = process.cpuUsage(before);
        expect((user + system) / 1_000).toBeLessThan(1_000);
      }
    },
  );

  test("LIM-2 LIM-9 after a schema that took longer than the deadline nothing begins any more", async () => {
    const slow = z.object({ a: z.number() }).refine(() => {
      const until = performance.now() + 150;
      while (performance.now() < until);
      return false;
    });
    const prompt = definePrompt({ ns: "tests", key: "slow", output: slow, text: "Answer." }).bind({});
    const model = scriptedModel([{ output: { a: 1 } }, { output: { a: 1 } }]);
    const options = { maxRepairs: 1, deadline: deadlineIn(100) };
    const error = await rejection(modelAdapter(model).evaluate(prompt, options));
    expect([error["code"], model.callCount]).toEqual(["deadline", 1]);
  });
});
