import {
  defineSlice,
  defineTool,
  deny,
  definePolicy,
  Filesystem,
  provide,
  provideFactory,
  resourceKey,
  RevokedError,
  type ToolContext,
} from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeClock, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, noted, notes, promptWith, rejection, writes, writing } from "./support.ts";

async function filesOf(filesystem: Filesystem): Promise<readonly string[]> {
  return filesystem.glob("**");
}

test("TX-1 a tool that fails, throws or is denied leaves no trace; TX-2 one that succeeds leaves exactly its own", async () => {
  const filesystem = memoryFilesystem({ "old.txt": "old" });
  const session = createSession();
  const model = scriptedModel([
    { toolCalls: [writing("a"), writing("b", "fail"), writing("c", "throw"), writing("d"), writing("denied")] },
    { text: "done" },
  ]);
  const noDenied = definePolicy({
    name: "no",
    tools: [writes],
    check: ({ input }) => (input.text === "denied" ? deny("not that") : { allowed: true }),
  });
  const { messages } = await modelAdapter(model).evaluate(promptWith(writes), {
    session,
    policies: [noDenied],
    resources: [provide(Filesystem, filesystem)],
  });
  expect(session.get(notes)).toEqual(["a", "d"]);
  expect(await filesOf(filesystem)).toEqual(["a.txt", "d.txt", "old.txt"]);
  const answers = messages.filter(({ role }) => role === "tool").map(({ text }) => text);
  expect(answers).toEqual(["wrote a", "it failed", "it threw", "wrote d", "not that"]);
});

test("TX-1 TX-2 after any sequence of calls, state and files are those of the calls that succeeded", async () => {
  const step = fc.record({
    text: fc.constantFrom("a", "b", "c", "d"),
    outcome: fc.constantFrom("succeed", "fail", "throw"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const filesystem = memoryFilesystem();
      const session = createSession();
      const model = scriptedModel([
        { toolCalls: steps.map(({ text, outcome }) => writing(text, outcome)) },
        { text: "done" },
      ]);
      await modelAdapter(model).evaluate(promptWith(writes), { session, resources: [provide(Filesystem, filesystem)] });
      const kept = steps.filter(({ outcome }) => outcome === "succeed").map(({ text }) => text);
      expect(session.get(notes)).toEqual(kept);
      expect(await filesOf(filesystem)).toEqual([...new Set(kept)].toSorted().map((text) => `${text}.txt`));
    }),
    { numRuns: 100 },
  );
});

test("TX-1 a call that outlasts its own time is undone, and the evaluation goes on", async () => {
  const clock = fakeClock();
  const filesystem = memoryFilesystem();
  const session = createSession();
  const slow = { ...writes, timeoutMs: 1_000 };
  const model = scriptedModel([{ toolCalls: [writing("a", "hang")] }, { text: "done" }]);
  const response = modelAdapter(model, { clock }).evaluate(promptWith(slow), {
    session,
    resources: [provide(Filesystem, filesystem)],
  });
  await clock.advance(1_000);
  const { toolResults } = await response;
  expect(toolResults[0]?.result).toMatchObject({ success: false, message: expect.stringContaining("1000 ms") });
  expect([session.get(notes), await filesOf(filesystem)]).toEqual([[], []]);
});

test("TX-1 a call that an abort interrupts is undone", async () => {
  const filesystem = memoryFilesystem();
  const session = createSession();
  const controller = new AbortController();
  const model = scriptedModel([{ toolCalls: [writing("a"), writing("b", "hang")] }]);
  session.on("tool.requested", ({ arguments: given }) => {
    if (given.includes("hang")) setTimeout(() => controller.abort(), 5);
  });
  const error = await rejection(
    modelAdapter(model).evaluate(promptWith(writes), {
      session,
      signal: controller.signal,
      resources: [provide(Filesystem, filesystem)],
    }),
  );
  expect(error["code"]).toBe("aborted");
  expect([session.get(notes), await filesOf(filesystem)]).toEqual([["a"], ["a.txt"]]);
});

test("TX-3 a context that outlives its call refuses everything and changes nothing", async () => {
  const filesystem = memoryFilesystem();
  const session = createSession();
  let kept: ToolContext | undefined;
  let keptFiles: Filesystem | undefined;
  const keep = defineTool({
    name: "keep",
    description: "Keeps its context.",
    input: z.object({}),
    execute(_, context) {
      kept = context;
      keptFiles = context.resources.get(Filesystem);
    },
  });
  const model = scriptedModel([{ toolCalls: [call("keep")] }, { text: "done" }]);
  await modelAdapter(model).evaluate(promptWith(keep), { session, resources: [provide(Filesystem, filesystem)] });
  expect(() => kept?.session.dispatch(noted({ text: "late" }))).toThrow(RevokedError);
  expect(() => kept?.session.get(notes)).toThrow(RevokedError);
  expect(() => kept?.resources.get(Filesystem)).toThrow(RevokedError);
  await expect(kept?.resources.open(Filesystem)).rejects.toThrow(RevokedError);
  await expect(keptFiles?.write("late.txt", "x")).rejects.toThrow(RevokedError);
  await expect(kept?.evaluate(promptWith())).rejects.toThrow(RevokedError);
  expect([session.get(notes), await filesOf(filesystem)]).toEqual([[], []]);
});

test("TX-4 a resource first made in a failed call is discarded and closed; toolCall resources are fresh and closed", async () => {
  const lazy = resourceKey<{ id: number }>("lazy");
  const perCall = resourceKey<{ id: number }>("perCall");
  const log: string[] = [];
  let made = 0;
  const bind = (key: typeof lazy, scope: "singleton" | "toolCall") =>
    provideFactory(key, () => ({ id: ++made }), {
      scope,
      close: ({ id }) => void log.push(`closed ${key.name} ${id}`),
    });
  const use = defineTool({
    name: "use",
    description: "Uses both.",
    input: z.object({ fail: z.boolean() }),
    execute({ fail }, { resources }) {
      log.push(`used ${resources.get(lazy).id} ${resources.get(perCall).id}`);
      if (fail) throw new Error("no");
    },
  });
  const model = scriptedModel([
    { toolCalls: [call("use", { fail: true }), call("use", { fail: false })] },
    { text: "done" },
  ]);
  await modelAdapter(model).evaluate(promptWith(use), {
    resources: [bind(lazy, "singleton"), bind(perCall, "toolCall")],
  });
  expect(log).toEqual([
    "used 1 2",
    "closed perCall 2",
    "closed lazy 1",
    "used 3 4",
    "closed perCall 4",
    "closed lazy 3",
  ]);
});

test("TX-5 a listener that throws on tool.invoked undoes the call and withholds its value", async () => {
  const filesystem = memoryFilesystem();
  const session = createSession();
  let vetoed = false;
  session.on(writes, () => {
    if (vetoed) return;
    vetoed = true;
    throw new Error("not this one");
  });
  const model = scriptedModel([{ toolCalls: [writing("a"), writing("b")] }, { text: "done" }]);
  const { messages, toolResults } = await modelAdapter(model).evaluate(promptWith(writes), {
    session,
    resources: [provide(Filesystem, filesystem)],
  });
  expect([session.get(notes), await filesOf(filesystem)]).toEqual([["b"], ["b.txt"]]);
  expect(toolResults.map(({ result }) => result.success)).toEqual([false, true]);
  const [answer] = messages.filter(({ role }) => role === "tool");
  expect(answer).toMatchObject({ isError: true, text: "The call of write could not be recorded: not this one" });
});

test("TX-5 a vetoed event enters no slice, log slices included", async () => {
  const history = defineSlice({
    name: "history",
    kind: "log",
    initial: [] as readonly boolean[],
    reducers: ({ on }) => on("tool.invoked", (draft, { result }) => void draft.push(result.success)),
  });
  const session = createSession({ slices: [history] });
  session.on("tool.invoked", ({ result }) => {
    if (result.success) throw new Error("veto");
  });
  const model = scriptedModel([{ toolCalls: [writing("a")] }, { text: "done" }]);
  await modelAdapter(model).evaluate(promptWith(writes), {
    session,
    resources: [provide(Filesystem, memoryFilesystem())],
  });
  expect(session.get(history)).toEqual([false]);
});

test("TX-6 events of a call are reduced at once, heard after tool.invoked, and never when it is rolled back", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const seen: unknown[] = [];
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute(_, { session: state }) {
      state.dispatch(noted({ text: "mine" }));
      seen.push(state.get(notes));
    },
  });
  const model = scriptedModel([{ toolCalls: [call("look"), writing("b", "fail")] }, { text: "done" }]);
  await modelAdapter(model).evaluate(promptWith(look, writes), {
    session,
    resources: [provide(Filesystem, memoryFilesystem())],
  });
  expect(seen).toEqual([["mine"]]);
  const types = events
    .map(({ type }) => type)
    .filter((type) => ["tool.requested", "tool.invoked", "noted"].includes(type));
  expect(types).toEqual(["tool.requested", "tool.invoked", "noted", "tool.requested", "tool.invoked"]);
});

test("TX-7 what a log slice took stays when its call is rolled back", async () => {
  const attempts = defineSlice({
    name: "attempts",
    kind: "log",
    initial: [] as readonly string[],
    reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
  });
  const session = createSession({ slices: [attempts] });
  const model = scriptedModel([{ toolCalls: [writing("a", "fail")] }, { text: "done" }]);
  await modelAdapter(model).evaluate(promptWith(writes), {
    session,
    resources: [provide(Filesystem, memoryFilesystem())],
  });
  expect(session.get(attempts)).toEqual(["a"]);
  expect(session.get(notes)).toEqual([]);
});

test("TX-1 a resource that cannot be restored makes the session unusable, and it says why", async () => {
  const key = resourceKey<object>("fragile");
  const fragile = { snapshot: () => 0, restore: () => Promise.reject(new Error("disk gone")) };
  const session = createSession();
  const fail = defineTool({
    name: "fail",
    description: "Fails.",
    input: z.object({}),
    execute: () => Promise.reject(new Error("no")),
  });
  const model = scriptedModel([{ toolCalls: [call("fail")] }, { text: "done" }]);
  await modelAdapter(model).evaluate(promptWith(fail), { session, resources: [provide(key, fragile)] });
  expect(() => session.get(notes)).toThrow(/changes of fail could not be undone: disk gone/);
});
