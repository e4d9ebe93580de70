// What spans and metrics call things that a model or a chain of adapters decides.
import { definePrompt, defineTool, type ModelProvider } from "@proviso/core";
import { modelAdapter, type AdapterOptions } from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { openTelemetry, type OpenTelemetryOptions } from "@proviso/otel";
import { expect, test } from "vitest";
import { z } from "zod";
import { memorySdk } from "./support.ts";
import { note, promptOf } from "./tree.ts";

type Sdk = ReturnType<typeof memorySdk>;

const member = (name: string, steps: readonly ScriptedStep[], options: AdapterOptions) => {
  const model: ModelProvider = { ...scriptedModel(steps), name, model: `${name}-1` };
  const generate: ModelProvider["generate"] = async (...given) => ({
    ...(await model.generate(...given)),
    model: undefined,
  });
  return modelAdapter({ ...model, generate } as ModelProvider, options);
};
const down: ScriptedStep = { failure: "throttle", kind: "server_error", message: "It is down.", retry: false };
const usage = { inputTokens: 100, outputTokens: 5, totalTokens: 105 };

const chatsOf = (sdk: Sdk) =>
  sdk
    .spans()
    .filter(({ name }) => name.startsWith("chat"))
    .map(({ name, attributes: { "gen_ai.provider.name": provider, "gen_ai.request.model": model } }) => [
      name,
      provider,
      model,
    ]);

async function dimensionsOf(sdk: Sdk, metric: string) {
  const made = (await sdk.metrics()).find(({ descriptor }) => descriptor.name === metric);
  return made?.dataPoints.map(({ attributes }) => attributes) ?? [];
}

test("OTEL-2 of a chain the provider and the model are those that answered", async () => {
  const sdk = memorySdk();
  const options = { observers: [openTelemetry(sdk.providers)] };
  const chain = fallback([
    member("openai", [{ text: "First." }, down, down], options),
    member("amazon-bedrock", [{ text: "Second.", usage }, down], options),
  ]);
  await chain.evaluate("Hello.");
  await chain.evaluate("Hello.");
  await chain.evaluate("Hello.").catch(() => {});
  expect(chatsOf(sdk)).toEqual([
    ["chat openai-1", "openai", "openai-1"],
    ["chat amazon-bedrock-1", "aws.bedrock", "amazon-bedrock-1"],
    ["chat openai-1", "fallback(openai, amazon-bedrock)", "openai-1"],
  ]);
  const counted = await dimensionsOf(sdk, "gen_ai.client.inference.usage.input_tokens");
  expect(counted).toContainEqual(
    expect.objectContaining({ "gen_ai.provider.name": "aws.bedrock", "gen_ai.request.model": "amazon-bedrock-1" }),
  );
});

test("OTEL-2 of hedged requests the provider and the model are those that answered first", async () => {
  const sdk = memorySdk();
  const environment = fakeEnvironment();
  const options = { ...environment, observers: [openTelemetry(sdk.providers)] };
  const never: ModelProvider = {
    ...scriptedModel([]),
    name: "openai",
    model: "openai-1",
    generate: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  };
  const pair = hedged([modelAdapter(never, options), member("anthropic", [{ text: "Second." }], options)], {
    afterMs: 50,
  });
  const evaluating = pair.evaluate("Hello.");
  await environment.clock.advance(1_000);
  await evaluating;
  expect(chatsOf(sdk)).toEqual([["chat anthropic-1", "anthropic", "anthropic-1"]]);
});

const invented = "a patient's name";

async function traced(
  steps: readonly ScriptedStep[],
  more: OpenTelemetryOptions = {},
  prompt = promptOf("outer", note),
) {
  const sdk = memorySdk();
  const observers = [openTelemetry({ ...sdk.providers, ...more })];
  await modelAdapter(scriptedModel(steps), { observers }).evaluate(prompt);
  return sdk;
}

test("OTEL-7 OTEL-8 a tool's name that the model made up is in no span and is no dimension", async () => {
  const sdk = await traced([
    {
      toolCalls: [
        { name: invented, arguments: {} },
        { name: `${invented} too`, arguments: {} },
      ],
    },
    { text: "Done." },
  ]);
  const calls = sdk.spans().filter(({ name }) => name.startsWith("execute_tool"));
  expect(calls.map(({ name, attributes }) => [name, attributes["gen_ai.tool.name"]])).toEqual([
    ["execute_tool _OTHER", "_OTHER"],
    ["execute_tool _OTHER", "_OTHER"],
  ]);
  const dimensions = await dimensionsOf(sdk, "gen_ai.execute_tool.duration");
  expect(dimensions.map((of) => of["gen_ai.tool.name"])).toEqual(["_OTHER"]);
  const all = sdk.spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
  expect(JSON.stringify(all)).not.toContain(invented);
});

test("OTEL-7 OTEL-8 with content the span has the name that the model made up, and the metrics do not", async () => {
  const sdk = await traced([{ toolCalls: [{ name: invented, arguments: {} }] }, { text: "Done." }], {
    content: "spans",
  });
  const [call] = sdk.spans().filter(({ name }) => name.startsWith("execute_tool"));
  expect([call?.name, call?.attributes["gen_ai.tool.name"]]).toEqual(["execute_tool _OTHER", invented]);
  const dimensions = await dimensionsOf(sdk, "gen_ai.execute_tool.duration");
  expect(dimensions.map((of) => of["gen_ai.tool.name"])).toEqual(["_OTHER"]);
});

test("OTEL-7 a tool keeps its name where its arguments do not fit, also one of a section that was opened", async () => {
  const late = defineTool({ name: "late", description: "Late.", input: z.object({ n: z.number() }), execute: () => 1 });
  const prompt = definePrompt({
    key: "sections",
    sections: [
      { key: "task", text: "Do.", tools: [note] },
      { key: "more", text: "More.", summary: "More.", visibility: "summary", tools: [late] },
    ],
  }).bind();
  const sdk = await traced(
    [
      { toolCalls: [{ name: "note", arguments: { text: 5 } }] },
      { toolCalls: [{ name: "open_sections", arguments: { keys: ["more"], reason: "x" } }] },
      { toolCalls: [{ name: "late", arguments: { n: "no number" } }] },
      { text: "Done." },
    ],
    {},
    prompt,
  );
  const calls = sdk.spans().filter(({ name }) => name.startsWith("execute_tool"));
  expect(calls.map(({ name }) => name)).toEqual([
    "execute_tool note",
    "execute_tool open_sections",
    "execute_tool late",
  ]);
});

test("OTEL-2 OTEL-8 tokens written to a cache are counted", async () => {
  const written = { ...usage, cachedInputTokens: 10, cacheWriteTokens: 80 };
  const sdk = await traced([{ text: "Done.", usage: written }]);
  const [chat] = sdk.spans().filter(({ name }) => name.startsWith("chat"));
  expect(chat?.attributes["gen_ai.usage.cache_write.input_tokens"]).toBe(80);
  const made = (await sdk.metrics()).find(
    ({ descriptor }) => descriptor.name === "gen_ai.client.inference.usage.cache_write.input_tokens",
  );
  expect(made?.dataPoints[0]?.value).toBe(80);
});

test.each<readonly [what: string, step: ScriptedStep]>([
  ["was cut short", { text: "Fir", finishReason: "length" }],
  ["was filtered", { text: "", finishReason: "content-filter" }],
])("OTEL-2 of a chain whose answer %s the provider and the model are those that gave it", async (_, step) => {
  const sdk = memorySdk();
  const options = { observers: [openTelemetry(sdk.providers)] };
  const chain = fallback([member("amazon-bedrock", [step], options), member("openai", [down], options)]);
  await chain.evaluate("Hello.").catch(() => {});
  expect(chatsOf(sdk).at(-1)).toEqual(["chat amazon-bedrock-1", "aws.bedrock", "amazon-bedrock-1"]);
});
