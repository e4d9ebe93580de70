import { DefinitionError, defineEvent, defineSlice, defineTool, type Slice } from "@proviso/core";
import { append, createSession, restoreSession } from "@proviso/runtime";
import { recordEvents, replayEvents } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { digestOfState, evaluateCalls, fc, journal, noted, notes, promptOf, thrownBy } from "./support.ts";

const counted = defineEvent("counted", z.object({ by: z.number() }));
const count = defineSlice({
  name: "count",
  schema: z.object({ total: z.number(), last: z.string().optional() }),
  initial: { total: 0 },
  reducers: ({ on }) => on(counted, (draft, { by }) => void (draft.total += by)),
});
const current = defineSlice<string | undefined>({
  name: "current",
  initial: undefined,
  reducers: ({ on }) => on(noted, (_, { text }) => text),
});
const slices: readonly Slice[] = [notes, journal, count, current];
const saved = (session = sessionWith("a", "b")) => JSON.parse(JSON.stringify(session)) as Record<string, never>;

function sessionWith(...texts: readonly string[]) {
  const session = createSession({ slices, id: "s-1" });
  for (const text of texts) session.dispatch(noted({ text }));
  session.dispatch(counted({ by: texts.length }));
  return session;
}

test("SES-3 a session's JSON brings back its id, its states and its numbering", async () => {
  const session = sessionWith();
  await evaluateCalls(promptOf(), [{ name: "nope" }], { session });
  session.dispatch(noted({ text: "x" }));
  const restored = restoreSession(saved(session), { slices });
  expect(restored.id).toBe("s-1");
  expect(digestOfState(restored, ...slices)).toBe(digestOfState(session, ...slices));
  const events = recordEvents(restored);
  await evaluateCalls(promptOf(), [{ name: "nope" }], { session: restored });
  const last = JSON.parse(JSON.stringify(session)) as { readonly seq: number };
  expect(events[0]).toMatchObject({ seq: last.seq, sessionId: "s-1" });
});

test("SES-3 any plain state comes back as it was", () => {
  const value = fc
    .jsonValue({ maxDepth: 6 })
    .filter((json) => !/__proto__|constructor|prototype/.test(JSON.stringify(json)));
  fc.assert(
    fc.property(value, (json) => {
      const slice = defineSlice<unknown>({ name: "any", initial: json });
      const restored = restoreSession(saved(createSession({ slices: [slice] })), { slices: [slice] });
      expect(JSON.stringify(restored.get(slice))).toBe(JSON.stringify(json));
    }),
  );
});

test("SES-3 a restored state is frozen and goes on being reduced, a log's too", () => {
  const restored = restoreSession(saved(), { slices });
  expect(Object.isFrozen(restored.get(notes))).toBe(true);
  restored.dispatch(noted({ text: "c" }));
  restored.dispatch(counted({ by: 1 }));
  expect([restored.get(notes), restored.get(journal), restored.get(count), restored.get(current)]).toEqual([
    ["a", "b", "c"],
    ["a", "b", "c"],
    { total: 3 },
    "c",
  ]);
});

const damages: readonly (readonly [string, (json: Record<string, never>) => unknown, RegExp])[] = [
  ["a text", (json) => JSON.stringify(json), /JSON\.parse/],
  ["nothing", () => undefined, /not a session/],
  ["a list", () => [], /not a session/],
  ["foreign JSON", () => ({ hello: 1 }), /format/],
  ["a newer version", (json) => ({ ...json, version: 2 }), /version must be 1, not 2/],
  ["no id", ({ id: _, ...json }) => json, /id must be a text/],
  ["a broken number", (json) => ({ ...json, seq: -1 }), /seq/],
  ["no slices", (json) => ({ ...json, slices: {} }), /slices must be a list/],
  [
    "an unknown slice",
    (json) => ({ ...json, slices: [{ name: "nope", kind: "state", state: 1 }] }),
    /slices\[0\]\.name.*"nope"/,
  ],
  [
    "a slice twice",
    (json) => ({ ...json, slices: [...(json["slices"] as unknown as never[]), json["slices"]?.[0]] }),
    /there twice/,
  ],
  [
    "another kind",
    (json) => ({ ...json, slices: [{ name: "notes", kind: "log", state: [] }] }),
    /kind must be "state"/,
  ],
  [
    "a log that is no list",
    (json) => ({ ...json, slices: [{ name: "journal", kind: "log", state: {} }] }),
    /must be a list/,
  ],
  [
    "a state that does not fit",
    (json) => ({ ...json, slices: [{ name: "count", kind: "state", state: { total: "1" } }] }),
    /slices\[0\]\.state.*total/,
  ],
  [
    "an unknown key of a state",
    (json) => ({ ...json, slices: [{ name: "count", kind: "state", state: { total: 1, x: 1 } }] }),
    /x: unknown key/,
  ],
  [
    "a hostile key",
    () =>
      JSON.parse(
        '{"format":"proviso.session","version":1,"id":"s","seq":0,"slices":[{"name":"notes","kind":"state","state":{"__proto__":{}}}]}',
      ),
    /__proto__/,
  ],
  ["an unknown key", (json) => ({ ...json, more: 1 }), /more is not known/],
  [
    "an unknown key of a slice",
    (json) => ({ ...json, slices: [{ name: "notes", kind: "state", state: [], more: 1 }] }),
    /slices\[0\]\.more is not known/,
  ],
  ["a hole", (json) => ({ ...json, slices: Array(1) }), /slices\[0\] must be an object/],
  [
    "a list that became an object",
    (json) => ({ ...json, slices: [{ name: "notes", kind: "state", state: { 0: "a" } }] }),
    /slices\[0\]\.state must be a list/,
  ],
  [
    "an item that is no JSON",
    (json) => ({ ...json, slices: [{ name: "notes", kind: "state", state: ["a", { at: [1n] }] }] }),
    /slices\[0\]\.state\[1\]\.at\[0\] is a bigint/,
  ],
  ["a missing state", (json) => ({ ...json, slices: [{ name: "notes", kind: "state" }] }), /state is missing/],
];

test.each(damages)("SES-3 %s is refused whole, with the path of the fault", (_, damage, says) => {
  const error = thrownBy(() => restoreSession(damage(saved()), { slices }));
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toMatch(says);
});

test("SES-3 a state that holds itself cannot be saved, and the error is short", () => {
  const ring: { ring?: unknown } = {};
  ring.ring = ring;
  const slice = defineSlice<unknown>({ name: "ring", initial: ring });
  const { message } = thrownBy(() => createSession({ slices: [slice] }).toJSON());
  expect(message).toContain("it may hold itself");
  expect(message.length).toBeLessThan(250);
});

test("SES-3 what was given to restoreSession stays the caller's: unfrozen, and no way into the session", () => {
  const json = saved() as unknown as { slices: { name: string; state: string[] }[] };
  const restored = restoreSession(json, { slices });
  for (const slice of json.slices) if (Array.isArray(slice.state)) slice.state.push("later");
  expect([restored.get(notes), restored.get(journal)]).toEqual([
    ["a", "b"],
    ["a", "b"],
  ]);
});

test("SES-3 restoreSession without slices says what it needs", () => {
  expect(thrownBy(() => restoreSession(saved(), undefined as never)).message).toContain("slices");
  expect(thrownBy(() => restoreSession(saved(), {} as never))).toBeInstanceOf(DefinitionError);
});

test("SES-3 JSON in which any one value is another is refused with a DefinitionError, or is a session", () => {
  const odd = [null, 1, -1, 0.5, "", "x", [], {}, true, undefined, 1n, Number.NaN, [undefined]];
  const places: (readonly (string | number)[])[] = [];
  const visit = (value: unknown, path: readonly (string | number)[]): void => {
    places.push(path);
    if (typeof value !== "object" || value === null) return;
    for (const key of Object.keys(value)) visit((value as Record<string, unknown>)[key], [...path, key]);
  };
  visit(saved(), []);
  let refused = 0;
  for (const path of places) {
    for (const value of odd) {
      const json = structuredClone({ root: saved() as unknown });
      const at = ["root", ...path];
      const last = at.pop() as string;
      const parent = at.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], json);
      (parent as Record<string, unknown>)[last] = value;
      let again: unknown;
      try {
        again = saved(restoreSession(json.root, { slices }));
      } catch (error) {
        expect(error).toBeInstanceOf(DefinitionError);
        expect((error as Error).message).toMatch(/^This is not a session's JSON: /);
        refused += 1;
        continue;
      }
      const given = JSON.parse(JSON.stringify(json.root)) as { readonly slices: readonly unknown[] };
      expect(again).toMatchObject({ ...given, slices: expect.arrayContaining([...given.slices]) as unknown });
    }
  }
  expect(refused).toBeGreaterThan(places.length * 7);
});

test("SES-3 JSON that was cut anywhere is refused or is no JSON", () => {
  const text = JSON.stringify(saved());
  for (let length = 0; length < text.length; length++) {
    const cut = text.slice(0, length);
    const error = thrownBy(() => restoreSession(JSON.parse(cut), { slices }));
    expect(error instanceof DefinitionError || error instanceof SyntaxError).toBe(true);
  }
});

test.each([
  ["a Map", new Map(), "Map"],
  ["a bigint", 1n, "bigint"],
  ["NaN", { a: [1, Number.NaN] }, "a[1]"],
  ["a hole", { a: [undefined] }, "a[0]"],
  ["an empty place", Object.assign(Array(3), { 0: 1, 2: 2 }), "[1]"],
  ["a key that is a symbol", { [Symbol("s")]: 1 }, "Symbol(s)"],
  ["a list with properties", Object.assign([1], { more: 2 }), "properties of its own"],
])("SES-3 a state with %s cannot be saved, and the error says where", (_, initial: unknown, where) => {
  const odd = defineSlice<unknown>({ name: "odd", initial });
  const error = thrownBy(() => createSession({ slices: [odd] }).toJSON());
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toContain('"odd"');
  expect(error.message).toContain(where);
});

test("SES-3 a state that its own schema does not accept cannot be saved, and the error says where", () => {
  const task = z.object({ text: z.string() });
  const tasks = defineSlice({
    name: "tasks",
    schema: z.array(task).max(2),
    initial: [] as readonly z.infer<typeof task>[],
    reducers: ({ on }) => on(noted, append),
  });
  const session = createSession({ slices: [tasks] });
  session.dispatch(noted({ text: "the event itself, with its type" }));
  const error = thrownBy(() => session.toJSON());
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toBe(
    'The state of slice "tasks" cannot be saved: 0.type: unknown key. Its reducers made a state that its schema does not accept: change one of them (an event has its "type" beside its data).',
  );
});

test("SES-3 replaying the recorded events through the reducers gives the saved state", async () => {
  const invoked = defineSlice({
    name: "invoked",
    initial: [] as readonly string[],
    reducers: ({ on }) => {
      on("tool.invoked", (draft, { callId }) => void draft.push(callId));
      on("prompt.executed", (draft, { turns }) => void draft.push(String(turns)));
    },
  });
  const all = [...slices, invoked];
  const session = createSession({ slices: all });
  const events = recordEvents(session);
  await evaluateCalls(promptOf(), [{ name: "nope" }, { name: "nope" }], { session });
  session.dispatch(noted({ text: "a" }));
  session.dispatch(counted({ by: 2 }));
  const replayed = replayEvents(events, { slices: all });
  expect(digestOfState(replayed, ...all)).toBe(digestOfState(session, ...all));
  expect(session.get(invoked)).toHaveLength(3);
});

test("SES-3 TX-7 append and push add to a log; what was handed out never changes", () => {
  const appended = defineSlice({
    name: "appended",
    kind: "log",
    initial: [] as readonly string[],
    reducers: ({ on }) => on(noted, (list, { text }) => append(list, text)),
  });
  const session = createSession({ slices: [appended, journal] });
  const taken = [appended, journal].map((slice) => session.get(slice));
  session.dispatch(noted({ text: "a" }));
  expect(taken).toEqual([[], []]);
  const [first, second] = [appended, journal].map((slice) => session.get(slice));
  expect([first, second]).toEqual([["a"], ["a"]]);
  expect(session.get(appended)).toBe(first);
  expect(Array.isArray(first) && Object.isFrozen(first)).toBe(true);
  session.dispatch(noted({ text: "b" }));
  expect([first, session.get(appended)]).toEqual([["a"], ["a", "b"]]);
});

test("EVT-1 a reducer of a log pushes to its draft or returns another list; one that throws changes nothing", () => {
  const odd = defineSlice({
    name: "odd",
    kind: "log",
    initial: ["z"] as readonly string[],
    reducers: ({ on }) =>
      on(noted, (draft, { text }) => {
        draft.push(text);
        if (text === "throw") throw new Error("no");
        if (text === "sort") return draft.entries.toSorted();
        if (text === "clear") return [];
        if (text === "replace") return ["only"];
        return undefined;
      }),
  });
  const session = createSession({ slices: [odd] });
  const after = (text: string) => {
    const { errors } = session.dispatch(noted({ text }));
    return [session.get(odd).join(" "), errors.length];
  };
  expect(after("a")).toEqual(["z a", 0]);
  expect(after("throw")).toEqual(["z a", 1]);
  expect(after("sort")).toEqual(["a sort z", 0]);
  expect(after("clear")).toEqual(["", 0]);
  expect(after("replace")).toEqual(["only", 0]);
});

test("EVT-1 reducers of a slice run in the order of their registration, for two keys of one event too", async () => {
  const order: string[] = [];
  const tool = defineTool({ name: "work", description: "x", input: z.object({}), execute: () => "done" });
  const watching = defineSlice({
    name: "watching",
    initial: 0,
    reducers: ({ on }) => {
      on("tool.invoked", () => void order.push("first"));
      on(tool, () => void order.push("second"));
      on("tool.invoked", () => void order.push("third"));
    },
  });
  const session = createSession({ slices: [watching] });
  await evaluateCalls(promptOf({ tools: [tool] }), [{ name: "work" }], { session });
  expect(order).toEqual(["first", "second", "third"]);
});

test("EVT-1 a listener that subscribes or leaves while an event is delivered does so from the next event on", () => {
  const session = createSession({ slices: [notes] });
  const heard: string[] = [];
  const offs: (() => void)[] = [];
  session.on(noted, () => {
    heard.push("first");
    offs.splice(0).forEach((off) => off());
    if (heard.length === 1) session.on(noted, () => void heard.push("late"));
  });
  offs.push(session.on(noted, () => void heard.push("leaving")));
  session.dispatch(noted({ text: "a" }));
  expect(heard).toEqual(["first", "leaving"]);
  session.dispatch(noted({ text: "b" }));
  expect(heard).toEqual(["first", "leaving", "first", "late"]);
});
