import { defineSlice, DefinitionError, type SessionSnapshot } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { fc, journal, noted, notes, promptOf, thrownBy } from "./support.ts";

const word = defineSlice({ name: "word", initial: "none" });

test("SES-2 restore puts back the state slices, by reference, and keeps the log slices", () => {
  const session = createSession({ slices: [notes, journal] });
  session.dispatch(noted({ text: "a" }));
  const before = session.get(notes);
  const snapshot = session.snapshot();
  session.dispatch(noted({ text: "b" }));
  session.restore(snapshot);
  expect(session.get(notes)).toBe(before);
  expect(session.get(journal)).toEqual(["a", "b"]);
});

test("SES-2 a snapshot can be restored again and again, and older ones after newer ones", () => {
  const session = createSession({ slices: [notes] });
  const first = session.snapshot();
  session.dispatch(noted({ text: "a" }));
  const second = session.snapshot();
  session.dispatch(noted({ text: "b" }));
  session.restore(first);
  expect(session.get(notes)).toEqual([]);
  session.restore(second);
  expect(session.get(notes)).toEqual(["a"]);
  session.restore(first);
  expect(session.get(notes)).toEqual([]);
});

test("SES-2 state slices that joined after the snapshot are cleared", async () => {
  const session = createSession();
  const snapshot = session.snapshot();
  await modelAdapter(scriptedModel([{ text: "done" }])).evaluate(promptOf({ slices: [notes, journal] }), { session });
  session.dispatch(noted({ text: "a" }));
  session.restore(snapshot);
  expect([session.get(notes), session.get(journal)]).toEqual([[], ["a"]]);
});

test("SES-2 a session that lacks a slice of the snapshot refuses it, names it, and changes nothing", () => {
  const other = defineSlice({ name: "other", initial: 0 });
  const snapshot = createSession({ slices: [notes, other] }).snapshot();
  const session = createSession({ slices: [notes] });
  session.dispatch(noted({ text: "a" }));
  const error = thrownBy(() => session.restore(snapshot));
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toContain("other");
  expect(session.get(notes)).toEqual(["a"]);
});

test("SES-2 another slice of the same name is not the snapshot's slice", () => {
  const namesake = defineSlice({ name: "notes", initial: { count: 1 } });
  const session = createSession({ slices: [namesake] });
  const error = thrownBy(() => session.restore(createSession({ slices: [notes] }).snapshot()));
  expect(error.message).toContain("notes");
  expect(session.get(namesake)).toEqual({ count: 1 });
});

test("SES-2 a snapshot finds its slices in a session where they joined in another order, among others", () => {
  const [first, second, more] = ["first", "second", "more"].map((name) =>
    defineSlice({ name, initial: "none", reducers: ({ on }) => on(noted, (_, { text }) => `${name} ${text}`) }),
  ) as [typeof word, typeof word, typeof word];
  const origin = createSession({ slices: [first, journal, second] });
  origin.dispatch(noted({ text: "a" }));
  for (const slices of [
    [second, first, journal],
    [second, journal, first],
    [more, second, journal, first],
  ]) {
    const session = createSession({ slices });
    session.dispatch(noted({ text: "b" }));
    session.restore(origin.snapshot());
    expect([session.get(first), session.get(second)]).toEqual(["first a", "second a"]);
    expect([session.get(more), session.get(journal)]).toEqual(["none", ["b"]]);
  }
});

test("SES-2 what no session made is no snapshot", () => {
  const forged: SessionSnapshot = { sessionId: "x" };
  expect(thrownBy(() => createSession().restore(forged))).toBeInstanceOf(DefinitionError);
});

test("SES-2 after any sequence of events, snapshots and restores the state is that of a simple model", () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ note: fc.constantFrom("a", "b", "c") }) },
    fc.constant("snapshot" as const),
    fc.record({ restore: fc.nat(9) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const session = createSession({ slices: [notes, journal] });
      const snapshots = [session.snapshot()];
      const kept: (readonly string[])[] = [[]];
      let model: readonly string[] = [];
      const everything: string[] = [];
      for (const taken of steps) {
        if (taken === "snapshot") {
          snapshots.push(session.snapshot());
          kept.push(model);
        } else if ("note" in taken) {
          session.dispatch(noted({ text: taken.note }));
          model = [...model, taken.note];
          everything.push(taken.note);
        } else {
          const index = taken.restore % snapshots.length;
          session.restore(snapshots[index] as SessionSnapshot);
          model = kept[index] as readonly string[];
        }
        expect(session.get(notes)).toEqual(model);
        expect(session.get(journal)).toEqual(everything);
      }
    }),
  );
});

test("SES-2 a reducer can neither dispatch nor restore: it would undo its own slice's change", () => {
  const session = createSession({ slices: [notes] });
  const snapshot = session.snapshot();
  const meddling = defineSlice({
    name: "meddling",
    initial: 0,
    reducers: ({ on }) => {
      on(noted, () => void inner.dispatch({ type: "other" }));
      on(noted, () => inner.restore(snapshot));
      on(noted, (count) => count + 1);
    },
  });
  const inner = createSession({ slices: [meddling, notes] });
  const { errors } = inner.dispatch(noted({ text: "a" }));
  expect(errors).toHaveLength(2);
  expect(errors.every((error) => error instanceof DefinitionError)).toBe(true);
  expect([inner.get(meddling), inner.get(notes)]).toEqual([1, ["a"]]);
  expect(inner.dispatch({ type: "other" }).ok).toBe(true);
});
