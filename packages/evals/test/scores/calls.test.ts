import {
  definePrompt,
  defineTool,
  isEvent,
  toolError,
  type ProviderAdapter,
  type SessionEvent,
  type ToolInvoked,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { calls, callsOf, type ExpectedCall, type Score } from "@proviso/evals";

const write = defineTool({
  name: "write",
  description: "Writes a file.",
  input: z.object({ path: z.string(), text: z.string() }),
  execute: ({ path }) => (path === "/" ? toolError("That is a folder.") : path),
});
const read = defineTool({
  name: "read",
  description: "Reads a file.",
  input: z.object({ path: z.string() }),
  execute: ({ path }) => path,
});
const inner = definePrompt({ key: "inner", sections: [{ key: "task", text: "Read.", tools: [read] }] });
const askedWith = (adapter?: () => ProviderAdapter) =>
  defineTool({
    name: "ask",
    description: "Asks another prompt.",
    input: z.object({}),
    execute: async (_input, { evaluate }) => (await evaluate(inner.bind(), { adapter: adapter?.() })).output,
  });
const ask = askedWith();
const outer = definePrompt({ key: "outer", sections: [{ key: "task", text: "Work.", tools: [write, ask] }] });

/** The events of an evaluation that writes twice, of which the first fails, and asks a nested prompt, which reads. */
async function evaluated(): Promise<{ readonly events: readonly SessionEvent[] }> {
  const session = createSession();
  const events = recordEvents(session);
  const adapter = modelAdapter(
    scriptedModel([
      { toolCalls: [{ name: "write", arguments: { path: "/", text: "Hi" } }] },
      { toolCalls: [{ name: "write", arguments: { path: "a.md", text: "Hi" } }] },
      { toolCalls: [{ name: "ask", arguments: {} }] },
      { toolCalls: [{ name: "read", arguments: { path: "b.md" } }] },
      { text: "Read." },
      { text: "Done." },
    ]),
  );
  await adapter.evaluate(outer.bind(), { session });
  return { events };
}

test("EVL-15 the calls that succeeded count, with those of nested evaluations", async () => {
  const attempt = await evaluated();
  expect(calls(attempt, [{ tool: write, input: { path: "a.md" } }, read, "ask"], "exact")).toBe(true);
  expect(callsOf(attempt).map(({ name, result }) => [name, result.success])).toEqual([
    ["write", false],
    ["write", true],
    ["read", true],
    ["ask", true],
  ]);
});

test("EVL-15 TX-5 a call that a listener vetoed did not succeed, and is one call", async () => {
  const session = createSession();
  session.on("tool.invoked", ({ result }) => {
    if (result.success) throw new Error("The audit refuses.");
  });
  const events = recordEvents(session);
  const call = { toolCalls: [{ id: "c1", name: "write", arguments: { path: "a.md", text: "Hi" } }] };
  await modelAdapter(scriptedModel([call, call, { text: "Done." }])).evaluate(outer.bind(), { session });
  expect(callsOf({ events }).map(({ turn, result }) => [turn, result.success])).toEqual([
    [1, false],
    [2, false],
  ]);
  expect(calls({ events }, [], "exact")).toBe(true);
});

test("EVL-15 RTE-8 what was called in an attempt that began again was undone with it, nested evaluations' calls too", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const reading = askedWith(() =>
    modelAdapter(scriptedModel([{ toolCalls: [{ name: "read", arguments: { path: "b.md" } }] }, { text: "Read." }])),
  );
  const prompt = definePrompt({
    key: "again",
    output: z.object({ ok: z.boolean() }),
    sections: [{ key: "task", text: "Work.", tools: [write, reading] }],
  });
  const attempt = (last: string): ProviderAdapter =>
    modelAdapter(
      scriptedModel([
        { toolCalls: [{ name: "write", arguments: { path: "/", text: "Hi" } }] },
        { toolCalls: [{ name: "ask", arguments: {} }] },
        { text: last },
      ]),
    );
  const chain = fallback([attempt("no json"), attempt('{"ok":true}')], { on: ["output"], repeatTools: true });
  const { toolResults } = await chain.evaluate(prompt.bind(), { session });
  expect(toolResults.map(({ name }) => name)).toEqual(["write", "ask"]);
  expect(events.some((event) => isEvent(event, "evaluation.restarted"))).toBe(true);
  expect(calls({ events }, ["read", "ask"], "exact")).toBe(true);
  expect(callsOf({ events }).map(({ name, result }) => [name, result.success])).toEqual([
    ["write", false],
    ["write", false],
    ["read", true],
    ["ask", true],
  ]);
});

test("EVL-15 what was called inside a call that failed was undone with it, and another call of its id keeps its own", async () => {
  const session = createSession();
  const events = recordEvents(session);
  let asked = 0;
  const failing = defineTool({
    name: "half",
    description: "Asks another prompt, and fails the second time.",
    input: z.object({}),
    async execute(_input, { evaluate }) {
      await evaluate(inner.bind());
      if (++asked === 2) throw new Error("No more.");
      return "read";
    },
  });
  const half = { toolCalls: [{ id: "c1", name: "half", arguments: {} }] };
  const inside = (path: string): ScriptedStep[] => [
    { toolCalls: [{ id: "c1", name: "read", arguments: { path } }] },
    { text: "Read." },
  ];
  await modelAdapter(
    scriptedModel([half, ...inside("1.md"), half, ...inside("2.md"), half, ...inside("3.md"), { text: "Done." }]),
  ).evaluate(definePrompt({ key: "halves", sections: [{ key: "task", text: "Work.", tools: [failing] }] }).bind(), {
    session,
  });
  expect(callsOf({ events }).map(({ name, params, result }) => [name, params, result.success])).toEqual([
    ["read", { path: "1.md" }, true],
    ["half", {}, true],
    ["half", {}, false],
    ["read", { path: "3.md" }, true],
    ["half", {}, true],
  ]);
  expect(calls({ events }, [{ tool: "read", input: { path: "2.md" } }], "includes")).toMatchObject({ value: false });
});

test("EVL-15 TX-5 what was called inside a call that was vetoed was undone with it", async () => {
  const session = createSession();
  session.on("tool.invoked", ({ name, result }) => {
    if (name === "ask" && result.success) throw new Error("The audit refuses.");
  });
  const events = recordEvents(session);
  await modelAdapter(
    scriptedModel([
      { toolCalls: [{ name: "ask", arguments: {} }] },
      { toolCalls: [{ name: "read", arguments: { path: "b.md" } }] },
      { text: "Read." },
      { text: "Done." },
    ]),
  ).evaluate(outer.bind(), { session });
  expect(callsOf({ events }).map(({ name, result }) => [name, result.success])).toEqual([["ask", false]]);
});

/** Events of calls that succeeded, in this order: a name, or a name and its input. */
function made(...list: readonly (string | readonly [string, object])[]): { readonly events: readonly SessionEvent[] } {
  return {
    events: list.map((one): ToolInvoked => {
      const [name, params] = typeof one === "string" ? [one, {}] : one;
      const result = { success: true, message: "", value: undefined, hideValue: false } as const;
      return { type: "tool.invoked", name, params, result } as ToolInvoked;
    }),
  };
}

const reasonOf = (score: Score): string | undefined => (typeof score === "object" ? score.reason : undefined);
type Match = Parameters<typeof calls>[2];

test.each<[string, ReturnType<typeof made>, readonly ExpectedCall[], Match, string | undefined]>([
  ["no calls at all", made(), [], "exact", undefined],
  ["the default match", made("a", "b"), ["a"], undefined, "call 2 is superfluous: b({})"],
  ["a missing call", made("a"), ["a", "b"], "exact", "call 2 is missing: b"],
  ["another call", made("a", "c"), ["a", "b"], "exact", "call 2 is c({}); expected is b"],
  [
    "another input",
    made(["a", { n: 1 }]),
    [{ tool: "a", input: { n: 2 } }],
    "exact",
    'call 1 is a({"n":1}); expected is a({"n":2})',
  ],
  ["calls between", made("a", "x", "b"), ["a", "b"], "in-order", undefined],
  ["the wrong order", made("b", "a"), ["a", "b"], "in-order", "out of place: b is call 1, and expected after call 2"],
  ["a call that never came", made("a"), ["b", "a"], "in-order", "missing: b"],
  [
    "one call for two expected",
    made("a"),
    ["a", "a"],
    "in-order",
    "out of place: a is call 1, and expected after call 1",
  ],
  ["any order", made("c", "b", "a"), ["a", "b"], "includes", undefined],
  ["a call expected twice and made once", made("a", "b"), ["a", "a"], "includes", "missing: a"],
  [
    "calls made room for",
    made(["a", { n: 1 }], ["a", { n: 2 }]),
    ["a", { tool: "a", input: { n: 1 } }],
    "includes",
    undefined,
  ],
  ["not every allowed call", made("a", "a"), ["a", "b"], "only", undefined],
  ["a call beside the allowed", made("a", "c"), ["a", "b"], "only", "call 2 is superfluous: c({})"],
  ["no calls where none is allowed", made(), [], "only", undefined],
])("EVL-15 the reason names the first difference: %s", (_title, attempt, expected, match, reason) => {
  const score = calls(attempt, expected, match);
  expect(score).toEqual(reason === undefined ? true : { value: false, reason });
});

test("EVL-15 an expected input is what the call's has at least, at every depth", () => {
  const attempt = made(["a", { at: { x: 1, y: 2 }, list: [{ n: 1, m: 2 }] }]);
  const fitting = (input: object): Score => calls(attempt, [{ tool: "a", input }]);
  expect(fitting({})).toBe(true);
  expect(fitting({ at: { y: 2 }, list: [{ n: 1 }] })).toBe(true);
  expect(fitting({ at: { y: 3 } })).toMatchObject({ value: false });
  expect(fitting({ list: [] })).toMatchObject({ value: false });
  expect(fitting({ other: 1 })).toMatchObject({ value: false });
});

test("EVL-15 a long input is cut in the reason", () => {
  const reason = reasonOf(calls(made(["a", { text: "x".repeat(1_000) }]), [], "exact"));
  expect(reason).toMatch(/^call 1 is superfluous: a\(\{"text":"x+…\)$/);
  expect(reason?.length).toBeLessThan(250);
});

test("EVL-15 an unknown match is an error", () => {
  expect(() => calls(made(), [], "unordered" as Match)).toThrow('calls has no match "unordered"');
});

test("EVL-15 of calls that overlap, each failure undoes what it is around, and its own success alone", () => {
  const of = { sessionId: "s", at: 0, seq: 0, turn: 1, durationMs: 0, params: {}, name: "t", arguments: "{}" };
  const call = (callId: string, evaluationId = "outer") => ({
    ...of,
    evaluationId,
    callId,
    ...(evaluationId === "outer" ? {} : { parent: { evaluationId: "outer", callId: evaluationId } }),
  });
  const began = (...parts: Parameters<typeof call>) => ({ type: "tool.requested", ...call(...parts) }) as SessionEvent;
  const ended = (success: boolean, ...parts: Parameters<typeof call>) =>
    ({ type: "tool.invoked", ran: true, result: { success, message: "" }, ...call(...parts) }) as SessionEvent;
  const earlier = [began("a"), began("x", "a"), ended(true, "x", "a"), ended(true, "a")];
  const overlapping = [began("a"), began("b"), began("c"), began("y", "b"), ended(true, "y", "b"), began("z", "a")];
  const ends = [ended(true, "z", "a"), ended(true, "c"), ended(false, "b"), ended(true, "a"), ended(false, "a")];
  const left = callsOf({ events: [...earlier, ...overlapping, ...ends] });
  expect(left.map(({ callId, result }) => `${callId} ${result.success}`)).toEqual([
    "x true",
    "a true",
    "c true",
    "b false",
    "a false",
  ]);
});
