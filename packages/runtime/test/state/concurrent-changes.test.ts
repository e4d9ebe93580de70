import { defineSlice, type SessionSnapshot } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { coreOf } from "../../src/session/session-core.ts";
import type { SessionMark } from "../../src/session/concurrent-changes.ts";
import { fc, journal, noted, notes } from "./support.ts";

/** Everything that happens, as one list: what applications note, and which evaluation asked its provider. */
const seen = defineSlice({
  name: "seen",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => void draft.push(text));
    on("provider.requested", (draft, { evaluationId }) => void draft.push(evaluationId));
  },
});

function world() {
  const session = createSession({ slices: [seen, journal] });
  const core = coreOf(session);
  const requested = (evaluationId: string, parent?: string) =>
    core.reduce(
      core.number({
        type: "provider.requested",
        evaluationId,
        ...(parent === undefined ? {} : { parent: { evaluationId: parent, callId: "c" } }),
        at: 0,
        turn: 1,
        attempt: 1,
        messages: 1,
      }),
    );
  const open = (owner?: string): SessionMark => {
    const mark = core.mark();
    core.open(mark, owner);
    return mark;
  };
  const undo = (mark: SessionMark): void => {
    core.rollback(mark);
    core.close(mark);
  };
  /** By the call itself. */
  const own = (text: string) => core.reduce(noted({ text }));
  const other = (text: string) => session.dispatch(noted({ text }));
  return { session, core, requested, open, undo, own, other, state: () => session.get(seen) };
}

test("TX-1 TX-7 what an application dispatches beside a call stands when the call is undone, in its order", () => {
  const { open, undo, own, other, state, session } = world();
  other("before");
  const mark = open("e");
  own("call 1");
  other("app 1");
  own("call 2");
  other("app 2");
  expect(state()).toEqual(["before", "call 1", "app 1", "call 2", "app 2"]);
  undo(mark);
  expect(state()).toEqual(["before", "app 1", "app 2"]);
  expect(session.get(journal)).toEqual(["before", "call 1", "app 1", "call 2", "app 2"]);
});

test("TX-1 without an open mark a rollback puts back exactly what was marked", () => {
  const { core, other, state } = world();
  const mark = core.mark();
  other("app");
  core.rollback(mark);
  expect(state()).toEqual([]);
});

test("TX-1 what was kept for a mark that is closed does not come back with the next one", () => {
  const { open, undo, core, other, state } = world();
  const first = open("e");
  other("app");
  core.close(first);
  undo(open("e"));
  expect(state()).toEqual(["app"]);
});

test("TX-8 an outer rollback undoes what an inner call kept of its own evaluations, and keeps what others did", () => {
  const { open, undo, own, other, requested, state } = world();
  const outer = open("e");
  own("outer call");
  requested("e-inner", "e");
  const inner = open("e-inner");
  requested("e-sibling", "e");
  other("app");
  requested("somebody");
  undo(inner);
  expect(state()).toEqual(["outer call", "e-inner", "e-sibling", "app", "somebody"]);
  undo(outer);
  expect(state()).toEqual(["app", "somebody"]);
});

test("SES-2 a snapshot that is restored beside a call is not undone with it", () => {
  const { open, undo, own, other, state, session } = world();
  other("a");
  const early = session.snapshot();
  other("b");
  const mark = open("e");
  own("call");
  other("c");
  session.restore(early);
  other("d");
  undo(mark);
  expect(state()).toEqual(["a", "d"]);
});

test("SES-2 a snapshot taken and restored beside a call brings none of the call's writes back", () => {
  const { open, undo, own, other, state, session } = world();
  const mark = open("e");
  other("a");
  own("call");
  const within = session.snapshot();
  other("b");
  session.restore(within);
  expect(state()).toEqual(["a", "call"]);
  undo(mark);
  expect(state()).toEqual(["a"]);
});

test("TX-5 a mark of the logs too cuts them, and records again what others did", () => {
  const { core, own, other, session, state } = world();
  other("before");
  const mark = core.mark("all");
  core.open(mark, "e");
  own("vetoed");
  other("app");
  core.rollback(mark);
  core.close(mark);
  expect([state(), session.get(journal)]).toEqual([
    ["before", "app"],
    ["before", "app"],
  ]);
});

test("EVT-1 a reducer that throws when an event is reduced again leaves its slice, and rollback returns the error", () => {
  const picky = defineSlice({
    name: "picky",
    initial: [] as readonly string[],
    reducers: ({ on }) =>
      on(noted, (draft, { text }) => {
        if (text === "second" && draft.length === 0) throw new Error("not without the first");
        draft.push(text);
      }),
  });
  const session = createSession({ slices: [picky, notes] });
  const core = coreOf(session);
  const mark = core.mark();
  core.open(mark);
  core.reduce(noted({ text: "first" }));
  expect(session.dispatch(noted({ text: "second" })).ok).toBe(true);
  expect(core.rollback(mark).map(String)).toEqual(["Error: not without the first"]);
  expect([session.get(picky), session.get(notes)]).toEqual([[], ["second"]]);
});

interface ModelTransaction {
  readonly mark: SessionMark;
  readonly owner: number;
  /** The state as it would be without this transaction. */
  without: readonly string[];
}
interface ModelSnapshot {
  readonly snapshot: SessionSnapshot;
  readonly state: readonly string[];
  readonly without: ReadonlyMap<ModelTransaction, readonly string[]>;
}

test("TX-1 TX-8 SES-2 after any mix of calls in each other, applications, evaluations and snapshots the state is that of a simple model", () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant("own" as const) },
    { weight: 3, arbitrary: fc.constant("other" as const) },
    { weight: 2, arbitrary: fc.constant("begin" as const) },
    fc.constantFrom("commit" as const, "undo" as const, "snapshot" as const),
    fc.record({ evaluation: fc.constantFrom("0", "1", "2", "x", "y") }),
    fc.record({ restore: fc.nat(9) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const real = world();
      const open: ModelTransaction[] = [];
      const snapshots: ModelSnapshot[] = [];
      let state: readonly string[] = [];
      const happen = (text: string, belongs: (transaction: ModelTransaction) => boolean): void => {
        state = [...state, text];
        for (const each of open) if (!belongs(each)) each.without = [...each.without, text];
      };
      const request = (name: string): void => {
        const depth = Number(name);
        const inside = name === "y" ? "x" : depth > 0 ? String(depth - 1) : undefined;
        real.requested(name, inside);
        happen(name, ({ owner }) => depth >= owner);
      };
      for (const [index, taken] of steps.entries()) {
        if (taken === "own") {
          real.own(`own ${index}`);
          happen(`own ${index}`, () => true);
        } else if (taken === "other") {
          real.other(`other ${index}`);
          happen(`other ${index}`, () => false);
        } else if (taken === "begin") {
          if (open.length === 3) continue;
          request(String(open.length));
          open.push({ mark: real.open(String(open.length)), owner: open.length, without: state });
        } else if (taken === "commit") {
          const last = open.pop();
          if (last !== undefined) real.core.close(last.mark);
        } else if (taken === "undo") {
          const last = open.pop();
          if (last === undefined) continue;
          real.undo(last.mark);
          state = last.without;
        } else if (taken === "snapshot") {
          const without = new Map(open.map((each) => [each, each.without] as const));
          snapshots.push({ snapshot: real.session.snapshot(), state, without });
        } else if ("evaluation" in taken) {
          if (Number(taken.evaluation) >= open.length) continue;
          request(taken.evaluation);
        } else {
          const chosen = snapshots[taken.restore % Math.max(1, snapshots.length)];
          if (chosen === undefined) continue;
          real.session.restore(chosen.snapshot);
          state = chosen.state;
          for (const each of open) each.without = chosen.without.get(each) ?? chosen.state;
        }
        expect(real.state()).toEqual(state);
      }
    }),
    { numRuns: 400 },
  );
});
