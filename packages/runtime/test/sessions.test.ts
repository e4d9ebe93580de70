import {
  DefinitionError,
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  isEvent,
  NotSupportedError,
} from "@proviso/core";
import { append, createSession, modelAdapter, replaceLatest, upsertBy } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, noted, notes, promptWith, rejection } from "./support.ts";

const counted = defineEvent("counted", z.object({ by: z.number() }));
const total = defineSlice({
  name: "total",
  initial: { sum: 0, log: [] as readonly number[] },
  reducers: ({ on }) =>
    on(counted, (draft, { by }) => {
      if (by < 0) throw new Error("negative");
      draft.sum += by;
    }),
});
const history = defineSlice({
  name: "history",
  kind: "log",
  initial: [] as readonly number[],
  reducers: ({ on }) => on(counted, (draft, { by }) => void draft.push(by)),
});

test("SES-1 state is frozen, and the same reference until it changes", () => {
  const session = createSession({ slices: [total] });
  const before = session.get(total);
  session.dispatch(noted({ text: "another event" }));
  expect(session.get(total)).toBe(before);
  session.dispatch(counted({ by: 2 }));
  const after = session.get(total);
  expect([before.sum, after.sum]).toEqual([0, 2]);
  expect(after.log).toBe(before.log);
  expect(() => Object.assign(after, { sum: 9 })).toThrow(TypeError);
});

test("SES-2 a restore puts back state slices, clears later ones, and keeps log slices", async () => {
  const session = createSession({ slices: [total, history] });
  session.dispatch(counted({ by: 1 }));
  const snapshot = session.snapshot();
  await modelAdapter(scriptedModel([{ text: "done" }])).evaluate(promptWith(), { session });
  session.dispatch(noted({ text: "later slice" }));
  session.dispatch(counted({ by: 5 }));
  session.restore(snapshot);
  expect([session.get(total).sum, session.get(history), session.get(notes)]).toEqual([1, [1, 5], []]);
});

test("SES-2 restoring where a slice is missing changes nothing and says which", () => {
  const origin = createSession({ slices: [total] });
  origin.dispatch(counted({ by: 3 }));
  const other = createSession({ slices: [notes] });
  other.dispatch(noted({ text: "kept" }));
  expect(() => other.restore(origin.snapshot())).toThrow(/lacks slices of the snapshot: total/);
  expect(() => other.restore({ sessionId: "made up" })).toThrow(DefinitionError);
  expect(other.get(notes)).toEqual(["kept"]);
});

test("SES-4 slices join with the evaluation; another slice of the same name is refused", async () => {
  const session = createSession();
  const events = recordEvents(session);
  await modelAdapter(scriptedModel([{ text: "done" }])).evaluate(promptWith(), { session });
  session.dispatch(noted({ text: "joined" }));
  expect(session.get(notes)).toEqual(["joined"]);
  const impostor = defineSlice({ name: "notes", initial: 0 });
  const prompt = definePrompt({
    ns: "tests",
    key: "impostor",
    slices: [impostor],
    sections: [{ key: "s", text: "x" }],
  });
  const before = events.length;
  const error = await rejection(modelAdapter(scriptedModel([])).evaluate(prompt.bind({}), { session }));
  expect(error).toMatchObject({ code: "render", cause: expect.any(DefinitionError) });
  expect(events).toHaveLength(before);
  expect(() => createSession({ slices: [notes, impostor] })).toThrow(DefinitionError);
});

test("SES-4 a fork has the same state and shares nothing that changes", () => {
  const session = createSession({ slices: [total, history] });
  session.dispatch(counted({ by: 1 }));
  const fork = session.fork({ id: "fork" });
  const heard = recordEvents(session);
  fork.dispatch(counted({ by: 10 }));
  session.dispatch(counted({ by: 100 }));
  expect([session.get(total).sum, fork.get(total).sum]).toEqual([101, 11]);
  expect([session.get(history), fork.get(history)]).toEqual([
    [1, 100],
    [1, 10],
  ]);
  expect([fork.id, heard.length]).toEqual(["fork", 1]);
});

test("EVT-1 reducers run first, in order; then listeners in subscription order, whatever they listen to", () => {
  const order: string[] = [];
  const reducer = (name: string) =>
    defineSlice({ name, initial: 0, reducers: ({ on }) => on(counted, () => void order.push(`reduce ${name}`)) });
  const session = createSession({ slices: [reducer("a"), reducer("b")] });
  session.on(counted, () => void order.push("typed"));
  session.on("*", () => void order.push("any"));
  const end = session.on(counted, () => void order.push("ended"));
  session.on(counted, () => void order.push("last"));
  end();
  session.dispatch(counted({ by: 1 }));
  expect(order).toEqual(["reduce a", "reduce b", "typed", "any", "last"]);
});

test("EVT-1 what throws does not stop the others, and is in the result", () => {
  const session = createSession({ slices: [total, history] });
  const heard: number[] = [];
  session.on(counted, () => {
    throw new Error("listener");
  });
  session.on(counted, ({ by }) => void heard.push(by));
  const { ok, errors } = session.dispatch(counted({ by: -1 }));
  expect([ok, errors.map((error) => (error as Error).message)]).toEqual([false, ["negative", "listener"]]);
  expect([session.get(total).sum, session.get(history), heard]).toEqual([0, [-1], [-1]]);
  expect(session.dispatch(noted({ text: "x" }))).toEqual({ ok: true, errors: [] });
});

test("EVT-1 an application cannot dispatch the framework's events, or what is no event", () => {
  const session = createSession();
  expect(() => session.dispatch({ type: "tool.invoked" })).toThrow(DefinitionError);
  expect(() => session.dispatch({} as never)).toThrow(DefinitionError);
});

test("EVT-2 framework events are numbered over evaluations, timed by the clock, and plain JSON", async () => {
  const { clock, random, newId } = fakeEnvironment(5);
  const session = createSession({ id: "s" });
  const events = recordEvents(session);
  const big = defineTool({
    name: "big",
    description: "Big.",
    input: z.object({}),
    execute: () => ({ n: 10n ** 20n, at: new Date(0) }),
  });
  const adapter = modelAdapter(scriptedModel([{ toolCalls: [call("big")] }, { text: "done" }, { text: "again" }]), {
    clock,
    random,
    newId,
  });
  await adapter.evaluate(promptWith(big), { session });
  await adapter.evaluate(promptWith(big), { session });
  const framework = events.flatMap((event) => ("seq" in event ? [event] : []));
  expect(framework.map(({ seq }) => seq)).toEqual([...framework.keys()]);
  expect(new Set(framework.map(({ evaluationId }) => evaluationId))).toEqual(new Set(["id-5-1", "id-5-2"]));
  expect(framework.every(({ at, sessionId }) => at === clock.now() && sessionId === "s")).toBe(true);
  for (const { overrides: _, ...event } of framework as readonly { overrides?: unknown }[]) {
    expect(JSON.parse(JSON.stringify(event))).toEqual(event);
  }
  const invoked = events.find((event) => isEvent(event, big));
  expect(invoked?.result).toMatchObject({ value: { n: "100000000000000000000", at: "1970-01-01T00:00:00.000Z" } });
});

test("EVT-2 the same inputs give the same events", async () => {
  const once = async () => {
    const session = createSession({ id: "s" });
    const events = recordEvents(session);
    const model = scriptedModel([{ toolCalls: [call("nope")] }, { text: "done" }]);
    await modelAdapter(model, fakeEnvironment(11)).evaluate(promptWith(), { session });
    return events;
  };
  expect(await once()).toEqual(await once());
});

test("a session's JSON is not supported yet, and says so", () => {
  expect(() => createSession().toJSON()).toThrow(NotSupportedError);
});

test("list slices have their common reducers", () => {
  expect(append([1], 2)).toEqual([1, 2]);
  const upsert = upsertBy(({ id }: { id: number; v?: string }) => id);
  expect(upsert([{ id: 1 }, { id: 2 }], { id: 1, v: "new" })).toEqual([{ id: 1, v: "new" }, { id: 2 }]);
  expect(upsert([{ id: 1 }], { id: 3 })).toEqual([{ id: 1 }, { id: 3 }]);
  expect(replaceLatest([1, 2], 3)).toEqual([3]);
});
