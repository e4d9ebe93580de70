import {
  deadlineIn,
  defineTool,
  Filesystem,
  provide,
  type EvaluateOptions,
  type Prompt,
  type Tool,
} from "@proviso/core";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { answer, inPieces, nested, node, promptOf, takes } from "../src/model-texts.ts";

const search: Tool = defineTool({
  name: "search",
  description: "Finds files.",
  input: z.object({ pattern: z.string() }),
  readOnly: true,
  execute: ({ pattern }, { resources }) => resources.get(Filesystem).glob(pattern),
});
const tree = takes(z.object({ root: node }));
const list = takes(z.object({ items: z.array(z.object({ a: z.number() })) }));
const optional = takes(z.object({ items: z.array(z.object({ a: z.number().optional() })) }));
const unknownItems = JSON.stringify({ items: Array.from({ length: 60_000 }, () => ({ b: 1 })) });
const answering = answer.bind({});
const calling = (tool: Tool, given: object | string): readonly [Prompt<unknown>, ScriptedStep] => [
  promptOf(tool),
  { toolCalls: [{ name: tool.name, arguments: given }] },
];

const texts: readonly (readonly [string, Prompt<unknown>, ScriptedStep])[] = [
  ["a glob with 300 empty choices", ...calling(search, { pattern: "{,}".repeat(300) })],
  ["a glob with many alternatives and stars", ...calling(search, { pattern: "{a,b}".repeat(8) + "*?".repeat(400) })],
  ["60,000 unknown keys in place of known ones", ...calling(list, unknownItems)],
  ["60,000 unknown keys", ...calling(optional, unknownItems)],
  ["a recursive union that nests 60 deep", ...calling(tree, { root: nested(60) })],
  ["1 MiB of brackets", answering, { text: "[".repeat(1024 * 1024) }],
  ["255 brackets and a long list", answering, { text: `${"[".repeat(255)}${"1,".repeat(80_000)}` }],
  ["a list of 80,000 lists of no JSON", answering, { text: `[${"[x,".repeat(80_000)}` }],
  ["40,000 fences", answering, { text: "```json".repeat(40_000) }],
];

// Measured as time of the processor: others may keep the machine busy, and only our own work can hold the timer up.
test.each(texts)(
  "LIM-2 LIM-9 %s holds no evaluation up: it settles soon after its deadline",
  { retry: 2 },
  async (_, prompt, step) => {
    const resources = [provide(Filesystem, memoryFilesystem({ "a.txt": "", "src/b.ts": "" }))];
    const adapter = () => modelAdapter(inPieces(scriptedModel([step, { text: "{}" }]), 16_384));
    const asked = [
      (options: EvaluateOptions) => adapter().evaluate(prompt, options),
      (options: EvaluateOptions) => adapter().stream(prompt, options).response,
    ];
    for (const ask of asked) {
      const before = process.cpuUsage();
      await ask({ resources, deadline: deadlineIn(100) }).catch(() => {});
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(3_000);
    }
  },
);
