import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { definePolicy, defineTool, deny, type ModelProvider } from "@proviso/core";
import { agentAdapter, createSession, modelAdapter, type AdapterOptions } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { openTelemetry, type OpenTelemetryOptions } from "@proviso/otel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { memorySdk } from "./support.ts";
import { asks, note, notes, noting, outline, promptOf, treeOf } from "./tree.ts";

function traced(steps: readonly ScriptedStep[], options: OpenTelemetryOptions = {}, more: AdapterOptions = {}) {
  const sdk = memorySdk();
  const observer = openTelemetry({ ...sdk.providers, ...options });
  const model = scriptedModel(steps);
  return { ...sdk, model, adapter: modelAdapter(model, { observers: [observer], ...more }) };
}
const failing = (work: Promise<unknown>) =>
  work.then(
    () => Promise.reject(new Error("It did not fail.")),
    (error: unknown) => error,
  );

const nested: readonly ScriptedStep[] = [
  { toolCalls: [{ name: "asks", id: "c1" }] },
  { text: "Inside." },
  { text: "Done." },
];
const nestedTree = [
  "invoke_agent app/outer",
  "  chat scripted-model",
  "  chat scripted-model",
  "  execute_tool asks",
  "    invoke_agent app/inner",
  "      chat scripted-model",
];

describe("OTEL-1", () => {
  test("OTEL-1 turns and calls are children of the evaluation, a nested evaluation of its call, without a context manager", async () => {
    const { adapter, spans } = traced(nested);
    await adapter.evaluate(promptOf("outer", asks));
    expect(outline(treeOf(spans()))).toEqual(nestedTree);
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  test("OTEL-1 a summary of the history is a child of its evaluation, without a context manager", async () => {
    const { adapter, spans } = traced([{ text: "A summary." }, { text: "Done." }]);
    const old = { role: "user", text: "word ".repeat(350) } as const;
    const messages = [old, { role: "assistant", text: "Yes.", toolCalls: [] } as const];
    const context = { window: 900, keepTurns: 0, summary: { maxTokens: 50 } };
    await adapter.evaluate(promptOf("outer"), { messages, context });
    const outer = outline(treeOf(spans()));
    expect(outer.filter((line) => line.includes("invoke_agent"))).toEqual([
      "invoke_agent app/outer",
      "  invoke_agent proviso/history-summary",
    ]);
  });

  test("OTEL-1 a turn with waits is one chat span; of an agent one chat span covers its turn, its calls stand beside it", async () => {
    const sdk = memorySdk();
    const agent = agentAdapter(
      {
        name: "agent",
        model: "agent-1",
        async drive({ executeToolCall }) {
          await executeToolCall({ id: "c1", name: "note", arguments: '{"text":"a"}' });
          return { message: { role: "assistant", text: "Done.", toolCalls: [] }, finishReason: "stop" };
        },
      },
      { observers: [openTelemetry(sdk.providers)] },
    );
    await agent.evaluate(promptOf("outer", note));
    expect(outline(treeOf(sdk.spans()))).toEqual(["invoke_agent app/outer", "  chat agent-1", "  execute_tool note"]);
  });
});

describe("OTEL-1 with a context manager", () => {
  beforeEach(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterEach(() => context.disable());

  test("OTEL-1 the tree is the same, below the span that is active around the evaluation", async () => {
    const { adapter, spans, tracerProvider } = traced(nested);
    await tracerProvider.getTracer("test").startActiveSpan("request of a page", async (span) => {
      await adapter.evaluate(promptOf("outer", asks));
      span.end();
    });
    expect(outline(treeOf(spans()))).toEqual(["request of a page", ...nestedTree.map((line) => `  ${line}`)]);
  });

  test("OTEL-6 in a handler the call's span is active, in a request the chat span", async () => {
    const active: (string | undefined)[] = [];
    const activeName = (): string | undefined => (trace.getActiveSpan() as { name?: string } | undefined)?.name;
    const looks = defineTool({
      name: "looks",
      description: "Looks.",
      input: z.object({}),
      execute: () => void active.push(activeName()),
    });
    const looking = definePolicy({ name: "looking", check: () => (active.push(activeName()), { allowed: true }) });
    const { adapter } = traced([
      () => (active.push(activeName()), { toolCalls: [{ name: "looks" }] }),
      { text: "Done." },
    ]);
    await adapter.evaluate(promptOf("outer", looks), { policies: [looking] });
    expect(active).toEqual(["chat scripted-model", "execute_tool looks", "execute_tool looks"]);
  });
});

describe("OTEL-2", () => {
  test("OTEL-2 spans have the attributes of the conventions, some from their start", async () => {
    const started: Record<string, object>[] = [];
    const sdk = memorySdk();
    const provider = {
      getTracer: (...of: Parameters<typeof sdk.tracerProvider.getTracer>) => {
        const tracer = sdk.tracerProvider.getTracer(...of);
        return {
          startActiveSpan: tracer.startActiveSpan.bind(tracer),
          startSpan(...given: Parameters<typeof tracer.startSpan>) {
            started.push({ [given[0]]: { ...given[1]?.attributes }, kind: { kind: given[1]?.kind } });
            return tracer.startSpan(...given);
          },
        };
      },
    };
    const session = createSession({ id: "session-1" });
    const usage = {
      inputTokens: 20,
      outputTokens: 8,
      totalTokens: 28,
      cachedInputTokens: 5,
      reasoningTokens: 3,
      costUsd: 0.25,
    };
    const model: ModelProvider = {
      ...scriptedModel([
        { toolCalls: [{ ...noting("a"), id: "c1" }], usage },
        { text: "Done.", usage, finishReason: "length" },
      ]),
      name: "google.generative-ai",
      model: "gemini-9",
    };
    const adapter = modelAdapter(model, { observers: [openTelemetry({ ...sdk.providers, tracerProvider: provider })] });
    await failing(adapter.stream(promptOf("outer", note), { session }).response);
    const ids = { "gen_ai.conversation.id": "session-1", "session.id": "session-1" };
    const chat = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "gcp.gemini",
      "gen_ai.request.model": "gemini-9",
      "gen_ai.request.stream": true,
      "gen_ai.prompt.name": "app/outer",
      "gen_ai.output.type": "text",
      ...ids,
    };
    expect(started).toEqual([
      {
        "invoke_agent app/outer": { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "app/outer" },
        kind: { kind: SpanKind.INTERNAL },
      },
      { "chat gemini-9": chat, kind: { kind: SpanKind.CLIENT } },
      {
        "execute_tool note": {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": "note",
          "gen_ai.tool.call.id": "c1",
          "gen_ai.tool.type": "function",
          ...ids,
        },
        kind: { kind: SpanKind.INTERNAL },
      },
      { "chat gemini-9": chat, kind: { kind: SpanKind.CLIENT } },
    ]);
    const chats = sdk.spans().filter(({ name }) => name.startsWith("chat"));
    expect(chats[1]?.attributes).toMatchObject({
      "gen_ai.response.model": "scripted-model",
      "gen_ai.response.finish_reasons": ["length"],
      "gen_ai.response.time_to_first_chunk": expect.any(Number),
      "gen_ai.usage.input_tokens": 20,
      "gen_ai.usage.output_tokens": 8,
      "gen_ai.usage.cache_read.input_tokens": 5,
      "gen_ai.usage.reasoning.output_tokens": 3,
      "gen_ai.usage.cost": 0.25,
    });
    expect(chats[0]?.attributes["gen_ai.response.finish_reasons"]).toEqual(["tool_call"]);
    expect(sdk.spans().find(({ name }) => name.startsWith("invoke_agent"))?.attributes).toMatchObject(ids);
  });

  test.each([
    ["openai", "openai"],
    ["openai.responses", "openai"],
    ["azure.chat", "azure.ai.openai"],
    ["amazon-bedrock", "aws.bedrock"],
    ["mistral.chat", "mistral_ai"],
    ["xai.chat", "x_ai"],
    ["my-own", "my-own"],
  ])("OTEL-2 the provider %s is %s", async (name, known) => {
    const sdk = memorySdk();
    const model: ModelProvider = { ...scriptedModel([{ text: "Done." }]), name };
    await modelAdapter(model, { observers: [openTelemetry(sdk.providers)] }).evaluate("Hello.");
    const chat = sdk.spans().find((span) => span.name.startsWith("chat"));
    expect(chat?.attributes["gen_ai.provider.name"]).toBe(known);
  });
});

describe("OTEL-3 and OTEL-4", () => {
  const steps: readonly ScriptedStep[] = [
    {
      failure: "throttle",
      kind: "rate_limit",
      message: "slow down",
      retryAfterMs: 20,
      usage: { inputTokens: 7, outputTokens: 0, totalTokens: 7 },
    },
    { toolCalls: [noting("a")] },
    { text: "Done." },
  ];

  test("OTEL-3 usage and model stand on chat spans alone, and add up to what the evaluation spent", async () => {
    const environment = fakeEnvironment(1);
    const { adapter, spans } = traced(steps, {}, environment);
    const evaluating = adapter.evaluate(promptOf("outer", note));
    await environment.clock.advance(60_000);
    const { usage } = await evaluating;
    const sum = (name: string) => spans().reduce((all, { attributes }) => all + Number(attributes[name] ?? 0), 0);
    expect(sum("gen_ai.usage.input_tokens")).toBe(usage.inputTokens);
    expect(sum("gen_ai.usage.output_tokens")).toBe(usage.outputTokens);
    const others = spans().filter(({ name }) => !name.startsWith("chat"));
    const names = others.flatMap(({ attributes }) => Object.keys(attributes));
    expect(names.filter((name) => /usage|model/.test(name))).toEqual([]);
  });

  test("OTEL-4 each wait is an event of the chat span, which sums them up", async () => {
    const environment = fakeEnvironment(1);
    const { adapter, spans } = traced(steps, {}, environment);
    const evaluating = adapter.evaluate(promptOf("outer", note));
    await environment.clock.advance(60_000);
    await evaluating;
    const [first, second] = spans().filter(({ name }) => name.startsWith("chat"));
    expect(first?.events.map(({ name, attributes }) => ({ name, attributes }))).toEqual([
      {
        name: "proviso.throttled",
        attributes: { attempt: 1, kind: "rate_limit", delay_ms: expect.any(Number), retry_after_ms: 20 },
      },
    ]);
    expect(first?.attributes["proviso.throttle.waits"]).toBe(1);
    expect(first?.attributes["proviso.throttle.wait_ms"]).toBe(first?.events[0]?.attributes?.["delay_ms"]);
    expect(second?.attributes["proviso.throttle.waits"]).toBeUndefined();
  });
});

test.each([
  ["openai.responses", "openai"],
  ["google.generative-ai", "gcp.gemini"],
  ["google.vertex.chat", "gcp.vertex_ai"],
  ["vertex.anthropic.messages", "gcp.vertex_ai"],
  ["googleVertex.anthropic.messages", "gcp.vertex_ai"],
  ["bedrock.anthropic.messages", "aws.bedrock"],
  ["amazon-bedrock", "aws.bedrock"],
  ["bedrock-mantle.chat", "aws.bedrock"],
  ["azure.chat", "azure.ai.openai"],
  ["xai.responses", "x_ai"],
  ["some.gateway", "some.gateway"],
  ["", ""],
])("OTEL-2 the provider that is %j here is %j to the conventions", async (name, expected) => {
  const sdk = memorySdk();
  const observers = [openTelemetry(sdk.providers)];
  await modelAdapter({ ...scriptedModel([{ text: "Hi." }]), name }, { observers }).evaluate("Hello.");
  expect(sdk.spans()[0]?.attributes["gen_ai.provider.name"]).toBe(expected);
});

describe("OTEL-5", () => {
  test("OTEL-8 OTEL-5 a call that a veto undid is one call", async () => {
    const session = createSession({ slices: [notes] });
    session.on(note, ({ params }) => {
      if ("text" in params && params.text === "vetoed") throw new Error("No.");
    });
    const { adapter, metrics } = traced([{ toolCalls: [noting("a"), noting("vetoed")] }, { text: "Done." }]);
    await adapter.evaluate(promptOf("outer", note), { session });
    const calls = (await metrics()).find(({ descriptor }) => descriptor.name === "gen_ai.invoke_agent.tool_calls");
    expect(calls?.dataPoints[0]?.value).toMatchObject({ sum: 2 });
  });

  test("OTEL-5 a call is committed, undone or not run; a veto undoes it", async () => {
    const denying = definePolicy({ name: "denying", tools: [asks], check: () => deny("No.") });
    const session = createSession({ slices: [notes] });
    session.on(note, ({ result, params }) => {
      if (result.success && "text" in params && params.text === "vetoed") throw new Error("No.");
    });
    const calls = [noting("a"), noting("b", true), noting("vetoed"), { name: "asks" }, { name: "unknown" }];
    const { adapter, spans } = traced([{ toolCalls: calls }, { text: "Done." }]);
    await adapter.evaluate(promptOf("outer", note, asks), { session, policies: [denying] });
    const tools = spans().filter(({ name }) => name.startsWith("execute_tool"));
    expect(
      tools.map(({ name, attributes, status, events }) => [
        name,
        attributes["proviso.tool.outcome"],
        attributes["error.type"],
        status.code,
        events.map((event) => [event.name, event.attributes?.["proviso.slices"]]),
      ]),
    ).toEqual([
      ["execute_tool note", "committed", undefined, SpanStatusCode.UNSET, []],
      ["execute_tool note", "undone", "tool_error", SpanStatusCode.ERROR, [["proviso.undone", ["notes"]]]],
      ["execute_tool note", "undone", "tool_error", SpanStatusCode.ERROR, [["proviso.undone", ["notes"]]]],
      ["execute_tool asks", "not_run", "tool_error", SpanStatusCode.ERROR, []],
      ["execute_tool _OTHER", "not_run", "tool_error", SpanStatusCode.ERROR, []],
    ]);
  });

  test("OTEL-5 a failed evaluation is an error with its code, also one that could not begin", async () => {
    const { adapter, spans } = traced([{ failure: "provider", reason: "auth", message: "no key" } as never]);
    await failing(adapter.evaluate("Hello."));
    await failing(adapter.evaluate(undefined as never));
    expect(
      spans().map(({ name, attributes, status }) => [name, attributes["error.type"], status.code, status.message]),
    ).toEqual([
      ["chat scripted-model", "provider", SpanStatusCode.ERROR, undefined],
      ["invoke_agent (no prompt)".replace("(no prompt)", "app/text"), "provider", SpanStatusCode.ERROR, undefined],
      ["invoke_agent (no prompt)", expect.any(String), SpanStatusCode.ERROR, undefined],
    ]);
  });
});

describe("OTEL-7", () => {
  const steps: readonly ScriptedStep[] = [
    { text: "answer-one", toolCalls: [{ ...noting("argument-one"), id: "c1" }, noting("argument-two", true)] },
    { text: "answer-two" },
  ];

  test("OTEL-7 without content no text of prompt, answer, arguments, result or error is in any span", async () => {
    const { adapter, spans } = traced(steps);
    await adapter.evaluate(promptOf("outer", note));
    const all = JSON.stringify(
      spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
    );
    expect(all).not.toMatch(/secret-of-prompt|answer-|argument-|cannot note|Go on/);
  });

  test("OTEL-7 content is JSON by the schemas of the conventions", async () => {
    const { adapter, spans } = traced(steps, { content: "spans" });
    await adapter.evaluate(promptOf("outer", note));
    const [first, second] = spans().filter(({ name }) => name.startsWith("chat"));
    const jsonOf = (span: typeof first, name: string): unknown => JSON.parse(String(span?.attributes[name]));
    expect(jsonOf(first, "gen_ai.system_instructions")).toEqual([
      { type: "text", content: "The rules are secret-of-prompt." },
    ]);
    expect(jsonOf(first, "gen_ai.input.messages")).toEqual([
      { role: "user", parts: [{ type: "text", content: "Go on." }] },
    ]);
    expect(jsonOf(first, "gen_ai.output.messages")).toMatchObject([
      {
        role: "assistant",
        finish_reason: "tool_call",
        parts: [
          { type: "text", content: "answer-one" },
          { type: "tool_call", id: "c1", name: "note", arguments: { text: "argument-one", fail: false } },
          { type: "tool_call" },
        ],
      },
    ]);
    expect(jsonOf(first, "gen_ai.tool.definitions")).toEqual([{ type: "function", name: "note" }]);
    expect(jsonOf(second, "gen_ai.input.messages")).toMatchObject([
      { role: "user" },
      { role: "assistant" },
      { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: "argument-one" }] },
      { role: "tool" },
    ]);
    const [call] = spans().filter(({ name }) => name.startsWith("execute_tool"));
    expect(jsonOf(call, "gen_ai.tool.call.arguments")).toEqual({ text: "argument-one", fail: false });
    expect(jsonOf(call, "gen_ai.tool.call.result")).toBe("argument-one");
  });

  test("OTEL-7 an attribute keeps its bound and is valid JSON; the oldest messages are left out and counted", async () => {
    const many = Array.from({ length: 40 }, (_, index) => ({ toolCalls: [noting(`${"é".repeat(50)} ${index}`)] }));
    const { adapter, spans } = traced([...many, { text: "ü".repeat(2_000) }], {
      content: "spans",
      maxContentBytes: 1_000,
    });
    await adapter.evaluate(promptOf("outer", note));
    let dropped = 0;
    for (const { attributes } of spans()) {
      for (const [name, value] of Object.entries(attributes)) {
        if (!/messages|instructions|definitions|call\.(arguments|result)/.test(name)) continue;
        expect(() => JSON.parse(String(value))).not.toThrow();
        expect(Buffer.byteLength(String(value))).toBeLessThanOrEqual(1_000);
      }
      dropped = Math.max(dropped, Number(attributes["proviso.content.dropped"] ?? 0));
    }
    const last = JSON.parse(
      String(spans().findLast(({ name }) => name.startsWith("chat"))?.attributes["gen_ai.input.messages"]),
    ) as unknown[];
    expect(dropped + last.length).toBe(1 + 2 * 40);
    expect(last.length).toBeGreaterThan(0);
  });

  test("OTEL-7 the newest message is cut where it does not fit by itself", async () => {
    const { adapter, spans } = traced([{ text: "Done." }], { content: "spans", maxContentBytes: 100 });
    await adapter.evaluate("\u0001".repeat(500));
    const [chat] = spans();
    const messages = JSON.parse(String(chat?.attributes["gen_ai.input.messages"])) as {
      parts: { content: string }[];
    }[];
    expect(messages[0]?.parts[0]?.content.length).toBeGreaterThan(0);
  });
});

describe("OTEL-8", () => {
  test("OTEL-8 histograms and counters have the conventions' names, and no id is a dimension", async () => {
    const { adapter, metrics } = traced([{ toolCalls: [noting("a"), noting("b", true)] }, { text: "Done." }]);
    await adapter.stream(promptOf("outer", note)).response;
    const made = await metrics();
    const of = (name: string) => made.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
    expect(made.map(({ descriptor }) => descriptor.name).toSorted()).toEqual([
      "gen_ai.client.inference.duration",
      "gen_ai.client.inference.time_to_first_chunk",
      "gen_ai.client.inference.usage.input_tokens",
      "gen_ai.client.inference.usage.output_tokens",
      "gen_ai.execute_tool.duration",
      "gen_ai.invoke_agent.duration",
      "gen_ai.invoke_agent.inference_calls",
      "gen_ai.invoke_agent.tool_calls",
      "proviso.tool.undone",
    ]);
    expect(of("gen_ai.client.inference.usage.input_tokens")[0]?.value).toBe(20);
    expect(of("proviso.tool.undone")[0]?.value).toBe(1);
    expect(of("gen_ai.invoke_agent.tool_calls")[0]?.value).toMatchObject({ sum: 2 });
    expect(of("gen_ai.invoke_agent.inference_calls")[0]?.value).toMatchObject({ sum: 2 });
    const dimensions = new Set(
      made.flatMap(({ dataPoints }) => dataPoints.flatMap((one) => Object.keys(one.attributes))),
    );
    expect([...dimensions].filter((name) => /\bid\b|conversation|session/.test(name))).toEqual([]);
  });
});

describe("OTEL-9", () => {
  test("OTEL-9 every span ends whatever ends the evaluation: a call that never ends under an abort", async () => {
    const aborting = new AbortController();
    const hangs = defineTool({
      name: "hangs",
      description: "Hangs.",
      input: z.object({}),
      execute: () => (queueMicrotask(() => aborting.abort()), new Promise<never>(() => {})),
    });
    const { adapter, spans } = traced([{ toolCalls: [{ name: "hangs" }] }]);
    await failing(adapter.evaluate(promptOf("outer", hangs), { signal: aborting.signal }));
    expect(
      spans()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(["chat scripted-model", "execute_tool hangs", "invoke_agent app/outer"]);
    expect(spans().find(({ name }) => name === "execute_tool hangs")?.attributes["proviso.tool.outcome"]).toBe(
      "undone",
    );
  });

  test("OTEL-9 without a registered SDK no attribute is asked for and no span is made", async () => {
    let asked = 0;
    const observer = openTelemetry({ attributes: () => ((asked += 1), {}) });
    const { output } = await modelAdapter(scriptedModel([{ toolCalls: [noting("a")] }, { text: "Done." }]), {
      observers: [observer],
    }).evaluate(promptOf("outer", note));
    expect(output).toBe("Done.");
    expect(asked).toBe(0);
  });

  test("OTEL-9 attributes of the program are on every span; a function that throws is logged, and the spans are made", async () => {
    const records: string[] = [];
    const log = (_: object, message: string): void => void records.push(message);
    const logger = { debug: () => {}, info: log, warn: log, error: log };
    const { adapter, spans } = traced([{ text: "Done." }], { attributes: ({ kind }) => ({ tenant: `of ${kind}` }) });
    await adapter.evaluate("Hello.");
    expect(spans().map(({ attributes }) => attributes["tenant"])).toEqual(["of request", "of evaluation"]);
    const calls = [noting("a"), { name: "note", arguments: { text: 1 } }, { name: "unknown" }];
    const called = traced([{ toolCalls: calls }, { text: "Done." }], {
      attributes: (step) => ({ tenant: step.kind === "tool" ? step.name : step.kind }),
    });
    await called.adapter.evaluate(promptOf("outer", note));
    const tenants = called.spans().map(({ attributes }) => attributes["tenant"]);
    expect(tenants.filter((tenant) => tenant === "note" || tenant === "unknown")).toEqual(["note", "note", "unknown"]);
    expect(tenants).toHaveLength(6);
    const throwing = traced(
      [{ text: "Done." }],
      {
        attributes: () => {
          throw new Error("no tenant");
        },
      },
      { logger },
    );
    await throwing.adapter.evaluate("Hello.");
    expect(throwing.spans()).toHaveLength(2);
    expect(records).toEqual(["observer.failed", "observer.failed"]);
  });

  test.each([
    ["a promise that rejects", () => Promise.reject(new Error("no tenant"))],
    [
      "a getter that throws",
      () => ({
        get tenant() {
          throw new Error("no tenant");
        },
      }),
    ],
  ])("OTEL-9 attributes of the program that are %s are logged, and the spans are made", async (_, attributes) => {
    const records: string[] = [];
    const log = (_fields: object, message: string): void => void records.push(message);
    const logger = { debug: () => {}, info: log, warn: log, error: log };
    const { adapter, spans } = traced([{ text: "Done." }], { attributes: attributes as never }, { logger });
    await adapter.evaluate("Hello.");
    expect(spans()).toHaveLength(2);
    expect(records).toEqual(["observer.failed", "observer.failed"]);
  });
});

describe("OTEL-10", () => {
  test("OTEL-10 the 2.x SDK with the API 1.9, registered for the whole process, gets the same tree", () => {
    const program = join(import.meta.dirname, "with-older-sdk.ts");
    const printed = execFileSync(process.execPath, ["--conditions=@proviso/source", program], { encoding: "utf8" });
    expect(JSON.parse(printed)).toEqual(nestedTree);
  });

  test("OTEL-10 what cannot be is refused when the observer is made", () => {
    expect(() => openTelemetry({ content: "all" as never })).toThrow('content must be "none" or "spans", not "all"');
    expect(() => openTelemetry({ maxContentBytes: 0 })).toThrow("maxContentBytes must be a whole number");
    expect(() => openTelemetry({ contents: "spans" } as never)).toThrow("contents");
  });
});
