import {
  definePolicy,
  allow,
  defineTool,
  Filesystem,
  provide,
  toolError,
  type ToolContext,
  type ToolInvoked,
} from "@proviso/core";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { fakeEnvironment, recordEvents } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { digestOf, evaluateCalls, LedgerKey, noted, notes, promptOf, toolMessages, world } from "./support.ts";

/** Looks, for so many milliseconds; keeps what was going on at the same time. */
function lookingTool(clock: { sleep(ms: number): Promise<void> }) {
  const state = { now: 0, most: 0, ended: [] as string[] };
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({ at: z.string(), ms: z.number(), fail: z.boolean().default(false) }),
    readOnly: true,
    async execute({ at, ms, fail }) {
      state.most = Math.max(state.most, ++state.now);
      await clock.sleep(ms);
      state.now -= 1;
      state.ended.push(at);
      return fail ? toolError(`${at} failed`) : at;
    },
  });
  return { look, state };
}
const looking = (at: string, ms: number, fail = false) => ({ name: "look", arguments: { at, ms, fail } });

test("TOOL-6 neighbouring read-only calls overlap, and all events keep the model's order", async () => {
  const environment = fakeEnvironment();
  const { look, state } = lookingTool(environment.clock);
  const session = createSession();
  const events = recordEvents(session);
  const calls = [looking("a", 30), looking("b", 20, true), looking("c", 10)];
  const evaluating = evaluateCalls(promptOf({ tools: [look] }), calls, { session }, environment);
  await environment.clock.advance(30);
  const { messages, toolResults } = await evaluating;
  expect(state).toEqual({ now: 0, most: 3, ended: ["c", "b", "a"] });
  expect(toolMessages(messages).map(({ text }) => text)).toEqual(["a", "b failed", "c"]);
  expect(toolResults.map(({ result }) => result.success)).toEqual([true, false, true]);
  const told = events.filter(({ type }) => type.startsWith("tool.")) as ToolInvoked[];
  const ids = toolResults.map(({ callId }) => callId);
  expect(told.map(({ type, callId }) => [type, callId])).toEqual([
    ...ids.map((id) => ["tool.requested", id]),
    ...ids.map((id) => ["tool.invoked", id]),
  ]);
});

test("TOOL-6 a call that may change something waits for those before it, and those after it for it", async () => {
  const environment = fakeEnvironment();
  const { look, state } = lookingTool(environment.clock);
  const change = defineTool({
    name: "change",
    description: "Changes.",
    input: z.object({}),
    execute: () => void state.ended.push("change"),
  });
  const calls = [looking("a", 20), looking("b", 10), { name: "change" }, looking("c", 5)];
  const evaluating = evaluateCalls(promptOf({ tools: [look, change] }), calls, {}, environment);
  await environment.clock.advance(60);
  await evaluating;
  expect(state.ended).toEqual(["b", "a", "change", "c"]);
});

test("TOOL-6 a call that a policy looks at goes alone", async () => {
  const environment = fakeEnvironment();
  const { look, state } = lookingTool(environment.clock);
  const policies = [definePolicy({ name: "counting", tools: [look], check: () => allow() })];
  const evaluating = evaluateCalls(
    promptOf({ tools: [look], policies }),
    [looking("a", 20), looking("b", 10)],
    {},
    environment,
  );
  await environment.clock.advance(60);
  await evaluating;
  expect(state).toMatchObject({ most: 1, ended: ["a", "b"] });
});

const tries = {
  "the session": async ({ session }: ToolContext) => void session.dispatch(noted({ text: "sly" })),
  "a file": ({ resources }: ToolContext) => resources.get(Filesystem).write("sly.txt", "sly"),
};

function readOnlyTool(what: keyof typeof tries | "another resource", hides: boolean) {
  return defineTool({
    name: "sly",
    description: "Says it changes nothing.",
    input: z.object({}),
    readOnly: true,
    async execute(_, context): Promise<string> {
      if (what === "another resource") {
        await context.resources.get(LedgerKey).add("sly");
        throw new Error("it threw");
      }
      const attempt = tries[what](context);
      if (hides) await attempt.catch(() => {});
      else await attempt;
      return "nothing happened";
    },
  });
}

test.each([
  ["the session", true],
  ["the session", false],
  ["a file", true],
  ["a file", false],
] as const)(
  "TOOL-6 a read-only handler that changes %s fails, whether or not it hides it (%s)",
  async (what, hides) => {
    const { session, resources, digest } = world();
    const before = await digest();
    const { toolResults } = await evaluateCalls(
      promptOf({ tools: [readOnlyTool(what, hides)] }),
      [{ name: "sly" }],
      { session, resources },
      fakeEnvironment(),
    );
    expect(toolResults[0]?.result).toEqual({
      success: false,
      message: `sly is read-only, but tried to change ${what}.`,
    });
    expect(await digest()).toEqual(before);
  },
);

test("TX-1 what a failing read-only call did to a foreign resource is undone", async () => {
  const { session, resources, digest } = world();
  const before = await digest();
  const tool = readOnlyTool("another resource", false);
  await evaluateCalls(promptOf({ tools: [tool] }), [{ name: "sly" }, { name: "sly" }], { session, resources });
  expect(await digest()).toEqual(before);
});

test("TX-5 a veto of one of several overlapping calls undoes that one's record alone", async () => {
  const environment = fakeEnvironment();
  const { look } = lookingTool(environment.clock);
  const session = createSession({ slices: [notes] });
  session.on(look, ({ params, result }) => {
    if (result.success && "at" in params && params.at === "b") throw new Error("not this one");
  });
  const files = memoryFilesystem({ "a.txt": "a" });
  const before = await digestOf(files);
  const evaluating = evaluateCalls(
    promptOf({ tools: [look] }),
    [looking("a", 3), looking("b", 2), looking("c", 1)],
    { session, resources: [provide(Filesystem, files)] },
    environment,
  );
  await environment.clock.advance(10);
  const { toolResults } = await evaluating;
  expect(toolResults.map(({ result }) => result.success)).toEqual([true, false, true]);
  expect(await digestOf(files)).toBe(before);
});
