import {
  deadlineIn,
  definePrompt,
  defineSlice,
  defineTool,
  isEvaluationFailure,
  parseMessages,
  provide,
  Filesystem,
  toolError,
  type ModelProvider,
  type ModelRequest,
} from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { joinSlices } from "@proviso/runtime/internal";
import { fakeClock, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection, writes, writing } from "./support.ts";

const echo = defineTool({
  name: "echo",
  description: "Echoes.",
  input: z.object({}).loose(),
  execute: (input) => input,
});

test("LOOP-1 the events of an evaluation come in one order, numbered without a gap", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const model = scriptedModel([{ toolCalls: [call("echo"), call("echo")] }, { text: "done" }]);
  await modelAdapter(model).evaluate(promptWith(echo), { session });
  expect(events.map(({ type }) => type)).toEqual([
    "prompt.rendered",
    "provider.requested",
    "provider.responded",
    "tool.requested",
    "tool.invoked",
    "tool.requested",
    "tool.invoked",
    "provider.requested",
    "provider.responded",
    "prompt.executed",
  ]);
  expect(events.map((event) => "seq" in event && event.seq)).toEqual([...events.keys()]);
});

test("EVT-2 an event that no listener and no reducer receives has its number all the same", async () => {
  const session = createSession();
  const evaluated = async (): Promise<unknown> => {
    const model = scriptedModel([{ toolCalls: [call("echo")] }, { text: "done" }]);
    return modelAdapter(model).evaluate(promptWith(echo), { session });
  };
  await evaluated();
  const events = recordEvents(session);
  await evaluated();
  expect(events).toHaveLength(8);
  expect(events.map((event) => "seq" in event && event.seq)).toEqual([8, 9, 10, 11, 12, 13, 14, 15]);
});

test("EVT-2 a rollback reduces what others did beside the call, also for a reducer that joined after it", async () => {
  const seen = defineSlice<readonly string[]>({
    name: "seen",
    initial: [],
    reducers: ({ on }) => on("provider.requested", (list, { evaluationId }) => [...list, evaluationId]),
  });
  const session = createSession();
  const beside = modelAdapter(scriptedModel([{ text: "beside" }]), { newId: () => "beside" });
  const failing = defineTool({
    name: "failing",
    description: "Fails after another evaluation.",
    input: z.object({}),
    async execute() {
      await beside.evaluate(promptWith(), { session });
      joinSlices(session, [seen]);
      return toolError("undone");
    },
  });
  const model = scriptedModel([{ toolCalls: [call("failing")] }, { text: "done" }]);
  await modelAdapter(model, { newId: () => "around" }).evaluate(promptWith(failing), { session });
  expect(session.get(seen)).toEqual(["beside", "around"]);
});

test("LOOP-1 a failure after rendering ends with prompt.failed alone; one before it with no event", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const model = scriptedModel([{ failure: "provider", reason: "bad_request", message: "no" }]);
  await rejection(modelAdapter(model).evaluate(promptWith(), { session }));
  expect(events.map(({ type }) => type)).toEqual(["prompt.rendered", "provider.requested", "prompt.failed"]);
  await rejection(modelAdapter(model).evaluate(promptWith(), { session, maxTurns: 0 }));
  expect(events).toHaveLength(3);
});

test("LOOP-2 each request's history begins with the one before, arguments byte for byte, items and text replayed", async () => {
  const model = scriptedModel([
    { text: "let me see", toolCalls: [call("echo", '{ "a" :1}')] },
    { toolCalls: [call("echo", "{}")] },
    { text: "done" },
  ]);
  await modelAdapter(model).evaluate(promptWith(echo));
  const [first, second, third] = model.requests.map(({ messages }) => messages);
  expect(second?.slice(0, first?.length)).toEqual(first);
  expect(third?.slice(0, second?.length)).toEqual(second);
  expect(second?.at(-2)).toMatchObject({
    role: "assistant",
    text: "let me see",
    toolCalls: [{ arguments: '{ "a" :1}' }],
  });
  expect(second?.at(-2)).toBe(third?.[(second?.length ?? 0) - 2]);
});

const items = { provider: "opaque" };

test("LOOP-2 opaque provider items are replayed", async () => {
  const requests: ModelRequest[] = [];
  const provider = {
    ...scriptedModel([]),
    async generate(request: ModelRequest) {
      requests.push(request);
      const toolCalls = requests.length === 1 ? [{ id: "c", name: "echo", arguments: "{}" }] : [];
      return {
        message: { role: "assistant" as const, text: "x", toolCalls, providerItems: items },
        finishReason: "stop" as const,
      };
    },
  };
  await modelAdapter(provider).evaluate(promptWith(echo));
  expect(requests[1]?.messages.at(-2)).toMatchObject({ providerItems: items });
});

test("LOOP-3 wherever an evaluation is stopped, its history is whole and can be gone on with", async () => {
  const stop = fc.record({ at: fc.integer({ min: 0, max: 5 }), how: fc.constantFrom("abort", "budget", "hang") });
  await fc.assert(
    fc.asyncProperty(stop, async ({ at, how }) => {
      const controller = new AbortController();
      let calls = 0;
      const work = defineTool({
        name: "work",
        description: "Works.",
        input: z.object({}),
        async execute(_, { budget }) {
          if (calls++ !== at) return;
          if (how === "budget")
            budget?.reserve({ inputTokens: 0, outputTokens: 0 })?.settle({ ...used, totalTokens: 1_000 });
          else controller.abort();
          if (how === "hang") await new Promise(() => {});
        },
      });
      const used = {
        inputTokens: 0,
        outputTokens: 0,
        totalTokens: 0,
        cachedInputTokens: 0,
        cacheWriteTokens: 0,
        reasoningTokens: 0,
        estimated: false,
      };
      const three = { toolCalls: [call("work"), call("work"), call("work")] };
      const model = scriptedModel([three, three, { text: "done" }]);
      const error = await rejection(
        modelAdapter(model).evaluate(promptWith(work), { signal: controller.signal, budget: { maxTotalTokens: 500 } }),
      );
      expect(error["code"]).toBe(how === "budget" ? "budget" : "aborted");
      expect(isEvaluationFailure(error) && parseMessages(error.messages).length).toBeGreaterThan(0);
      const again = scriptedModel([{ text: "went on" }]);
      const { output } = await modelAdapter(again).evaluate(promptWith(work), { messages: error["messages"] as never });
      expect(output).toBe("went on");
    }),
    { numRuns: 30 },
  );
});

test("LOOP-4 more than maxTurns requests is a TurnLimitError", async () => {
  const model = scriptedModel(Array.from({ length: 3 }, () => ({ toolCalls: [call("echo")] })));
  const error = await rejection(modelAdapter(model).evaluate(promptWith(echo), { maxTurns: 2 }));
  expect([error["code"], model.callCount]).toEqual(["turns", 2]);
  const many = scriptedModel(Array.from({ length: 65 }, () => ({ toolCalls: [call("echo")] })));
  await rejection(modelAdapter(many).evaluate(promptWith(echo)));
  expect(many.callCount).toBe(64);
});

test.each([
  ["an empty answer", { text: " " }, "invalid_response"],
  ["a content filter", { text: "x", finishReason: "content-filter" }, "content_filter"],
  ["a cut answer", { text: "x", finishReason: "length" }, "truncated"],
  ["arguments that were cut", { toolCalls: [call("echo", '{"a')], finishReason: "length" }, "truncated"],
] as const)("LOOP-5 %s is a ProviderError with its own reason", async (_, step, reason) => {
  const error = await rejection(modelAdapter(scriptedModel([step])).evaluate(promptWith(echo)));
  expect(error).toMatchObject({ code: "provider", reason, phase: "response" });
});

test("LOOP-5 a refusal is a ProviderError that carries its payload", async () => {
  const provider = {
    ...scriptedModel([]),
    generate: async () => ({
      message: { role: "assistant" as const, text: "", toolCalls: [] },
      finishReason: "stop" as const,
      refusal: "I will not",
      payload: { raw: 1 },
    }),
  };
  const error = await rejection(modelAdapter(provider).evaluate(promptWith()));
  expect(error).toMatchObject({ code: "provider", reason: "refusal", providerPayload: { raw: 1 } });
});

test.each([
  undefined,
  null,
  "text",
  {},
  { message: "x" },
  { message: {} },
  { message: { text: 1, toolCalls: "x" } },
  { message: { text: "", toolCalls: [null] } },
])("ERR-1 a provider that returns %j is a ProviderError", async (answer) => {
  const provider = { ...scriptedModel([]), generate: async () => answer as never };
  const error = await rejection(modelAdapter(provider).evaluate(promptWith()));
  expect(error).toMatchObject({ code: "provider", reason: "invalid_response" });
});

test("LOOP-6 usage is summed over turns, on the response, the event and the error", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const usage = {
    inputTokens: 100,
    outputTokens: 10,
    totalTokens: 110,
    cachedInputTokens: 50,
    reasoningTokens: 5,
    costUsd: 0.25,
  };
  const model = scriptedModel([
    { toolCalls: [call("echo")], usage },
    { text: "done", usage },
  ]);
  const response = await modelAdapter(model).evaluate(promptWith(echo), { session });
  const sum = {
    inputTokens: 200,
    outputTokens: 20,
    totalTokens: 220,
    cachedInputTokens: 100,
    cacheWriteTokens: 0,
    reasoningTokens: 10,
    costUsd: 0.5,
    estimated: false,
  };
  expect(response.usage).toEqual(sum);
  expect(response).toMatchObject({ provider: "scripted", model: "scripted-model", turns: 2 });
  expect(events.at(-1)).toMatchObject({ type: "prompt.executed", usage: sum });
  const failing = scriptedModel([
    { toolCalls: [call("echo")], usage },
    { failure: "provider", reason: "bad_request", message: "no" },
  ]);
  const error = await rejection(modelAdapter(failing).evaluate(promptWith(echo)));
  expect(error["usage"]).toMatchObject({ totalTokens: 110 });
});

test("LOOP-6 the response names the model that answered last, and where a provider does not say, the one it was made for", async () => {
  const answering = (...models: readonly (string | undefined)[]): ModelProvider => {
    const script = scriptedModel(models.map((_, index) => (index === models.length - 1 ? { text: "done" } : asked)));
    const generate: ModelProvider["generate"] = async (request) => {
      const answer = await script.generate(request);
      const model = models[script.callCount - 1];
      return "failure" in answer ? answer : { ...answer, model };
    };
    return { ...script, generate };
  };
  const asked = { toolCalls: [call("echo")] };
  for (const [models, expected] of [
    [["dated-1"], "dated-1"],
    [["dated-1", "dated-2"], "dated-2"],
    [["dated-1", undefined], "dated-1"],
    [[undefined], "scripted-model"],
  ] as const) {
    const { model, provider } = await modelAdapter(answering(...models)).evaluate(promptWith(echo));
    expect([provider, model]).toEqual(["scripted", expected]);
  }
});

test("LOOP-7 a request is system text, earlier messages without theirs, user text; the response can be given to the next", async () => {
  const model = scriptedModel([{ text: "one" }, { text: "two" }]);
  const adapter = modelAdapter(model);
  const first = await adapter.evaluate(promptWith());
  expect(first.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  await adapter.evaluate(promptWith(), { messages: [{ role: "system", text: "old" }, ...first.messages] });
  expect(model.requests[1]?.messages.map(({ role, text }) => `${role}: ${text}`)).toEqual([
    "system: Work.",
    "user: Begin.",
    "assistant: one",
    "user: Begin.",
  ]);
});

test.each([
  ["a foreign session", { session: {} as never }],
  ["messages that are none", { messages: [{ role: "alien" }] as never }],
  [
    "orphan calls",
    { messages: [{ role: "assistant", text: "", toolCalls: [{ id: "a", name: "b", arguments: "" }] }] as never },
  ],
  ["a negative number of repairs", { maxRepairs: -1 }],
  ["overrides", { overrides: { store: {} as never } }],
  ["an empty budget", { budget: {} }],
  ["a negative budget", { budget: { maxTotalTokens: -1 } }],
  ["a choice of a tool that is not there", { toolChoice: { tool: "nope" } }],
  ["resources that are none", { resources: {} as never }],
] as const)("ERR-1 %s is an OptionError with its cause, before any request", async (_, options) => {
  const model = scriptedModel([]);
  const error = await rejection(modelAdapter(model).evaluate(promptWith(), options));
  expect(isEvaluationFailure(error)).toBe(true);
  expect(error).toMatchObject({
    code: "option",
    phase: "render",
    promptName: "tests/prompt",
    messages: [],
    toolResults: [],
  });
  expect(error.cause).toBeInstanceOf(Error);
  expect(model.callCount).toBe(0);
});

test.each([
  ["deadline", { expiresAt: new Date(Number.NaN), remainingMs: () => Number.NaN }, "a deadline: deadlineIn("],
  ["signal", null, "an AbortSignal, the signal of a controller for example, not null"],
  ["overrides", { store: {} }, "{ store, tag }, with a store such as memoryOverrides(), not an object"],
  ["toolChoice", "sometimes", '"auto", "none", "required" or { tool }, not "sometimes"'],
])("ERR-1 the option %s given as %j is refused in words, evaluated and streamed", async (name, value, words) => {
  const adapter = modelAdapter(scriptedModel([]));
  const options = { [name]: value } as never;
  for (const refused of [adapter.evaluate(promptWith(), options), adapter.stream(promptWith(), options).response]) {
    const { message, code } = await rejection(refused);
    expect(message).toContain(`The option ${name} must be ${words}`);
    expect(code).toBe("option");
  }
});

test("ERR-1 options that are none are refused, evaluated and streamed", async () => {
  const adapter = modelAdapter(scriptedModel([]));
  for (const options of [null, "fast", []] as never[]) {
    for (const refused of [adapter.evaluate(promptWith(), options), adapter.stream(promptWith(), options).response])
      expect((await rejection(refused)).message).toContain("The options of evaluate must be an object");
  }
});

test("PRO-2 a tool choice that is none is refused when the adapter is made", () => {
  expect(() => modelAdapter(scriptedModel([]), { toolChoice: "sometimes" as never })).toThrow(
    'The option toolChoice must be "auto", "none", "required" or { tool }, not "sometimes".',
  );
});

test("EVT-2 a clock that is set back makes no duration negative", async () => {
  const session = createSession();
  const events = recordEvents(session);
  let now = 1e12;
  const back = () => (now -= 60_000);
  const turns = defineTool({
    name: "turns",
    description: "Turns.",
    input: z.object({}),
    execute: () => String(back()),
  });
  const model = scriptedModel([() => ({ text: String(back()), toolCalls: [call("turns")] }), { text: "done" }]);
  const clock = { now: () => now, sleep: () => new Promise<void>(() => {}) };
  await modelAdapter(model, { clock }).evaluate(promptWith(turns), { session });
  const durations = events.flatMap((event) => ("durationMs" in event ? [event.durationMs] : []));
  expect(durations).toEqual([0, 0, 0, 0]);
});

test("ERR-1 a model without tools refuses a prompt with some before any request", async () => {
  const model = scriptedModel([], { capabilities: { tools: false } });
  const error = await rejection(modelAdapter(model).evaluate(promptWith(echo)));
  expect(error).toMatchObject({ code: "provider", reason: "bad_request" });
  expect(model.callCount).toBe(0);
});

test("ERR-1 a failure carries what was done before it", async () => {
  const model = scriptedModel([{ toolCalls: [writing("a")] }, { error: new Error("odd") }]);
  const error = await rejection(
    modelAdapter(model).evaluate(promptWith(writes), { resources: [provide(Filesystem, memoryFilesystem())] }),
  );
  expect(error).toMatchObject({ code: "provider", reason: "unknown", phase: "request" });
  expect(error["toolResults"]).toHaveLength(1);
  expect(error["messages"]).toHaveLength(3);
});

const structured = (schema: z.ZodType) =>
  definePrompt({ ns: "tests", key: "out", output: schema, sections: [{ key: "s", text: "Answer." }] }).bind({});

async function parsed(schema: z.ZodType, text: string, parsedPayload?: unknown): Promise<unknown> {
  const provider = {
    ...scriptedModel([]),
    generate: async () => ({
      message: { role: "assistant" as const, text, toolCalls: [] },
      finishReason: "stop" as const,
      ...(parsedPayload === undefined ? {} : { parsed: parsedPayload }),
    }),
  };
  return modelAdapter(provider)
    .evaluate(structured(schema))
    .then(
      ({ output, text: left }) => ({ output, text: left }),
      (error: unknown) => error,
    );
}

const point = z.object({ x: z.number() });

test.each([
  ["native", "garbage", { x: 1 }],
  ["fenced", 'Here:\n```json\n{"x":1}\n```\nDone.', undefined],
  ["whole", ' {"x":1} ', undefined],
  ["embedded", 'The answer is {"x":1}, [see] above.', undefined],
  ["embedded after a broken one", 'Not {this} but {"x":1}.', undefined],
])("OUT-1 a %s answer is found", async (_, text, payload) => {
  expect(await parsed(point, text, payload)).toEqual({ output: { x: 1 }, text: null });
});

const page = z.object({ markdown: z.string(), note: z.string().optional() });
const code = { markdown: 'Call ```js\nrun()\n``` "now", or ```json\n{}\n```.', note: "a ```b``` c" };

test.each([
  ["in a fence", `Here:\n\`\`\`json\n${JSON.stringify(code)}\n\`\`\`\nDone.`],
  ["in a fence, over lines", `\`\`\`json\n${JSON.stringify(code, null, 2)}\n\`\`\``],
  ["on its own, over lines", JSON.stringify(code, null, 2)],
  ["after prose, over lines", `Here: ${JSON.stringify(code, null, 2)}`],
])("OUT-1 an answer %s may hold blocks of code", async (_, text) => {
  expect(await parsed(page, text)).toEqual({ output: code, text: null });
});

test.each([
  "Sorry :[ here: ",
  'The "{" opens, ',
  "The set {1, 2, and ",
  '[sic] "[" ',
  'As {"x": ',
  '{"x" 2} [01] ["a\nb"] ',
])("OUT-1 the first JSON value is found after %j", async (prose) => {
  expect(await parsed(point, `${prose}{"x": 1} (see [2]).`)).toEqual({ output: { x: 1 }, text: null });
});

test("OUT-1 of a value that is refused no part is taken instead", async () => {
  const deep = `${"[".repeat(300)}${"]".repeat(300)}`;
  const issueOf = async (text: string) => (await parsed(point, text)) as { issues?: readonly unknown[] };
  expect((await issueOf('It is {"constructor":{"x":1}}')).issues).toEqual([
    { path: "", message: 'the key "constructor" is not allowed' },
  ]);
  expect((await issueOf(`It is ${deep} {"x":1}`)).issues).toEqual([
    { path: "", message: "nested deeper than 256 levels" },
  ]);
});

test("OUT-1 brackets that never become JSON cost no more than reading them", async () => {
  for (const noise of ["[", '["', '{"a":', '[\\"', "[1,"]) {
    const before = process.cpuUsage();
    expect(await parsed(point, `It is ${noise.repeat(60_000)}x`)).toMatchObject({ code: "output" });
    const { user } = process.cpuUsage(before);
    // Reading once takes a hundredth of this, and reading again from each bracket minutes.
    expect(user / 1_000).toBeLessThan(10_000);
  }
});

test("OUT-1 a native payload or a fence that is invalid is an error, whatever else the text holds", async () => {
  expect(await parsed(point, '{"x":1}', { x: "no" })).toMatchObject({ code: "output", issues: [{ path: "x" }] });
  expect(await parsed(point, '{"x":1}\n```json\n{"x":\n```')).toMatchObject({ code: "output" });
});

test("OUT-1 a fence in which a string never ends is over at its marks all the same, and an error", async () => {
  const broken = '```json\n{"x": "one}\n```\n';
  for (const behind of ['Or rather {"x": 1}.', '```json\n{"x": 1}\n```', 'A "word", then {"x": 1}.']) {
    expect(await parsed(point, `${broken}${behind}`)).toMatchObject({ code: "output" });
  }
});

test("OUT-2 extra keys are refused unless the schema is loose, nothing is coerced, and the error says all", async () => {
  expect(await parsed(point, '{"x":1,"y":2}')).toMatchObject({
    code: "output",
    phase: "response",
    rawText: '{"x":1,"y":2}',
    issues: [{ path: "y", message: "unknown key" }],
  });
  expect(await parsed(point.loose(), '{"x":1,"y":2}')).toMatchObject({ output: { x: 1, y: 2 } });
  expect(await parsed(point, '{"x":"1"}')).toMatchObject({ code: "output", issues: [{ path: "x" }] });
});

test("OUT-3 arrays and values are taken bare or wrapped", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer()), fc.boolean(), async (list, wrap) => {
      const text = JSON.stringify(wrap ? { items: list } : list);
      expect(await parsed(z.array(z.number()), text)).toEqual({ output: list, text: null });
    }),
    { numRuns: 50 },
  );
  expect(await parsed(z.enum(["a", "b"]), '{"value":"b"}')).toMatchObject({ output: "b" });
  expect(await parsed(z.enum(["a", "b"]), '"b"')).toMatchObject({ output: "b" });
  // A value may itself look like a wrapper.
  const either = z.union([z.string(), z.strictObject({ value: z.number() })]);
  expect(await parsed(either, '{"value":5}')).toEqual({ output: { value: 5 }, text: null });
  expect(await parsed(either, '{"value":{"value":5}}')).toEqual({ output: { value: 5 }, text: null });
  expect(await parsed(either, '{"value":"b"}')).toEqual({ output: "b", text: null });
  expect(await parsed(either, '{"value":true}')).toMatchObject({ code: "output" });
});

test("OUT-6 the schema is in the text only where the provider has no native output", async () => {
  const sent = async (nativeOutput: boolean) => {
    const model = scriptedModel([{ output: { x: 1 } }], { capabilities: { nativeOutput } });
    await modelAdapter(model).evaluate(structured(point));
    return model.requests[0];
  };
  const native = await sent(true);
  expect(native?.output).toMatchObject({ name: "out", schema: { type: "object" } });
  expect(native?.messages[0]?.text).toBe("Answer.");
  const inText = await sent(false);
  expect(inText?.output).toBeUndefined();
  expect(inText?.messages[0]?.text).toContain("JSON Schema");
});

test("EVT-3 a listener that throws on prompt.executed rejects with the response, after all listeners ran", async () => {
  const session = createSession();
  const heard: string[] = [];
  session.on("prompt.executed", () => {
    throw new Error("first");
  });
  session.on("prompt.executed", () => void heard.push("second"));
  const error = await rejection(
    modelAdapter(scriptedModel([{ text: "paid for" }])).evaluate(promptWith(), { session }),
  );
  expect(error).toMatchObject({ code: "listener", response: { output: "paid for" } });
  expect(heard).toEqual(["second"]);
});

test("EVT-3 a listener that throws on another event is logged, and the evaluation goes on", async () => {
  const session = createSession();
  session.on("provider.requested", () => {
    throw new Error("mine");
  });
  const { output } = await modelAdapter(scriptedModel([{ text: "done" }])).evaluate(promptWith(), { session });
  expect(output).toBe("done");
  void toolError;
});

test("ERR-1 a schema or a logger that throws, and a prompt that is none, reject with errors of ours", async () => {
  const fussy = z.string().refine(() => {
    throw new Error("refine broke");
  });
  expect(await parsed(fussy, '"x"')).toMatchObject({
    code: "output",
    issues: [{ message: "the schema failed: refine broke" }],
  });
  const broken = () => {
    throw new Error("logger broke");
  };
  const logger = { debug: broken, info: broken, warn: broken, error: broken };
  const { output } = await modelAdapter(scriptedModel([{ text: "done" }]), { logger }).evaluate(promptWith());
  expect(output).toBe("done");
  const adapter = modelAdapter(scriptedModel([]));
  expect(await rejection(adapter.evaluate(undefined as never))).toMatchObject({
    code: "option",
    promptName: "(no prompt)",
  });
  expect(await rejection(adapter.evaluate({} as never))).toMatchObject({ code: "option" });
});

test("LIM-3 a handler sees a timeout at the deadline, and the caller's own reason after an abort", async () => {
  const reasons: unknown[] = [];
  const clock = fakeClock();
  let whenItWaits = (): void => void clock.advance(10);
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(void reasons.push(signal.reason)));
        whenItWaits();
      }),
  });
  const script = () => modelAdapter(scriptedModel([{ toolCalls: [call("wait")] }]), { clock });
  await rejection(script().evaluate(promptWith(wait), { deadline: deadlineIn(10, clock) }));
  const controller = new AbortController();
  const enough = new Error("enough");
  whenItWaits = () => controller.abort(enough);
  const error = await rejection(script().evaluate(promptWith(wait), { signal: controller.signal }));
  expect(reasons).toEqual([expect.objectContaining({ name: "TimeoutError" }), enough]);
  expect(error.cause).toBe(enough);
});

test("ERR-1 a listener that throws what cannot be shown still gives an error of ours", async () => {
  const session = createSession();
  session.on("prompt.executed", () => {
    throw Object.create(null);
  });
  const error = await rejection(modelAdapter(scriptedModel([{ text: "done" }])).evaluate(promptWith(), { session }));
  expect(error).toMatchObject({ code: "listener", response: { output: "done" } });
});
