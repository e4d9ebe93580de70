// Content attributes under any bound.
import { definePrompt } from "@proviso/core";
import { openTelemetry } from "@proviso/otel";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { memorySdk } from "./support.ts";
import { note, noting } from "./tree.ts";

const content =
  /^gen_ai\.(?:system_instructions|input\.messages|output\.messages|tool\.definitions|tool\.call\.(?:arguments|result)|prompt\.variable\..*)$/;
const prompt = definePrompt({
  key: "p",
  params: z.object({ who: z.string(), more: z.record(z.string(), z.unknown()) }),
  sections: [
    { key: "rules", text: 'The "rules" are 😀😀😀.', tools: [note] },
    { key: "ask", text: "Go on, {{who}}.", role: "user" },
  ],
}).bind({ who: "Ada \ud83d", more: { lists: [1, { deep: "😀\u0001\u0001" }] } });

test("OTEL-7 however small the bound is, an attribute with content is valid JSON of at most so many bytes, or left out", async () => {
  const shown = new Set<string>();
  for (let maxContentBytes = 2; maxContentBytes < 320; maxContentBytes += maxContentBytes < 90 ? 1 : 9) {
    const { providers, spans } = memorySdk();
    const observers = [openTelemetry({ ...providers, content: "spans", maxContentBytes })];
    const model = scriptedModel([
      { text: "I 😀\n", toolCalls: [noting('a "quoted" 😀'), noting("b", true), { name: "note", arguments: '{"te' }] },
      { text: "Done 😀." },
    ]);
    await modelAdapter(model, { observers }).evaluate(prompt);
    expect(spans()).toHaveLength(6);
    for (const { attributes } of spans()) {
      for (const [name, value] of Object.entries(attributes).filter(([each]) => content.test(each))) {
        shown.add(name);
        expect(
          () => JSON.parse(String(value)) as unknown,
          `${name} of ${maxContentBytes}: ${String(value)}`,
        ).not.toThrow();
        expect(Buffer.byteLength(String(value)), name).toBeLessThanOrEqual(maxContentBytes);
      }
    }
  }
  expect([...shown].toSorted()).toEqual([
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.prompt.variable.more",
    "gen_ai.prompt.variable.who",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.tool.definitions",
  ]);
});
