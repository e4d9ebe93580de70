import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  DefinitionError,
  toolOk,
  type AssistantMessage,
  type Message,
  type ModelProvider,
  type PromptResponse,
  type SessionEvent,
} from "@proviso/core";
import { createSession, memoryOverrides, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, promptOf, rejectionOf, thrownBy, toolMessages } from "./support.ts";

/** The paths of what is not frozen. */
function unfrozen(value: unknown, path = "it"): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, item]) => unfrozen(item, `${path}.${key}`));
  return Object.isFrozen(value) ? inner : [path, ...inner];
}

interface Lists {
  readonly items: { tags: string[] }[];
}
const listed = defineEvent("listed", z.custom<Lists>());
const receipt = defineTool({
  name: "receipt",
  description: "Pays.",
  input: z.object({ to: z.object({ name: z.string() }) }),
  execute: ({ to }) => toolOk({ receipt: "genuine", to, lines: [{ n: 1 }] }, { message: "Paid." }),
});
const pay = { name: "receipt", arguments: { to: { name: "Ada" } } };

test("EVT-5 a listener cannot change a result: not what the model reads, what others receive, nor the response's", async () => {
  const session = createSession();
  const thrown: unknown[] = [];
  const heard: unknown[] = [];
  session.on(receipt, ({ params, result }) => {
    const writes = [
      () => ((result as { message: string }).message = "FORGED"),
      () => result.success && ((result.value as { receipt: string }).receipt = "FORGED"),
      () => result.success && ((result.value as { lines: { n: number }[] }).lines[0] as { n: number }).n++,
      () => (params as { to: { name: string } }).to.name === "Ada" && ((params as { to: unknown }).to = "FORGED"),
    ];
    thrown.push(...writes.map(thrownBy));
  });
  session.on(receipt, ({ result }) => void heard.push(structuredClone(result)));
  const { toolResults, messages } = await evaluateCalls(promptOf({ tools: [receipt] }), [pay], { session });
  expect(thrown).toEqual(Array(4).fill(expect.any(TypeError)));
  const genuine = { receipt: "genuine", to: { name: "Ada" }, lines: [{ n: 1 }] };
  expect(heard).toEqual([{ success: true, message: "Paid.", value: genuine, hideValue: false }]);
  expect(toolResults).toMatchObject([{ result: { value: genuine } }]);
  expect(toolMessages(messages)[0]?.text).toBe(`Paid.\n\n${JSON.stringify(genuine)}`);
});

/** An evaluation, streamed, in which everything happens that is told. */
async function eventful(): Promise<readonly SessionEvent[]> {
  const inner = definePrompt({ ns: "tests", key: "inner", sections: [{ key: "s", text: "Go." }] }).bind();
  const nest = defineTool({
    name: "nest",
    description: "Evaluates inside.",
    input: z.object({}),
    execute: async (_, context) =>
      (await context.evaluate(inner, { adapter: modelAdapter(scriptedModel([{ text: "inside" }])) })).text,
  });
  const more = defineTool({ name: "more", description: "Of the manual.", input: z.object({}), execute: () => 1 });
  const prompt = definePrompt({
    ns: "tests",
    key: "eventful",
    params: z.object({ who: z.object({ names: z.array(z.string()) }) }),
    output: z.object({ list: z.array(z.object({ n: z.number() })) }),
    sections: [
      { key: "guide", text: "Work.", tools: [receipt, nest] },
      { key: "manual", title: "Manual", text: "Long.", summary: "Short.", visibility: "summary", tools: [more] },
    ],
    feedback: [{ name: "reminder", every: { calls: 1 }, provide: () => "Go on." }],
  });
  const store = memoryOverrides();
  await store.seed(prompt, "latest");
  const session = createSession();
  const events = recordEvents(session);
  const throttle = { failure: "throttle", kind: "rate_limit", message: "later", retryAfterMs: 0 } as const;
  const model = scriptedModel([
    {
      toolCalls: [
        pay,
        { name: "receipt", arguments: "{" },
        { name: "nest", arguments: {} },
        { name: "open_sections", arguments: { keys: ["manual"], reason: "needed" } },
      ],
    },
    { text: '{"list":[{"n":1},{"n":2}]}' },
  ]);
  let refused = false;
  const provider: ModelProvider = {
    ...model,
    async generate(request) {
      if (!refused) {
        refused = true;
        request.onDelta?.({ kind: "text", text: "a" });
        return throttle;
      }
      return model.generate(request);
    },
  };
  const adapter = modelAdapter(provider, { throttle: { baseDelayMs: 0 } });
  const bound = prompt.bind({ who: { names: ["Ada"] } });
  const stream = adapter.stream(bound, { session, overrides: { store } });
  const told: unknown[] = [];
  for await (const event of stream) told.push(event);
  expect(events).toEqual(expect.arrayContaining(told));
  await rejectionOf(modelAdapter(scriptedModel([{ text: "no JSON" }])).evaluate(bound, { session }));
  return events;
}

test("EVT-5 framework events of every kind are frozen at every depth", async () => {
  const events = await eventful();
  expect([...new Set(events.map(({ type }) => type))].toSorted()).toEqual([
    "feedback.given",
    "output.delta",
    "prompt.executed",
    "prompt.failed",
    "prompt.rendered",
    "provider.requested",
    "provider.responded",
    "provider.throttled",
    "sections.opened",
    "text.delta",
    "text.reset",
    "tool.invoked",
    "tool.requested",
  ]);
  expect(events.some((event) => "parent" in event)).toBe(true);
  expect(events.flatMap((event) => unfrozen(event, event.type))).toEqual([]);
});

test("EVT-5 a result that is nested thousands of levels deep is frozen to its end", async () => {
  const deep = defineTool({
    name: "deep",
    description: "Nests.",
    input: z.object({}),
    execute() {
      let value: unknown = "end";
      for (let level = 0; level < 1_000; level++) value = { in: [value] };
      return value;
    },
  });
  const { toolResults } = await evaluateCalls(promptOf({ tools: [deep] }), [{ name: "deep" }]);
  let at: unknown = toolResults[0]?.result.success === true ? toolResults[0].result.value : undefined;
  let levels = 0;
  for (; typeof at === "object" && at !== null; levels++) {
    expect(Object.isFrozen(at)).toBe(true);
    at = Object.values(at)[0];
  }
  expect([levels, at]).toEqual([2_000, "end"]);
});

test("EVT-5 a dispatched event is frozen at every depth before a reducer or a listener has it", () => {
  const thrown: unknown[] = [];
  const lengths: number[] = [];
  const reducing = defineSlice({
    name: "lengths",
    initial: 0,
    reducers: ({ on }) =>
      on(listed, (_, { items }) => {
        thrown.push(thrownBy(() => items.push({ tags: [] })));
        return items.length;
      }),
  });
  const session = createSession({ slices: [reducing] });
  session.on(listed, ({ items }) => void thrown.push(thrownBy(() => items[0]?.tags.push("x"))));
  session.on(listed, ({ items }) => void lengths.push(items.length, items[0]?.tags.length ?? -1));
  const made = listed({ items: [{ tags: ["a"] }] });
  expect(session.dispatch(made)).toEqual({ ok: true, errors: [] });
  expect(session.dispatch({ type: "listed", items: Object.freeze([{ tags: ["a"] }]) } as never).ok).toBe(true);
  expect(thrown).toEqual(Array(4).fill(expect.any(TypeError)));
  expect([lengths, session.get(reducing)]).toEqual([[1, 1, 1, 1], 1]);
});

test("EVT-5 what a tool dispatches is frozen before its reducers, with secrets and without", async () => {
  for (const secrets of [[], ["a-secret-of-mine"]]) {
    const session = createSession();
    const events = recordEvents(session);
    const notFrozen: unknown[] = [];
    const slice = defineSlice({
      name: "seen",
      initial: 0,
      reducers: ({ on }) =>
        on(listed, (count, event) => {
          notFrozen.push(...unfrozen(event));
          return count + 1;
        }),
    });
    const dispatch = defineTool({
      name: "dispatch",
      description: "Dispatches.",
      input: z.object({}),
      execute: (_, context) =>
        context.session.dispatch(listed({ items: [{ tags: ["a-secret-of-mine", "b"] }, { tags: [] }] })).ok,
    });
    const prompt = promptOf({ tools: [dispatch], slices: [slice] });
    await evaluateCalls(prompt, [{ name: "dispatch" }], { session }, { ...fakeEnvironment(), secrets });
    expect(session.get(slice)).toBe(1);
    expect(notFrozen).toEqual([]);
    expect(events.filter(({ type }) => type === "listed").flatMap((event) => unfrozen(event))).toEqual([]);
    expect(JSON.stringify(events).includes("a-secret-of-mine")).toBe(secrets.length === 0);
  }
});

test("EVT-5 Map and Set in an event cannot be changed; what cannot be frozen is passed over", () => {
  class Account {
    owner = { name: "Ada" };
  }
  const map = new Map([["a", { n: 1 }]]);
  const [set, at, account] = [new Set([1]), new Date(0), new Account()];
  const session = createSession();
  expect(session.dispatch({ type: "mixed", map, set, at, account, bytes: new Uint8Array(2) } as never).ok).toBe(true);
  expect(thrownBy(() => map.set("b", { n: 2 }))).toBeInstanceOf(TypeError);
  expect(thrownBy(() => ((map.get("a") as { n: number }).n = 2))).toBeInstanceOf(TypeError);
  expect(thrownBy(() => set.clear())).toBeInstanceOf(TypeError);
  account.owner = { name: "Grace" };
  expect([map.size, set.size, account.owner.name]).toEqual([1, 1, "Grace"]);
});

test("EVT-5 an event that holds itself is dispatched; one without an end or whose fields throw is refused", () => {
  const session = createSession();
  const ring: { type: string; self?: unknown } = { type: "ring" };
  ring.self = [ring];
  expect(session.dispatch(ring).ok).toBe(true);
  const endless = (): object => ({
    get next() {
      return endless();
    },
  });
  const throwing = {
    type: "throwing",
    get field(): never {
      throw new Error("not mine");
    },
  };
  for (const event of [{ type: "endless", next: endless() }, throwing]) {
    const error = thrownBy(() => session.dispatch(event));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(`The event "${event.type}" cannot be frozen: `);
  }
});

test("EVT-5 response and error hand out results and messages that cannot be changed", async () => {
  const calls = [pay, { name: "receipt", arguments: "{" }];
  const prompt = promptOf({ tools: [receipt] });
  const model = scriptedModel([{ toolCalls: calls }, { failure: "provider", reason: "unknown", message: "no" }]);
  const hiding = modelAdapter(model, { secrets: ["Ada"] });
  const outcomes: Pick<PromptResponse<string>, "messages" | "toolResults">[] = [
    await evaluateCalls(prompt, calls),
    (await rejectionOf(evaluateCalls(prompt, calls, { maxTurns: 1 }))) as never,
    (await rejectionOf(hiding.evaluate(prompt))) as never,
  ];
  for (const { messages, toolResults } of outcomes) {
    expect([messages.length > 1, toolResults.length]).toEqual([true, 2]);
    expect([...unfrozen(messages, "messages"), ...unfrozen(toolResults, "toolResults")]).toEqual([]);
  }
});

test("EVT-5 messages are frozen before the provider has them again, its own items and earlier turns too", async () => {
  const items = [{ type: "reasoning", parts: [{ text: "hm" }] }];
  const earlier: readonly Message[] = [
    { role: "user", text: "Hello." },
    {
      role: "assistant",
      text: "",
      toolCalls: [{ id: "a", name: "x", arguments: "{}" }],
      providerItems: [{ old: [1] }],
    },
    { role: "tool", callId: "a", name: "x", text: "done", isError: false },
  ];
  // Frozen at the surface only, by a provider that means well.
  const asking: AssistantMessage = Object.freeze({
    role: "assistant",
    text: "",
    toolCalls: [{ id: "b", name: "receipt", arguments: JSON.stringify(pay.arguments) }],
    providerItems: items,
  });
  const model = scriptedModel([{ text: "done" }]);
  let asked = 0;
  const notFrozen: string[] = [];
  const provider: ModelProvider = {
    ...model,
    async generate(request) {
      notFrozen.push(...request.messages.flatMap((message) => unfrozen(message, `${asked}.${message.role}`)));
      return asked++ === 0 ? { message: asking, finishReason: "tool-calls" } : model.generate(request);
    },
  };
  const prompt = promptOf({ tools: [receipt] });
  const { messages } = await modelAdapter(provider, fakeEnvironment()).evaluate(prompt, { messages: earlier });
  expect(asked).toBe(2);
  expect(notFrozen).toEqual([]);
  expect(unfrozen(messages)).toEqual([]);
  expect(Object.isFrozen(items[0]?.parts)).toBe(true);
});

test("EVT-5 a provider's own items that cannot be frozen end no evaluation", async () => {
  const providerItems = new Proxy([], {
    ownKeys() {
      throw new Error("not mine");
    },
  });
  const model = scriptedModel([]);
  const provider: ModelProvider = {
    ...model,
    generate: async () => ({
      message: { role: "assistant", text: "done", toolCalls: [], providerItems },
      finishReason: "stop",
    }),
  };
  const { text } = await modelAdapter(provider, fakeEnvironment()).evaluate(promptOf());
  expect(text).toBe("done");
});
