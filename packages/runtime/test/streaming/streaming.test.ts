import { defineEvent, defineTool, type StreamEvent } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { z } from "zod";
import { promptOf, rejectionOf } from "../state/support.ts";
import { all, answer, hello, streamingModel, structured, textsOf } from "./support.ts";

const overloaded = { failure: "throttle", kind: "server_error", message: "overloaded" } as const;

test("STR-1 only stream asks for deltas and emits them; evaluate is the same without", async () => {
  const attempts = [{ pieces: ["Hel", "lo"], answer: answer("Hello") }];
  const typesOf = async (how: "stream" | "evaluate") => {
    const model = streamingModel(attempts);
    const session = createSession();
    const events = recordEvents(session);
    const adapter = modelAdapter(model, fakeEnvironment());
    if (how === "stream") await all(adapter.stream(hello, { session }));
    else await adapter.evaluate(hello, { session });
    expect(model.asked[0]?.onDelta === undefined).toBe(how === "evaluate");
    return events.map(({ type }) => type);
  };
  const streamed = await typesOf("stream");
  expect(streamed.filter((type) => type === "text.delta")).toHaveLength(2);
  expect(streamed.filter((type) => type !== "text.delta")).toEqual(await typesOf("evaluate"));
});

test.each([
  ["nothing of it", []],
  ["a part of it", ["Hel"]],
  ["all of it", ["He", "l", "lo"]],
  ["something else", ["Good", "bye"]],
  ["more than it", ["Hello", " and"]],
])(
  "STR-1 the deltas since the last reset add up to the turn's text when the provider emitted %s",
  async (_, pieces) => {
    const adapter = modelAdapter(streamingModel([{ pieces, answer: answer("Hello") }]), fakeEnvironment());
    const texts = textsOf(await all(adapter.stream(hello)));
    expect(texts.slice(texts.lastIndexOf("(reset)") + 1).join("")).toBe("Hello");
  },
);

test("STR-1 what a provider emits after its answer is dropped", async () => {
  const model = streamingModel([{ pieces: ["Hello"], answer: answer("Hello"), late: ["!", "!"] }]);
  const session = createSession();
  const events = recordEvents(session);
  await all(modelAdapter(model, fakeEnvironment()).stream(hello, { session }));
  await new Promise((resolve) => setImmediate(resolve));
  expect(events.filter(({ type }) => type === "text.delta")).toHaveLength(1);
});

test("THR-9 after a streamed attempt that failed, text.reset comes before the next attempt's deltas", async () => {
  const environment = fakeEnvironment();
  const model = streamingModel([
    { pieces: ["Hel"], answer: overloaded },
    { answer: overloaded },
    { pieces: ["Hello"], answer: answer("Hello") },
  ]);
  const reading = all(modelAdapter(model, environment).stream(hello));
  await environment.clock.advance(30_000);
  expect(textsOf(await reading)).toEqual(["Hel", "(reset)", "Hello"]);
});

test("LIM-6 a streamed attempt that failed is charged for what it emitted", async () => {
  const environment = fakeEnvironment();
  const model = streamingModel([
    { pieces: ["word ".repeat(60), "word ".repeat(40)], answer: overloaded },
    { answer: answer("Hello") },
  ]);
  const stream = modelAdapter(model, environment).stream(hello);
  await environment.clock.advance(30_000);
  const { usage } = await stream.response;
  expect(usage.outputTokens).toBe(100 + 5);
  expect(usage.estimated).toBe(true);
});

test("STR-2 the iteration yields this evaluation's events alone, application events wrapped, and ends with prompt.executed", async () => {
  const pinged = defineEvent("pinged", z.object({ n: z.number() }));
  const ping = defineTool({
    name: "ping",
    description: "Pings, and evaluates inside.",
    input: z.object({}),
    async execute(_, context) {
      context.session.dispatch(pinged({ n: 1 }));
      await context.evaluate(hello);
    },
  });
  const session = createSession();
  const model = scriptedModel([{ toolCalls: [{ name: "ping" }] }, { text: "inside" }, { text: "done" }]);
  const stream = modelAdapter(model, fakeEnvironment()).stream(promptOf({ tools: [ping] }), { session });
  session.dispatch(pinged({ n: 99 }));
  const events = await all(stream);
  expect(events.filter(({ type }) => type !== "text.delta").map(({ type }) => type)).toEqual([
    "prompt.rendered",
    "provider.requested",
    "provider.responded",
    "tool.requested",
    "tool.invoked",
    "app",
    "provider.requested",
    "provider.responded",
    "prompt.executed",
  ]);
  expect(events.find(({ type }) => type === "app")).toEqual({ type: "app", event: { type: "pinged", n: 1 } });
  expect(new Set(events.flatMap((event) => (event.type === "app" ? [] : [event.evaluationId]))).size).toBe(1);
});

test("STR-2 a failed evaluation ends the iteration with prompt.failed, and then throws", async () => {
  const adapter = modelAdapter(scriptedModel([{ failure: "provider", reason: "api_key", message: "no" }]));
  const events: StreamEvent<unknown>[] = [];
  const reading = (async () => {
    for await (const event of adapter.stream(hello)) events.push(event);
  })();
  expect(await rejectionOf(reading)).toMatchObject({ code: "provider", reason: "api_key" });
  expect(events.at(-1)).toMatchObject({ type: "prompt.failed", code: "provider" });
});

test("STR-2 deltas of two turns are never merged: each turn's add up to its own text", async () => {
  const [first, second] = ["a".repeat(3_000), "b".repeat(3_000)];
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
  const message = { role: "assistant", text: first, toolCalls: [{ id: "c1", name: "look", arguments: "{}" }] } as const;
  const model = streamingModel([
    { pieces: first.split(""), answer: answer(first, { message, finishReason: "tool-calls" }) },
    { pieces: second.split(""), answer: answer(second) },
  ]);
  const stream = modelAdapter(model, fakeEnvironment()).stream(promptOf({ tools: [look] }));
  await stream.response;
  const events = await all(stream);
  expect(events.length).toBeLessThan(1_100);
  const textOf = (turn: number): string =>
    events.map((event) => (event.type === "text.delta" && event.turn === turn ? event.text : "")).join("");
  expect([textOf(1), textOf(2)]).toEqual([first, second]);
});

test("STR-2 a slow reader gets merged deltas beyond the bound, and loses nothing", async () => {
  const schema = z.object({ text: z.string() });
  const text = JSON.stringify({ text: "x".repeat(9_000) });
  for (const [prompt, most] of [
    [hello, 1_030],
    [structured(schema), 1_030],
  ] as const) {
    const model = streamingModel([{ pieces: text.split(""), answer: answer(text) }]);
    const session = createSession();
    const told = recordEvents(session);
    const stream = modelAdapter(model, fakeEnvironment()).stream(prompt as typeof hello, { session });
    await stream.response;
    expect(told.length).toBeGreaterThan(9_000);
    const events = await all(stream);
    expect(events.length).toBeLessThanOrEqual(most);
    expect(textsOf(events).join("")).toBe(text);
    const numbers = events.flatMap((event) => (event.type === "app" ? [] : [event.seq]));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(events.at(-1)?.type).toBe("prompt.executed");
  }
});

test("STR-3 leaving the iteration early aborts the evaluation", async () => {
  const environment = fakeEnvironment();
  const model = scriptedModel([{ text: "never", afterMs: 60_000 }], { clock: environment.clock });
  const stream = modelAdapter(model, environment).stream(hello);
  for await (const event of stream) if (event.type === "provider.requested") break;
  expect(await rejectionOf(stream.response)).toMatchObject({ code: "aborted", phase: "request" });
  expect(environment.clock.pending).toBe(0);
});

test("STR-3 SEC-3 an unread stream and a response that is not awaited cause no unhandled rejection", async () => {
  const rejections: unknown[] = [];
  const hear = (reason: unknown): void => void rejections.push(reason);
  process.on("unhandledRejection", hear);
  try {
    const adapter = modelAdapter(scriptedModel([]));
    adapter.stream(hello);
    adapter.stream(undefined as never);
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", hear);
  }
  expect(rejections).toEqual([]);
});

test("STR-3 the caller's own signal ends the stream, and no listener stays on it", async () => {
  const controller = new AbortController();
  const environment = fakeEnvironment();
  const model = scriptedModel([{ text: "never", afterMs: 60_000 }], { clock: environment.clock });
  const stream = modelAdapter(model, environment).stream(hello, { signal: controller.signal });
  await environment.clock.advance(1);
  controller.abort(new Error("enough"));
  expect(await rejectionOf(all(stream))).toMatchObject({ code: "aborted" });
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
});

test("STR-2 a stream is read once", async () => {
  const stream = modelAdapter(scriptedModel([{ text: "x" }])).stream(hello);
  await all(stream);
  expect(await rejectionOf(all(stream))).toMatchObject({ code: "definition" });
});

const review = z.object({ title: z.string(), issues: z.array(z.object({ line: z.number(), why: z.string() })) });
const reviewed = {
  title: "Fine ```json",
  issues: [
    { line: 12, why: "x {" },
    { line: 3, why: "y" },
  ],
};

test.each([
  ["alone", JSON.stringify(reviewed)],
  ["fenced", `Here it is:\n\`\`\`json\n${JSON.stringify({ ...reviewed, title: "Fine" }, null, 1)}\n\`\`\`\nDone.`],
])("STR-4 output.delta carries the output as far as it can be read, %s", async (_, text) => {
  const model = streamingModel([{ pieces: text.split(""), answer: answer(text) }]);
  const stream = modelAdapter(model, fakeEnvironment()).stream(structured(review));
  const partials: unknown[] = [];
  for await (const event of stream) {
    if (event.type !== "output.delta") continue;
    partials.push(event.partial);
    const why: string | undefined = event.partial.issues?.[0]?.why;
    expect(why === undefined || "x {".startsWith(why)).toBe(true);
    for (const issue of event.partial.issues ?? []) expect([12, 3, undefined]).toContain(issue.line);
  }
  const { output } = await stream.response;
  expect(partials.length).toBeGreaterThan(10);
  expect(partials.at(-1)).toEqual(output);
});

test.each([
  ["an array", z.array(z.string()), '["a","b"]', ["a", "b"]],
  ["a wrapped array", z.array(z.string()), '{"items":["a","b"]}', ["a", "b"]],
  ["a wrapped value", z.string().max(9), '{"value":"word"}', "word"],
])("STR-4 %s is emitted unwrapped", async (_, schema, text, whole) => {
  const model = streamingModel([{ pieces: text.split(""), answer: answer(text) }]);
  const events = await all(modelAdapter(model, fakeEnvironment()).stream(structured(schema)));
  const partials = events.flatMap((event) => (event.type === "output.delta" ? [event.partial] : []));
  expect(partials.length).toBeGreaterThan(1);
  expect(partials.at(-1)).toEqual(whole);
});

test("STR-2 readers that ask before they were answered are answered in their order", async () => {
  const model = streamingModel([{ pieces: ["a", "b"], answer: answer("ab") }]);
  const reader = modelAdapter(model, fakeEnvironment()).stream(hello)[Symbol.asyncIterator]();
  const read = await Promise.all(Array.from({ length: 8 }, () => reader.next()));
  expect(read.map(({ value }) => (value as StreamEvent | undefined)?.type)).toEqual([
    "prompt.rendered",
    "provider.requested",
    "text.delta",
    "text.delta",
    "provider.responded",
    "prompt.executed",
    undefined,
    undefined,
  ]);
});

test("STR-4 a block of code inside the output does not end it", async () => {
  const output = { title: 'Use ```js\nrun()\n``` "now"', why: "or ```json" };
  const schema = z.object({ title: z.string(), why: z.string() });
  for (const json of [JSON.stringify(output), JSON.stringify(output, null, 2)]) {
    for (const text of [json, `Here:\n\`\`\`json\n${json}\n\`\`\``]) {
      const model = streamingModel([{ pieces: text.split(""), answer: answer(text) }]);
      const events = await all(modelAdapter(model, fakeEnvironment()).stream(structured(schema)));
      const partials = events.flatMap((event) => (event.type === "output.delta" ? [event.partial] : []));
      expect(partials.at(-1)).toEqual(output);
    }
  }
});

test("STR-4 hostile keys reach no prototype, and text that is no JSON emits no output", async () => {
  for (const text of ['{"__proto__": {"polluted": true}, "title": "x"}', "No JSON here.", "[".repeat(50_000)]) {
    const model = streamingModel([{ pieces: [text.slice(0, 20), text.slice(20)], answer: answer(text) }]);
    const stream = modelAdapter(model, fakeEnvironment()).stream(structured(review));
    await rejectionOf(all(stream));
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  }
});
