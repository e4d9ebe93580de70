import { definePrompt, defineTool, provide, resourceKey, type FeedbackProvider } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { toolMessages } from "./tools/support.ts";

const environment = fakeEnvironment();
const work = defineTool({
  name: "work",
  description: "Works.",
  input: z.object({ ms: z.number().default(0) }),
  execute: async ({ ms }) => {
    if (ms > 0) await environment.clock.sleep(ms);
    return "worked";
  },
});
const promptWith = (feedback: readonly FeedbackProvider[], key = "feedback") =>
  definePrompt({ key, sections: [{ key: "s", text: "Work.", tools: [work] }], feedback }).bind();
const says = (name: string, every: FeedbackProvider["every"], text = name): FeedbackProvider => ({
  name,
  every,
  provide: () => text,
});

async function answersTo(
  feedback: readonly FeedbackProvider[],
  calls: readonly number[],
  session = createSession(),
  key?: string,
): Promise<readonly string[]> {
  const toolCalls = calls.map((ms) => ({ name: "work", arguments: { ms } }));
  const adapter = modelAdapter(scriptedModel([{ toolCalls }, { text: "done" }]), environment);
  const evaluating = adapter.evaluate(promptWith(feedback, key), { session });
  await environment.clock.advance(calls.reduce((sum, ms) => sum + ms, 0) + 1);
  return toolMessages((await evaluating).messages).map(({ text }) => text);
}

test("TOOL-11 feedback is appended to the message of the call after which it was due, in its own block", async () => {
  const session = createSession();
  const events = recordEvents(session);
  expect(await answersTo([says("reminder", { calls: 2 }, "Mind the time.")], [0, 0, 0, 0], session)).toEqual([
    "worked",
    'worked\n\n<feedback from="reminder">\nMind the time.\n</feedback>',
    "worked",
    'worked\n\n<feedback from="reminder">\nMind the time.\n</feedback>',
  ]);
  const given = events.filter(({ type }) => type === "feedback.given");
  expect(given).toMatchObject([
    { provider: "reminder", text: "Mind the time.", promptName: "app/feedback" },
    { provider: "reminder" },
  ]);
  for (const event of events) {
    if (event.type === "tool.invoked") expect(event).toMatchObject({ result: { value: "worked" } });
  }
});

test("TOOL-11 cadence by time, and by whichever comes first", async () => {
  const byTime = (await answersTo([says("t", { ms: 100 })], [60, 60, 60, 10])).map((text) =>
    text.includes("<feedback"),
  );
  expect(byTime).toEqual([false, true, false, false]);
  const either = (await answersTo([says("e", { calls: 3, ms: 100 })], [0, 0, 0, 150])).map((text) =>
    text.includes("<feedback"),
  );
  expect(either).toEqual([false, false, true, true]);
});

test("TOOL-11 cadence counts from when a provider last spoke: one that says nothing, or throws, is asked after the next call", async () => {
  const silentAt = (...silent: readonly number[]): FeedbackProvider["provide"] => {
    let asked = 0;
    return () => {
      asked += 1;
      if (asked === 2) throw new Error("not now");
      return silent.includes(asked) ? undefined : `asked ${asked}`;
    };
  };
  const spoken = (texts: readonly string[]) => texts.map((text) => /asked \d/u.exec(text)?.[0]);
  const byCalls = { name: "calls", every: { calls: 2 }, provide: silentAt(1) };
  expect(spoken(await answersTo([byCalls], [0, 0, 0, 0, 0, 0]))).toEqual([
    undefined,
    undefined,
    undefined,
    "asked 3",
    undefined,
    "asked 4",
  ]);
  const byTime = { name: "ms", every: { ms: 100 }, provide: silentAt(1) };
  expect(spoken(await answersTo([byTime], [100, 10, 10, 90, 10]))).toEqual([
    undefined,
    undefined,
    "asked 3",
    undefined,
    "asked 4",
  ]);
});

test("TOOL-11 what a provider asks for after a call that was not run is of a transaction of its own", async () => {
  const counter = { value: 3, snapshot: () => 0, restore() {} };
  const key = resourceKey<typeof counter>("Counter");
  const seen: unknown[] = [];
  const provider: FeedbackProvider = {
    name: "looks",
    every: { calls: 1 },
    provide: ({ resources, session }) => {
      seen.push(resources.get(key).value);
      try {
        session.dispatch({ type: "x" });
      } catch (error) {
        seen.push((error as Error).message);
      }
      return "seen";
    },
  };
  const toolCalls = [{ name: "no_such_tool" }, { name: "work" }];
  const adapter = modelAdapter(scriptedModel([{ toolCalls }, { text: "done" }]), environment);
  const { messages } = await adapter.evaluate(promptWith([provider]), { resources: [provide(key, counter)] });
  expect(toolMessages(messages).map(({ text }) => text.includes("seen"))).toEqual([true, true]);
  const refused = "looks is read-only, but tried to change the session.";
  expect(seen).toEqual([3, refused, 3, refused]);
});

test("TOOL-11 cadence is kept by provider, and over the evaluations of the prompt in one session", async () => {
  const session = createSession();
  const feedback = [says("two", { calls: 2 }), says("three", { calls: 3 })];
  const spoken = [...(await answersTo(feedback, [0, 0], session)), ...(await answersTo(feedback, [0, 0], session))];
  expect(spoken.map((text) => [...text.matchAll(/from="(\w+)"/g)].map(([, name]) => name))).toEqual([
    [],
    ["two"],
    ["three"],
    ["two"],
  ]);
});

test("TOOL-11 cadence is kept per prompt: the calls of one bring no feedback forward in another", async () => {
  const session = createSession();
  const feedback = [says("two", { calls: 2 })];
  const spoken: string[] = [];
  for (const key of ["one", "other", "one", "other"]) spoken.push(...(await answersTo(feedback, [0], session, key)));
  expect(spoken.map((text) => text.includes("<feedback"))).toEqual([false, false, true, true]);
});

test("TOOL-11 a provider that throws, or says nothing, is passed over", async () => {
  const broken: FeedbackProvider = {
    name: "broken",
    every: { calls: 1 },
    provide: () => {
      throw new Error("no");
    },
  };
  const silent: FeedbackProvider = { name: "silent", every: { calls: 1 }, provide: () => undefined };
  expect(await answersTo([broken, silent, says("fine", { calls: 1 })], [0])).toEqual([
    'worked\n\n<feedback from="fine">\nfine\n</feedback>',
  ]);
});

test("TOOL-11 two providers of one name have a cadence each", async () => {
  const spoken = await answersTo(
    [says("reminder", { calls: 2 }, "one"), says("reminder", { calls: 2 }, "two")],
    [0, 0],
  );
  expect(spoken.map((text) => [...text.matchAll(/>\n(\w+)\n</g)].map(([, said]) => said))).toEqual([
    [],
    ["one", "two"],
  ]);
});

test("SEC-3 TOOL-11 a provider that returns a promise is ignored and logged, and its rejection is swallowed", async () => {
  const rejections: unknown[] = [];
  const hear = (reason: unknown): void => void rejections.push(reason);
  const late = (name: string, provide: () => Promise<string>): FeedbackProvider => ({
    name,
    every: { calls: 1 },
    provide: provide as never,
  });
  const records: unknown[] = [];
  const log = (fields: object, message: string): void => void records.push({ ...fields, message });
  const logger = { debug() {}, info() {}, warn: log, error: log };
  const feedback = [
    late("rejects", () => Promise.reject(new Error("no"))),
    late("resolves", () => Promise.resolve("late")),
    says("fine", { calls: 1 }),
  ];
  process.on("unhandledRejection", hear);
  try {
    const model = scriptedModel([{ toolCalls: [{ name: "work", arguments: {} }] }, { text: "done" }]);
    const { messages } = await modelAdapter(model, { ...environment, logger }).evaluate(promptWith(feedback));
    expect(toolMessages(messages)[0]?.text).toBe('worked\n\n<feedback from="fine">\nfine\n</feedback>');
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", hear);
  }
  expect(rejections).toEqual([]);
  const told = { message: "feedback.failed", error: expect.stringContaining("must return a text") };
  expect(records).toMatchObject([
    { ...told, provider: "rejects" },
    { ...told, provider: "resolves" },
  ]);
});
