import { defineTool, definePrompt, ListenerError } from "@proviso/core";
import { createSession, modelAdapter, type Logger } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { evaluateCalls, noted, notes, promptOf, rejectionOf } from "./support.ts";

afterEach(() => void vi.restoreAllMocks());

const big = defineTool({
  name: "big",
  description: "Gives what JSON leaves out, and a zero that it lacks.",
  input: z.object({ at: z.string() }),
  execute: ({ at }) => ({ nested: { list: [1] }, at, nothing: undefined, zero: -0 }),
});
const write = defineTool({
  name: "write",
  description: "Notes.",
  input: z.object({ text: z.string() }),
  execute: ({ text }, { session }) => void session.dispatch(noted({ text })),
});

/** Keeps what is logged as `level message`. */
function recordingLogger(): Logger & { readonly records: { level: string; fields: object; message: string }[] } {
  const records: { level: string; fields: object; message: string }[] = [];
  const at = (level: string) => (fields: object, message: string) => void records.push({ level, fields, message });
  return { records, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

test("EVT-2 framework events are numbered without a gap across evaluations, application events are not numbered", async () => {
  const session = createSession({ id: "s" });
  const events = recordEvents(session);
  for (const text of ["a", "b"]) {
    await evaluateCalls(promptOf({ tools: [write] }), [{ name: "write", arguments: { text } }], { session });
    session.dispatch({ type: "between" });
  }
  const framework = events.filter((event) => event.evaluationId !== undefined);
  expect(framework.map(({ seq }) => seq)).toEqual(framework.map((_, index) => index));
  expect(framework.length).toBeGreaterThan(10);
  expect(framework.every(({ sessionId }) => sessionId === "s")).toBe(true);
  expect(events.filter(({ evaluationId }) => evaluationId === undefined).map((event) => "seq" in event)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test("EVT-2 a call that is vetoed leaves no gap in the numbers", async () => {
  const session = createSession();
  session.on(write, ({ result }) => {
    if (result.success) throw new Error("no");
  });
  const events = recordEvents(session);
  await evaluateCalls(promptOf({ tools: [write] }), [{ name: "write", arguments: { text: "a" } }], { session });
  const numbers = events.flatMap((event) => (event.evaluationId === undefined ? [] : [event.seq]));
  expect(numbers).toEqual(numbers.map((_, index) => index));
});

test("EVT-2 an evaluation's events carry its id, from newId, and times from its clock", async () => {
  const environment = fakeEnvironment();
  const session = createSession();
  const events = recordEvents(session);
  const model = scriptedModel([{ text: "done", afterMs: 250 }], { clock: environment.clock });
  const start = environment.clock.now();
  const evaluating = modelAdapter(model, environment).evaluate(promptOf(), { session });
  await environment.clock.advance(250);
  const { evaluationId } = await evaluating;
  const seen = events.flatMap((event) =>
    event.evaluationId === undefined ? [] : [[event.type, event.at - start, event.evaluationId]],
  );
  expect(evaluationId).toMatch(/^id-1-\d+$/);
  expect(seen).toEqual([
    ["prompt.rendered", 0, evaluationId],
    ["provider.requested", 0, evaluationId],
    ["provider.responded", 250, evaluationId],
    ["prompt.executed", 250, evaluationId],
  ]);
  expect(events.at(-1)).toMatchObject({ type: "prompt.executed", durationMs: 250 });
});

test("EVT-2 two evaluations have two ids, and the same environment gives the same events again", async () => {
  const record = async () => {
    const session = createSession({ id: "s" });
    const events = recordEvents(session);
    const environment = fakeEnvironment(7);
    for (let i = 0; i < 2; i++) {
      await evaluateCalls(
        promptOf({ tools: [write] }),
        [{ name: "write", arguments: { text: "a" }, id: "" }],
        { session },
        environment,
      );
    }
    return events;
  };
  const [first, second] = [await record(), await record()];
  expect(first).toEqual(second);
  expect(new Set(first.map(({ evaluationId }) => evaluationId)).size).toBe(3);
});

test("EVT-2 events are plain JSON: they equal what comes back from their JSON text, bigint and dates as strings", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const prompt = definePrompt({
    ns: "tests",
    key: "json",
    params: z.object({ count: z.bigint(), at: z.date(), more: z.string().optional() }),
    sections: [{ key: "only", text: "Count {{count}}.", tools: [big] }],
  }).bind({ count: 5n, at: new Date(0), more: undefined });
  const model = scriptedModel([
    {
      toolCalls: [
        { name: "big", arguments: { at: "2026-01-01T00:00:00.000Z" } },
        { name: "big", arguments: "{" },
        { name: "none" },
      ],
    },
    { text: "done" },
  ]);
  await modelAdapter(model, fakeEnvironment()).evaluate(prompt, { session });
  for (const event of events) expect(JSON.parse(JSON.stringify(event))).toEqual(event);
  expect(events.find(({ type }) => type === "prompt.rendered")).toMatchObject({
    params: { count: "5", at: "1970-01-01T00:00:00.000Z" },
  });
  expect(events.find(({ type }) => type === "tool.invoked")).toMatchObject({
    result: { value: { nested: { list: [1] }, at: "2026-01-01T00:00:00.000Z", zero: 0 } },
  });
});

test("EVT-2 without a logger nothing is printed, whatever goes wrong", async () => {
  const printed = vi.fn(() => true);
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation(printed);
  }
  vi.spyOn(process.stdout, "write").mockImplementation(printed);
  vi.spyOn(process.stderr, "write").mockImplementation(printed);
  const session = createSession();
  session.on("*", () => {
    throw new Error("listener");
  });
  await rejectionOf(
    evaluateCalls(promptOf({ tools: [write] }), [{ name: "none" }, { name: "write", arguments: "{" }], { session }),
  );
  expect(printed).not.toHaveBeenCalled();
});

test("EVT-3 a listener that throws on prompt.rendered or a request is logged, and the evaluation goes on", async () => {
  const session = createSession();
  const logger = recordingLogger();
  session.on("prompt.rendered", () => {
    throw new Error("on rendered");
  });
  session.on("provider.requested", () => {
    throw new Error("on requested");
  });
  const { text } = await evaluateCalls(promptOf(), [{ name: "none" }], { session }, { ...fakeEnvironment(), logger });
  expect(text).toBe("done");
  const logged = JSON.stringify(logger.records.filter(({ level }) => level === "error"));
  expect(logged).toContain("on rendered");
  expect(logged).toContain("on requested");
});

test("EVT-3 listeners that throw on prompt.executed reject with a ListenerError, after all ran, which carries the response", async () => {
  const session = createSession();
  const heard: string[] = [];
  const [one, two] = [new Error("one"), new Error("two")];
  session.on("prompt.executed", () => {
    throw one;
  });
  session.on("*", ({ type }) => {
    if (type !== "prompt.executed") return;
    heard.push(type);
    throw two;
  });
  session.on("prompt.failed", ({ type }) => heard.push(type));
  const error = await rejectionOf(
    evaluateCalls(promptOf({ tools: [write] }), [{ name: "write", arguments: { text: "a" } }], { session }),
  );
  expect(error).toBeInstanceOf(ListenerError);
  const { errors, response, usage } = error as unknown as ListenerError;
  expect(errors).toEqual([one, two]);
  expect(response).toMatchObject({ text: "done", output: "done", turns: 2, usage });
  expect(response.toolResults).toHaveLength(1);
  expect(heard).toEqual(["prompt.executed"]);
  expect(session.get(notes)).toEqual(["a"]);
});

test("EVT-3 a listener of an application's event that throws after the commit is logged, and nothing is undone", async () => {
  const session = createSession();
  const logger = recordingLogger();
  session.on(noted, ({ text }) => {
    throw new Error(`listener of ${text}`);
  });
  const { toolResults } = await evaluateCalls(
    promptOf({ tools: [write] }),
    [
      { name: "write", arguments: { text: "a" } },
      { name: "write", arguments: { text: "b" } },
    ],
    { session },
    { ...fakeEnvironment(), logger },
  );
  expect(toolResults.map(({ result }) => result.success)).toEqual([true, true]);
  expect(session.get(notes)).toEqual(["a", "b"]);
  expect(logger.records.filter(({ message }) => message === "session.listener.failed")).toMatchObject([
    { level: "error", fields: { error: "listener of a" } },
    { level: "error", fields: { error: "listener of b" } },
  ]);
});
