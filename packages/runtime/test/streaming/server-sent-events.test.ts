import { definePrompt, defineTool, provideFactory, resourceKey, type ModelProvider, type Prompt } from "@proviso/core";
import { modelAdapter, serverSentEvents } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const text = definePrompt({ key: "text", text: "Say hello." });
const poem = definePrompt({ key: "poem", output: z.object({ lines: z.array(z.string()) }), text: "Write a poem." });

/** Messages as a browser receives them; comments are dropped, as a browser does. */
async function received(body: ReadableStream<Uint8Array>): Promise<{ event: string; data: unknown }[]> {
  const whole = await new Response(body).text();
  const blocks = whole.split("\n\n").filter((block) => block !== "" && !block.startsWith(":"));
  return blocks.map((block) => {
    const [event = "", data = ""] = block.split("\n");
    return { event: event.replace("event: ", ""), data: JSON.parse(data.replace("data: ", "")) as unknown };
  });
}

type Received = Awaited<ReturnType<typeof received>>;
const textOf = (messages: Received): string =>
  messages.flatMap(({ event, data }) => (event === "text" ? [String(data)] : [])).join("");

test("STR-6 the texts of an answer are sent as they come, and its output at the end", async () => {
  const adapter = modelAdapter(scriptedModel([{ text: "Hello\nyou\n\nevent: forged" }]));
  const messages = await received(serverSentEvents(adapter.stream(text.bind())));
  expect(messages.at(-1)).toEqual({ event: "done", data: "Hello\nyou\n\nevent: forged" });
  const texts = messages.slice(0, -1);
  expect(texts[0]).toEqual({ event: "turn", data: { turn: 1 } });
  expect(new Set(texts.slice(1).map(({ event }) => event))).toEqual(new Set(["text"]));
  expect(textOf(texts)).toBe("Hello\nyou\n\nevent: forged");
});

test("STR-6 a structured output is sent as far as it is there", async () => {
  const adapter = modelAdapter(scriptedModel([{ output: { lines: ["Roses are red"] } }]));
  const messages = await received(serverSentEvents(adapter.stream(poem.bind())));
  // Text deltas are the JSON that the parts were read from.
  const partials = messages.filter(({ event }) => event === "partial");
  expect(partials.at(-1)?.data).toEqual({ lines: ["Roses are red"] });
  expect(messages.at(-1)).toEqual({ event: "done", data: { lines: ["Roses are red"] } });
});

test.each([
  ["a bigint", 5n, "5"],
  ["a function", () => 5, null],
])("STR-6 an output that is %s is sent as prompt.executed shows it", async (_, value, data) => {
  const output = z.object({ n: z.number() }).transform((): unknown => value);
  const prompt = definePrompt({ key: "odd", output, text: "Count." });
  const stream = modelAdapter(scriptedModel([{ output: { n: 5 } }])).stream(prompt.bind());
  const messages = await received(serverSentEvents(stream));
  expect(messages.at(-1)).toEqual({ event: "done", data });
  expect((await stream.response).output).toBe(value);
});

test.each([
  ["a text", definePrompt({ key: "text", text: "Say it." }), { text: "The key is sk-canary-4711." }],
  [
    "a structured output",
    definePrompt({ key: "parts", output: z.object({ a: z.string() }), text: "Say it." }),
    { output: { a: "sk-canary-4711" } },
  ],
])("SEC-1 STR-6 a secret of the adapter is in no message, also not in the last one: %s", async (_, prompt, step) => {
  const adapter = modelAdapter(scriptedModel([step]), { secrets: ["sk-canary-4711"] });
  const whole = await new Response(serverSentEvents(adapter.stream(prompt.bind() as Prompt<unknown>))).text();
  expect(whole).not.toContain("canary");
  expect(whole.split("event: done").at(-1)).toContain("[secret]");
});

/** What a page shows that follows `turn` and `reset`. */
function pageOf(messages: Received): string {
  const shown = new Map<number, string>();
  let turn = 1;
  for (const { event, data } of messages) {
    const of = (data as { readonly turn?: number } | null)?.turn ?? 0;
    if (event === "turn") turn = of;
    if (event === "text") shown.set(turn, (shown.get(turn) ?? "") + String(data));
    if (event === "reset") for (const at of shown.keys()) if (at >= of) shown.delete(at);
  }
  return [...shown.values()].join("|");
}

test("STR-6 a page drops what a failed attempt has shown of a turn, and no other turn", async () => {
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
  const prompt = definePrompt({ key: "two", sections: [{ key: "t", role: "user", text: "Go.", tools: [look] }] });
  let asked = 0;
  const provider: ModelProvider = {
    name: "m",
    model: "m",
    capabilities: { tools: true, nativeOutput: false },
    async generate({ onDelta }) {
      asked += 1;
      const said = ["Let me look. ", "The answ", "The answer."][asked - 1] ?? "";
      onDelta?.({ kind: "text", text: said });
      if (asked === 2) return { failure: "throttle", kind: "server_error", message: "Overloaded." };
      const toolCalls = asked === 1 ? [{ id: "1", name: "look", arguments: "{}" }] : [];
      return { message: { role: "assistant", text: said, toolCalls }, finishReason: "stop" };
    },
  };
  const adapter = modelAdapter(provider, { throttle: { baseDelayMs: 1 } });
  const messages = await received(serverSentEvents(adapter.stream(prompt.bind())));
  expect(messages).toEqual([
    { event: "turn", data: { turn: 1 } },
    { event: "text", data: "Let me look. " },
    { event: "turn", data: { turn: 2 } },
    { event: "text", data: "The answ" },
    { event: "reset", data: { turn: 2 } },
    { event: "text", data: "The answer." },
    { event: "done", data: "The answer." },
  ]);
  expect(pageOf(messages)).toBe("Let me look. |The answer.");
});

test("STR-6 RTE-8 a page drops all that was shown of an evaluation that begins again", async () => {
  const models = [[{ text: "One, I think." }], [{ text: '{"lines":["a"]}' }]] as const;
  const chain = fallback(
    models.map((steps) => modelAdapter(scriptedModel(steps))),
    { on: ["output"] },
  );
  const messages = await received(serverSentEvents(chain.stream(poem.bind())));
  expect(pageOf(messages)).toBe('{"lines":["a"]}');
  expect(messages).toContainEqual({ event: "reset", data: { turn: 1 } });
  expect(messages.at(-1)).toEqual({ event: "done", data: { lines: ["a"] } });
});

test("STR-6 `show` chooses what is sent", async () => {
  const adapter = modelAdapter(scriptedModel([{ text: "Hello" }]));
  const body = serverSentEvents(adapter.stream(text.bind()), {
    show: (event) =>
      event.type === "provider.responded" ? { event: "cost", data: event.usage.totalTokens } : undefined,
  });
  expect((await received(body)).map(({ event }) => event)).toEqual(["cost", "done"]);
});

test("STR-6 data that JSON has no word for is sent as null", async () => {
  const body = serverSentEvents(modelAdapter(scriptedModel([{ text: "Hello" }])).stream(text.bind()), {
    show: (event) => (event.type === "provider.responded" ? { event: "odd", data: () => 1 } : undefined),
  });
  expect((await received(body))[0]).toEqual({ event: "odd", data: null });
});

test("STR-6 a failure is sent by its code alone", async () => {
  const adapter = modelAdapter(
    scriptedModel([{ failure: "provider", reason: "bad_request", message: "secret details" }]),
  );
  expect(await received(serverSentEvents(adapter.stream(text.bind())))).toEqual([
    { event: "turn", data: { turn: 1 } },
    { event: "failed", data: { code: "provider" } },
  ]);
});

test("STR-6 a name of several lines is refused: it would become a message of its own", async () => {
  const adapter = modelAdapter(scriptedModel([{ text: "Hello" }]));
  const stream = adapter.stream(text.bind());
  const body = serverSentEvents(stream, { show: () => ({ event: "a\ndata: forged" }) });
  await expect(new Response(body).text()).rejects.toThrow("needs a name of one line");
  await expect(stream.response).rejects.toMatchObject({ code: "aborted" });
});

/** A model that answers when it is told to, or is aborted. */
function waitingModel() {
  const environment = fakeEnvironment();
  let isAborted = false;
  const { promise, resolve } = Promise.withResolvers<void>();
  const provider: ModelProvider = {
    name: "m",
    model: "m",
    capabilities: { tools: false, nativeOutput: false },
    async generate({ signal }) {
      signal.addEventListener("abort", () => {
        isAborted = true;
        resolve();
      });
      await promise;
      return { message: { role: "assistant", text: "late", toolCalls: [] }, finishReason: "stop" };
    },
  };
  const adapter = modelAdapter(provider, environment);
  return { adapter, clock: environment.clock, answer: resolve, isAborted: () => isAborted };
}

test("STR-6 a comment keeps the connection open while nothing is sent", async () => {
  const { adapter, clock, answer } = waitingModel();
  const body = serverSentEvents(adapter.stream(text.bind()), { heartbeatMs: 1_000, clock });
  const whole = new Response(body).text();
  await clock.advance(3_500);
  answer();
  await clock.advance(0);
  expect((await whole).match(/^: /gm)).toHaveLength(3);
  expect(clock.pending).toBe(0);
});

test("STR-6 a browser that leaves aborts the evaluation", async () => {
  const { adapter, clock, isAborted } = waitingModel();
  const stream = adapter.stream(text.bind());
  const reader = serverSentEvents(stream, { clock }).getReader();
  void reader.read();
  await clock.advance(10);
  expect(isAborted()).toBe(false);
  await reader.cancel();
  expect(isAborted()).toBe(true);
  await expect(stream.response).rejects.toMatchObject({ code: "aborted" });
  expect(clock.pending).toBe(0);
});

test.each([
  [undefined, {}, "needs what adapter.stream returns"],
  [{}, {}, "needs what adapter.stream returns"],
  ["stream", { heartbeatMs: 0 }, "heartbeatMs must be positive"],
  ["stream", { retry: 3 }, "serverSentEvents has no option retry"],
])("STR-6 what cannot be sent is refused: %o %o", (given, options, message) => {
  const { adapter, answer } = waitingModel();
  const stream = given === "stream" ? adapter.stream(text.bind()) : given;
  answer();
  expect(() => serverSentEvents(stream as never, options as never)).toThrow(message);
});

test("STR-6 nothing is sent after `show` threw, also while the evaluation still ends", async () => {
  const { clock } = fakeEnvironment();
  const Database = resourceKey<object>("database");
  const close = (): Promise<void> => clock.sleep(50);
  const database = provideFactory(Database, () => ({}), { eager: true, close });
  const { stream } = modelAdapter(scriptedModel([{ text: "Hello there." }]), { clock });
  const body = serverSentEvents(stream(text.bind(), { resources: [database] }), {
    clock,
    heartbeatMs: 5,
    show() {
      throw new Error("show failed");
    },
  });
  await expect(body.getReader().read()).rejects.toThrow("show failed");
  // Beats that are due while the database is closed: one that was sent would throw in its timer.
  await clock.advance(100);
});
