import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  Filesystem,
  provide,
  type EvaluateOptions,
  type ProviderAdapter,
} from "@proviso/core";
import {
  agentAdapter,
  createSession,
  memoryFilesystem,
  modelAdapter,
  openResources,
  type AgentRun,
} from "@proviso/runtime";
import { fallback, hedged, type FallbackOptions } from "@proviso/runtime/routing";
import { fakeEnvironment, recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: { all: [] as readonly string[] },
  reducers: ({ on }) => on(noted, (state, { text }) => ({ all: [...state.all, text] })),
});
const outside: string[] = [];

function writer(name: string, more: { readonly idempotent?: boolean } = {}) {
  return defineTool({
    name,
    description: "Writes a note.",
    input: z.object({ text: z.string() }),
    uses: [Filesystem],
    ...more,
    async execute({ text }, { session, resources }) {
      outside.push(text);
      session.dispatch(noted({ text }));
      await resources.get(Filesystem).write(`${text}.txt`, text);
      return "written";
    },
  });
}

const prompt = definePrompt({
  key: "p",
  output: z.object({ team: z.enum(["billing", "support"]) }),
  sections: [
    {
      key: "s",
      text: "Whose is this?",
      tools: [writer("write", { idempotent: true }), writer("send")],
      slices: [notes],
    },
  ],
}).bind();

const good: ScriptedStep = { text: '{"team":"billing"}' };
const bad: ScriptedStep = { text: "I do not know." };
const call = (name: string, text: string): ScriptedStep => ({ toolCalls: [{ name, arguments: { text } }] });

function model(name: string, steps: readonly ScriptedStep[]): ProviderAdapter {
  return modelAdapter({ ...scriptedModel(steps), name, model: `${name}-1` }, fakeEnvironment());
}

/** An agent that makes the calls, then fails or answers. */
function agent(name: string, end: ScriptedStep, calls: readonly (readonly [tool: string, text: string])[] = []) {
  return agentAdapter(
    {
      name,
      model: `${name}-1`,
      async drive({ executeToolCall, onDelta }: AgentRun) {
        for (const [tool, text] of calls) {
          await executeToolCall({ id: `${tool}-${text}`, name: tool, arguments: JSON.stringify({ text }) });
        }
        onDelta({ kind: "text", text: "from " });
        if ("failure" in end) return end as never;
        const { text } = end as { readonly text: string };
        return { message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop" };
      },
    },
    fakeEnvironment(),
  );
}

const down: ScriptedStep = { failure: "throttle", kind: "server_error", message: "503" };

/** Evaluates over a session with a note, and a folder with a file, in which it shows what is left at the end. */
async function evaluated(adapter: ProviderAdapter, more: EvaluateOptions = {}) {
  outside.length = 0;
  const session = createSession({ slices: [notes] });
  session.dispatch(noted({ text: "before" }));
  await using resources = await openResources([provide(Filesystem, memoryFilesystem({ "old.txt": "old" }))]);
  const events = recordEvents(session);
  const heard: string[] = [];
  session.on(noted, ({ text }) => void heard.push(text));
  const response = await adapter.evaluate(prompt, { session, resources, ...more }).catch((error: unknown) => error);
  const files = await resources.get(Filesystem).glob("*");
  return { response, events, heard, files, all: session.get(notes).all, outside: [...outside], session };
}

const perOutput: FallbackOptions = { on: ["output"] };
const types = (events: readonly { readonly type: string }[]): readonly string[] =>
  events.map(({ type }) => type).filter((type) => /^(prompt|evaluation)\./.test(type));

test("RTE-8 an output that does not parse begins again, after all that the attempt did here is undone", async () => {
  const first = model("a", [call("write", "one"), bad]);
  const second = model("b", [call("write", "two"), good]);
  const { response, events, heard, files, all, outside: ran } = await evaluated(fallback([first, second], perOutput));
  expect(response).toMatchObject({ output: { team: "billing" }, provider: "b" });
  expect([all, files, heard]).toEqual([["before", "two"], ["old.txt", "two.txt"], ["two"]]);
  expect(ran).toEqual(["one", "two"]);
  expect(types(events)).toEqual(["prompt.rendered", "evaluation.restarted", "prompt.executed"]);
  expect(events.find(({ type }) => type === "evaluation.restarted")).toMatchObject({
    attempt: 2,
    code: "output",
    provider: "b",
    model: "b-1",
  });
  const { messages, toolResults } = response as { messages: readonly object[]; toolResults: readonly object[] };
  expect([messages.length, toolResults.length]).toEqual([4, 1]);
});

test("RTE-8 session and resources are as before when the second attempt begins", async () => {
  const session = createSession({ slices: [notes] });
  session.dispatch(noted({ text: "before" }));
  const before = JSON.stringify(session.toJSON());
  let between: string | undefined;
  session.on("evaluation.restarted", () => void (between = JSON.stringify(session.toJSON())));
  await using resources = await openResources([provide(Filesystem, memoryFilesystem())]);
  const adapter = fallback([model("a", [call("write", "one"), bad]), model("b", [good])], perOutput);
  await adapter.evaluate(prompt, { session, resources });
  const stateOf = (json: string | undefined): unknown =>
    (JSON.parse(json ?? "{}") as { readonly slices?: unknown }).slices;
  expect(stateOf(before)).toBeDefined();
  expect(stateOf(between)).toEqual(stateOf(before));
});

test("RTE-8 without the reason output the evaluation ends as with one adapter", async () => {
  const { response, all } = await evaluated(fallback([model("a", [call("write", "one"), bad]), model("b", [good])]));
  expect(response).toMatchObject({ code: "output" });
  expect(all).toEqual(["before", "one"]);
});

test("RTE-8 the last attempt that fails ends the evaluation, and keeps what it did", async () => {
  const adapter = fallback(
    [model("a", [call("write", "one"), bad]), model("b", [call("write", "two"), bad])],
    perOutput,
  );
  const { response, events, all, heard } = await evaluated(adapter);
  expect(response).toMatchObject({ code: "output" });
  expect([all, heard]).toEqual([["before", "two"], ["two"]]);
  expect(types(events)).toEqual(["prompt.rendered", "evaluation.restarted", "prompt.failed"]);
});

test("RTE-8 a failure that does not go on keeps what the attempt did, as with one adapter", async () => {
  const noKey: ScriptedStep = { failure: "provider", reason: "api_key", message: "no key" };
  const adapter = fallback([model("a", [call("write", "one"), noKey]), model("b", [good])], perOutput);
  const { response, all, heard, files } = await evaluated(adapter);
  expect(response).toMatchObject({ code: "provider", reason: "api_key" });
  expect([all, heard, files]).toEqual([["before", "one"], ["one"], ["old.txt", "one.txt"]]);
});

test("RTE-8 an agent that fails gives way to the next, and its streamed text is taken back", async () => {
  const adapter = fallback([agent("a", down, [["write", "one"]]), model("b", [good])]);
  const session = createSession({ slices: [notes] });
  await using resources = await openResources([provide(Filesystem, memoryFilesystem())]);
  const stream = adapter.stream(prompt, { session, resources });
  let shown = "";
  for await (const event of stream) {
    if (event.type === "text.delta") shown += event.text;
    if (event.type === "text.reset") shown = "";
  }
  const { provider, usage } = await stream.response;
  expect([provider, shown]).toEqual(["b", '{"team":"billing"}']);
  expect(usage.estimated).toBe(true);
  expect([session.get(notes).all, await resources.get(Filesystem).glob("*")]).toEqual([[], []]);
});

test("RTE-3 RTE-8 when all models refuse, no evaluation waits while an agent is left", async () => {
  const adapter = fallback([model("a", [down]), agent("b", good), model("c", [down])]);
  const { response, events } = await evaluated(adapter);
  expect(response).toMatchObject({ output: { team: "billing" }, provider: "b" });
  expect(events.filter(({ type }) => type === "provider.throttled")).toMatchObject([{ delayMs: undefined }]);
});

test("RTE-9 nothing begins again after a tool succeeded that is neither read-only nor idempotent", async () => {
  const adapter = fallback([model("a", [call("send", "one"), bad]), model("b", [good])], perOutput);
  const { response, all, heard, events } = await evaluated(adapter);
  expect(response).toMatchObject({ code: "output" });
  expect([all, heard]).toEqual([["before", "one"], ["one"]]);
  expect(types(events)).toEqual(["prompt.rendered", "prompt.failed"]);
});

test("RTE-9 with repeatTools it does, and what the tool did here is undone", async () => {
  const options = { ...perOutput, repeatTools: true };
  const adapter = fallback([model("a", [call("send", "one"), bad]), model("b", [call("send", "two"), good])], options);
  const { response, all, outside: ran } = await evaluated(adapter);
  expect(response).toMatchObject({ output: { team: "billing" } });
  expect([all, ran]).toEqual([
    ["before", "two"],
    ["one", "two"],
  ]);
});

test("RTE-9 a tool that failed may be repeated", async () => {
  const failing = defineTool({
    name: "send",
    description: "Sends.",
    input: z.object({ text: z.string() }),
    execute: () => Promise.reject(new Error("no line")),
  });
  const own = definePrompt({
    key: "own",
    output: z.object({ team: z.string() }),
    sections: [{ key: "s", text: "Send.", tools: [failing] }],
  }).bind();
  const adapter = fallback([model("a", [call("send", "one"), bad]), model("b", [good])], perOutput);
  expect(await adapter.evaluate(own)).toMatchObject({ provider: "b", output: { team: "billing" } });
});

test("RTE-8 evaluations of one session that may begin again go one after another", async () => {
  const session = createSession({ slices: [notes] });
  await using resources = await openResources([provide(Filesystem, memoryFilesystem())]);
  const of = (name: string): ProviderAdapter =>
    fallback([model(name, [call("write", name), call("write", `${name}${name}`), bad]), model("b", [good])], perOutput);
  const both = await Promise.all(["x", "y"].map((name) => of(name).evaluate(prompt, { session, resources })));
  expect(both.map(({ provider }) => provider)).toEqual(["b", "b"]);
  expect([session.get(notes).all, await resources.get(Filesystem).glob("*")]).toEqual([[], []]);
});

test("RTE-8 inside a tool call a nested evaluation begins again, and its events wait for the call around", async () => {
  const inner = fallback(
    [model("a", [call("write", "one"), bad]), model("b", [call("write", "two"), good])],
    perOutput,
  );
  const asking = defineTool({
    name: "ask",
    description: "Asks.",
    input: z.object({}),
    execute: async (_, { evaluate }) => (await evaluate(prompt, { adapter: inner })).output.team,
  });
  const outer = definePrompt({ key: "o", sections: [{ key: "s", text: "Ask.", tools: [asking], slices: [notes] }] });
  const session = createSession({ slices: [notes] });
  const heard: string[] = [];
  session.on(noted, ({ text }) => void heard.push(text));
  await using resources = await openResources([provide(Filesystem, memoryFilesystem())]);
  const adapter = model("o", [{ toolCalls: [{ name: "ask" }] }, { text: "done" }]);
  await adapter.evaluate(outer.bind(), { session, resources });
  expect([session.get(notes).all, heard, await resources.get(Filesystem).glob("*")]).toEqual([
    ["two"],
    ["two"],
    ["two.txt"],
  ]);
});

test("RTE-8 ERR-7 a resource whose snapshot throws fails the call, and its attempt goes on", async () => {
  const odd = {
    snapshot() {
      throw Object.create(null);
    },
    restore() {},
  };
  const chain = fallback([model("a", [call("write", "x"), good]), model("b", [])], { on: ["output"] });
  const { output, toolResults } = await chain.evaluate(prompt, { resources: [provide(Filesystem, odd as never)] });
  expect(output).toEqual({ team: "billing" });
  expect(toolResults).toMatchObject([
    { result: { success: false, message: "Not run: Something was thrown that has no message." } },
  ]);
});

test("RTE-9 the option repeatTools is true or false", () => {
  const options = { repeatTools: "yes" } as unknown as FallbackOptions;
  expect(() => fallback([model("a", [])], options)).toThrow("repeatTools must be true or false");
});

test("RTE-13 a chain with an agent is refused inside another chain, and by hedged", () => {
  const chain = fallback([agent("a", good), model("b", [])]);
  expect(() => fallback([chain])).toThrow("has agents");
  expect(() => hedged([chain], { afterMs: 1 })).toThrow(/needs adapters that modelAdapter made.* An agent asks/);
  // A foreign adapter is none.
  expect(() => fallback([{ name: "own" } as never])).toThrow(
    /needs adapters that modelAdapter made.* not an object\.$/,
  );
});
