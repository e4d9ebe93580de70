import {
  definePrompt,
  DefinitionError,
  defineTool,
  toolError,
  toolOk,
  type Message,
  type ToolMessage,
} from "@proviso/core";
import { jsonSchemaOf } from "@proviso/core/provider";
import { agentAdapter, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const half = "\ud83d";
/** Every text and key, at every depth. */
function isWhole(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, item]) => key.isWellFormed() && isWhole(item));
}

const say = defineTool({
  name: "say",
  description: `Says ${half}.`,
  input: z.object({ text: z.string().describe(`What ${half}`) }),
  execute: ({ text }) => ({ [`key ${half}`]: `${text} ${half}` }),
});
const prompt = definePrompt({
  key: "p",
  params: z.object({ q: z.string() }),
  output: z.object({ a: z.string().describe(`An ${half}`) }),
  sections: [
    { key: "rules", title: `Rules ${half}`, text: `Be ${half}.`, tools: [say] },
    { key: "q", text: "{{q}}", role: "user" },
  ],
}).bind({ q: `What ${half}?` });
const history: readonly Message[] = [
  { role: "user", text: `Before ${half}` },
  {
    role: "assistant",
    text: half,
    toolCalls: [{ id: `c${half}`, name: "say", arguments: `{"text":"${half}"}` }],
    providerItems: [{ type: "text", [half]: { text: `x${half}` } }],
  },
  { role: "tool", callId: `c${half}`, name: "say", text: half, isError: false },
];

test("PRO-9 no half of a surrogate pair reaches a provider, from texts, params, results or histories", async () => {
  const answers = [
    { toolCalls: [{ name: "say", arguments: `{"text":"a ${half}"}` }] },
    { text: half },
    { output: { a: "b" } },
  ];
  const model = scriptedModel(answers);
  const { output } = await modelAdapter(model).evaluate(prompt, { messages: history, maxRepairs: 1 });
  expect(output).toEqual({ a: "b" });
  expect(model.callCount).toBe(3);
  for (const { messages, tools, output: spec } of model.requests) expect(isWhole([messages, tools, spec])).toBe(true);
  expect(JSON.stringify(model.requests)).toContain("\ufffd");
  // A whole pair stays.
  const whole = scriptedModel([{ text: "ok" }]);
  await modelAdapter(whole).evaluate(definePrompt({ key: "w", text: "Say \ud83d\ude00." }).bind());
  expect(whole.lastPrompt).toBe("Say \ud83d\ude00.");
});

test("PRO-9 TOOL-7 ids that differ in halves alone stay apart", async () => {
  const call = (id: string) => ({ id, name: "say", arguments: { text: "a" } });
  const model = scriptedModel([{ toolCalls: [call("\ud83d"), call("\ud83e")] }, { output: { a: "b" } }]);
  const { messages } = await modelAdapter(model).evaluate(prompt);
  const ids = messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []));
  expect(new Set(ids).size).toBe(2);
  expect(isWhole(messages)).toBe(true);
});

test("PRO-9 nor what an agent reads of a call", async () => {
  const feedback = [{ name: "f", every: { calls: 1 }, provide: () => half }];
  const own = definePrompt({ key: "a", sections: [{ key: "a", text: half, tools: [say] }], feedback }).bind();
  const seen: unknown[] = [];
  const adapter = agentAdapter({
    name: "agent",
    model: "agent",
    async drive({ messages, executeToolCall }) {
      const call = { id: "1", name: "say", arguments: '{"text":"a"}' };
      seen.push(messages, await executeToolCall(call));
      return { message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop" };
    },
  });
  await adapter.evaluate(own);
  expect(isWhole(seen)).toBe(true);
});

test("PRO-9 nor what an agent reads of a call's message, its failure, a file's name, or a name that no tool has", async () => {
  const photo = new File(["abc"], `a${half}.txt`, { type: "text/plain" });
  const tools = [
    defineTool({ ...say, name: "ok", execute: () => toolOk({}, { message: `Well ${half}` }) }),
    defineTool({ ...say, name: "no", execute: () => toolError(`No ${half}`) }),
    defineTool({
      ...say,
      name: "throws",
      execute: () => {
        throw new Error(`Broken ${half}`);
      },
    }),
    defineTool({ ...say, name: "photo", execute: () => toolOk(null, { message: `Drawn ${half}.`, files: [photo] }) }),
  ];
  const answers: ToolMessage[] = [];
  const adapter = agentAdapter({
    name: "agent",
    model: "agent",
    async drive({ executeToolCall }) {
      for (const name of [...tools.map((tool) => tool.name), `none${half}`])
        answers.push(await executeToolCall({ id: name, name, arguments: '{"text":"a"}' }));
      return { message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop" };
    },
  });
  await adapter.evaluate(definePrompt({ key: "a", sections: [{ key: "a", text: "Work.", tools }] }).bind());
  expect(answers.map(({ isError }) => isError)).toEqual([false, true, true, false, true]);
  expect(answers.every(({ text }) => text.includes("\ufffd"))).toBe(true);
  expect(isWhole(answers)).toBe(true);
});

test("PRO-9 where half a pair is a name or a value that is meant as it is, the schema is refused", () => {
  const optional = z.object({ [half]: z.string().optional() });
  const named = z.object({ [half]: z.string() });
  for (const schema of [named, optional, z.enum([half]), z.object({ a: z.literal(`x${half}`) })]) {
    expect(() => jsonSchemaOf(schema, "input")).toThrow(DefinitionError);
    expect(() => jsonSchemaOf(schema, "input")).toThrow("half a surrogate pair");
  }
});
