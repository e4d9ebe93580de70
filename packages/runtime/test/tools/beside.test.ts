import { defineEvent, defineSlice, defineTool, type ToolContext } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { journal, noted, notes, promptOf } from "./support.ts";

const calledTwice = defineEvent("called twice", z.object({}));
/** What the framework tells, as state. */
const census = defineSlice({
  name: "census",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on("tool.requested", (draft, { callId }) => void draft.push(`requested ${callId}`));
    on("tool.invoked", (draft, { callId, result }) => void draft.push(`${callId} ${result.success ? "ok" : "failed"}`));
    on("provider.responded", (draft) => void draft.push("responded"));
    on(calledTwice, (draft) => void draft.push("called twice"));
  },
});
const look = (fails = false) =>
  defineTool({
    name: fails ? "stumble" : "look",
    description: "Looks.",
    input: z.object({}),
    readOnly: true,
    execute() {
      if (fails) throw new Error("it failed");
      return 1;
    },
  });
const both = [
  {
    toolCalls: [
      { name: "look", id: "a" },
      { name: "look", id: "b" },
    ],
  },
  { text: "done" },
];

test("TX-5 a veto on one of several overlapping reads leaves what was recorded of the others", async () => {
  const session = createSession({ slices: [census] });
  session.on("tool.invoked", ({ callId, result }) => {
    if (callId === "b" && result.success) throw new Error("veto");
  });
  await modelAdapter(scriptedModel(both), fakeEnvironment()).evaluate(promptOf({ tools: [look()] }), { session });
  expect(session.get(census)).toEqual(["responded", "requested a", "a ok", "b failed", "responded"]);
});

test("TX-1 a read that fails among others undoes nothing of theirs", async () => {
  const session = createSession({ slices: [census] });
  const calls = [
    { name: "look", id: "a" },
    { name: "stumble", id: "b" },
    { name: "look", id: "c" },
  ];
  const model = scriptedModel([{ toolCalls: calls }, { text: "done" }]);
  await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [look(), look(true)] }), { session });
  const told = ["requested a", "requested c", "a ok", "b failed", "c ok"];
  expect(session.get(census)).toEqual(["responded", ...told, "responded"]);
});

/** Sleeps half a second, then fails. */
const slow = (clock: { sleep(ms: number): Promise<void> }) =>
  defineTool({
    name: "slow",
    description: "Takes its time and fails.",
    input: z.object({}),
    async execute(_, { session }) {
      session.dispatch(noted({ text: "of the call" }));
      await clock.sleep(500);
      throw new Error("it failed");
    },
  });

test("TX-1 what the application and another evaluation do while a call runs that fails, stands", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ slices: [census, notes, journal] });
  const prompt = promptOf({ tools: [slow(environment.clock)] });
  const model = scriptedModel([{ toolCalls: [{ name: "slow", id: "a" }] }, { text: "done" }]);
  const evaluating = modelAdapter(model, environment).evaluate(prompt, { session });
  await environment.clock.advance(200);
  expect(session.dispatch(noted({ text: "from outside" }))).toEqual({ ok: true, errors: [] });
  await modelAdapter(scriptedModel([{ text: "other" }]), environment).evaluate(promptOf(), { session });
  expect(session.get(notes)).toEqual(["of the call", "from outside"]);
  await environment.clock.advance(300);
  await evaluating;
  expect(session.get(notes)).toEqual(["from outside"]);
  expect(session.get(journal)).toEqual(["of the call", "from outside"]);
  expect(session.get(census)).toEqual(["responded", "responded", "a failed", "responded"]);
});

test("TX-8 what a handler dispatches while a call inside it fails, stands when only that one is undone", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ slices: [notes] });
  const inner = promptOf({ tools: [slow(environment.clock)] });
  const delegate = defineTool({
    name: "delegate",
    description: "Delegates.",
    input: z.object({}),
    async execute(_, { session: own, evaluate, adapter }) {
      const evaluating = evaluate(inner, { adapter });
      await environment.clock.sleep(100);
      own.dispatch(noted({ text: "of the handler" }));
      await evaluating;
    },
  });
  const steps = [
    { toolCalls: [{ name: "delegate" }] },
    { toolCalls: [{ name: "slow" }] },
    { text: "in" },
    { text: "out" },
  ];
  const evaluating = modelAdapter(scriptedModel(steps), environment).evaluate(promptOf({ tools: [delegate] }), {
    session,
  });
  await environment.clock.advance(100);
  await environment.clock.advance(500);
  await evaluating;
  expect(session.get(notes)).toEqual(["of the handler"]);
});

test("TX-7 what a listener dispatches on a call stays in state and log when another listener vetoes it", async () => {
  const session = createSession({ slices: [notes, journal, census] });
  session.on("tool.invoked", ({ result }) => {
    if (result.success) session.dispatch(noted({ text: "audit" }));
  });
  session.on("tool.invoked", ({ result }) => {
    if (result.success) throw new Error("veto");
  });
  const model = scriptedModel([{ toolCalls: [{ name: "look", id: "a" }] }, { text: "done" }]);
  await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [look()] }), { session });
  expect(session.get(notes)).toEqual(["audit"]);
  expect(session.get(journal)).toEqual(["audit"]);
  expect(session.get(census)).toEqual(["responded", "a failed", "responded"]);
});

test.each(["returns", "throws", "hangs"] as const)("TX-3 a call's signal fires when its handler %s", async (way) => {
  const environment = fakeEnvironment();
  const signals: AbortSignal[] = [];
  const take = defineTool({
    name: "take",
    description: "Takes its signal.",
    input: z.object({}),
    timeoutMs: 100,
    async execute(_, { signal }: ToolContext) {
      signals.push(signal);
      expect(signal.aborted).toBe(false);
      if (way === "throws") throw new Error("no");
      if (way === "hangs") await new Promise(() => {});
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "take" }, { name: "take" }] }, { text: "done" }]);
  const evaluating = modelAdapter(model, environment).evaluate(promptOf({ tools: [take] }));
  await environment.clock.advance(100);
  await environment.clock.advance(100);
  await evaluating;
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  expect(environment.clock.pending).toBe(0);
});
