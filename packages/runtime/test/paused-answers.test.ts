import { defineTool, definePrompt, type ModelProvider, type ModelRequest, type ModelResponse } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection } from "./support.ts";

const echo = defineTool({
  name: "echo",
  description: "Echoes.",
  input: z.object({}).loose(),
  execute: (input) => input,
});
const paused = (text: string): { text: string; finishReason: "paused" } => ({ text, finishReason: "paused" });

test("LOOP-10 a paused answer goes back as it is, and the output is the text of all of it", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const model = scriptedModel([paused("One, "), paused("two, "), { text: "three." }]);
  const response = await modelAdapter(model).evaluate(promptWith(), { session });
  expect(response).toMatchObject({ output: "One, two, three.", turns: 3, finishReason: "stop" });
  expect(response.usage.totalTokens).toBe(45);
  expect(model.requests[2]?.messages.slice(-2)).toMatchObject([
    { role: "assistant", text: "One, " },
    { role: "assistant", text: "two, " },
  ]);
  const answered = events.filter(({ type }) => type === "provider.responded");
  expect(answered).toMatchObject([
    { turn: 1, text: "One, ", finishReason: "paused" },
    { turn: 2, text: "two, ", finishReason: "paused" },
    { turn: 3, text: "three.", finishReason: "stop" },
  ]);
  expect(events.at(-1)).toMatchObject({ type: "prompt.executed", turns: 3 });
});

test("LOOP-10 sources of what came before the pause count, at their places in the whole text", async () => {
  const source = (url: string, start: number, end: number) => ({ kind: "url" as const, url, at: { start, end } });
  const model = scriptedModel([
    { ...paused("One, "), sources: [source("https://one.example", 0, 3)] },
    { text: "two.", sources: [source("https://one.example", 0, 3), source("https://two.example", 0, 3)] },
  ]);
  const { text, sources } = await modelAdapter(model).evaluate(promptWith());
  expect(text).toBe("One, two.");
  expect(sources).toEqual([source("https://one.example", 0, 3), source("https://two.example", 5, 8)]);
});

test("LOOP-10 text of a paused answer before a call is text beside a call", async () => {
  const model = scriptedModel([paused("I look. "), { toolCalls: [call("echo")] }, { text: "Found." }]);
  const { output, turns } = await modelAdapter(model).evaluate(promptWith(echo));
  expect({ output, turns }).toEqual({ output: "Found.", turns: 3 });
});

test("LOOP-10 a structured output is read from what follows, or from the text of all of it", async () => {
  const prompt = definePrompt({ key: "counted", output: z.object({ n: z.number() }), text: "Count." }).bind();
  const evaluated = async (...steps: Parameters<typeof scriptedModel>[0]) =>
    (await modelAdapter(scriptedModel(steps)).evaluate(prompt)).output;
  expect(await evaluated(paused("I count. "), { output: { n: 1 } })).toEqual({ n: 1 });
  expect(await evaluated(paused('{"n":'), { text: "2}" })).toEqual({ n: 2 });
});

test("LOOP-10 pauses are turns within the limits", async () => {
  const adapter = modelAdapter(scriptedModel(Array.from({ length: 5 }, () => paused("More, "))));
  const error = await rejection(adapter.evaluate(promptWith(), { maxTurns: 3 }));
  expect(error).toMatchObject({ code: "turns" });
  const spent = modelAdapter(scriptedModel(Array.from({ length: 5 }, () => paused("More, "))));
  const over = await rejection(spent.evaluate(promptWith(), { budget: { maxTotalTokens: 20 } }));
  expect(over).toMatchObject({ code: "budget" });
});

/** A model whose answers are given. */
function modelOf(answers: readonly ModelResponse[]): ModelProvider & { readonly asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    name: "given",
    model: "m",
    capabilities: { tools: true, nativeOutput: false },
    asked,
    generate: async (request) => {
      const answer = answers[asked.length];
      asked.push(request);
      if (answer === undefined) throw new Error("No answer is left.");
      return answer;
    },
  };
}

test("LOOP-10 LOOP-5 a paused answer goes back without text where it has items, else it is empty", async () => {
  const silent: ModelResponse = { message: { role: "assistant", text: "", toolCalls: [] }, finishReason: "paused" };
  const searching = { ...silent, message: { ...silent.message, providerItems: { search: "node" } } };
  const done: ModelResponse = { message: { role: "assistant", text: "Done.", toolCalls: [] }, finishReason: "stop" };
  const model = modelOf([searching, done]);
  expect((await modelAdapter(model).evaluate(promptWith())).output).toBe("Done.");
  expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: "assistant", providerItems: { search: "node" } });
  const error = await rejection(modelAdapter(modelOf([silent, done])).evaluate(promptWith()));
  expect(error).toMatchObject({ code: "provider", reason: "invalid_response" });
});

test("LOOP-10 STR-4 after a pause the partial output is that of all of the text", async () => {
  const output = z.object({ items: z.array(z.object({ t: z.string() })) });
  const prompt = definePrompt({ key: "listed", output, text: "List." }).bind();
  const model = scriptedModel([paused('{"items":[{"t":"one"},'), { text: '{"t":"two"}]}' }]);
  const partials: unknown[] = [];
  const stream = modelAdapter(model).stream(prompt);
  for await (const event of stream) if (event.type === "output.delta") partials.push(event.partial);
  for (const partial of partials) expect(partial).toHaveProperty("items");
  expect(partials.at(-1)).toEqual({ items: [{ t: "one" }, { t: "two" }] });
  expect((await stream.response).output).toEqual(partials.at(-1));
});
