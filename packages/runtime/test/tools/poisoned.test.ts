import {
  defineTool,
  provide,
  provideFactory,
  resourceKey,
  RestoreError,
  UnusableError,
  type Snapshotable,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  evaluateCalls,
  Ledger,
  LedgerKey,
  noted,
  notes,
  promptOf,
  rejectionOf,
  thrownBy,
  toolMessages,
} from "./support.ts";

const fragileKey = resourceKey<Snapshotable>("fragile");
/** A resource of its own for each test: once it could not be restored, nothing uses it any more. */
const fragile = () =>
  provide(fragileKey, {
    snapshot: () => 0,
    restore: () => {
      throw new Error("disk gone");
    },
  });
const ran: string[] = [];
const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({ text: z.string(), fail: z.boolean().default(false) }),
  async execute({ text, fail }, { session, resources }) {
    ran.push(text);
    session.dispatch(noted({ text }));
    await resources.find(LedgerKey)?.add(text);
    if (fail) throw new Error("no");
  },
});
const failing = { name: "note", arguments: { text: "a", fail: true } };

test("TX-1 a restore that fails makes the session unusable, and every later use says why", async () => {
  const session = createSession({ id: "s", slices: [notes] });
  const snapshot = session.snapshot();
  await rejectionOf(evaluateCalls(promptOf({ tools: [note] }), [failing], { session, resources: [fragile()] }));
  const uses = [
    () => session.get(notes),
    () => session.dispatch(noted({ text: "b" })),
    () => session.snapshot(),
    () => session.restore(snapshot),
    () => session.fork(),
    () => session.on("*", () => {}),
    () => session.toJSON(),
  ];
  for (const use of uses) {
    const error = thrownBy(use);
    expect(error).toBeInstanceOf(UnusableError);
    expect(error).toMatchObject({ what: "session", id: "s", operation: "rollback" });
    expect(error.message).toMatch(/"s" cannot be used any more: .*note \(.*\) could not be undone.*disk gone/);
  }
  const error = await rejectionOf(evaluateCalls(promptOf(), [], { session }));
  expect([error["code"], error.message]).toEqual(["render", expect.stringContaining("disk gone")]);
});

test("TX-1 nothing more is run on a session that could not be restored, and every call is still answered", async () => {
  const session = createSession();
  ran.length = 0;
  const { messages } = (await rejectionOf(
    evaluateCalls(promptOf({ tools: [note] }), [failing, { name: "note", arguments: { text: "b" } }], {
      session,
      resources: [fragile()],
    }),
  )) as unknown as RestoreError;
  expect(ran).toEqual(["a"]);
  expect(toolMessages(messages).map(({ isError }) => isError)).toEqual([true, true]);
  expect(toolMessages(messages)[1]?.text).toContain("disk gone");
});

test("TX-1 a resource whose restore fails does not keep the others from being restored", async () => {
  const ledger = new Ledger();
  const closed: string[] = [];
  const lateKey = resourceKey<string>("late");
  const use = defineTool({
    ...note,
    async execute(input, context) {
      context.resources.get(lateKey);
      await note.execute(input, context);
    },
  });
  await rejectionOf(
    evaluateCalls(promptOf({ tools: [use] }), [failing], {
      resources: [
        fragile(),
        provide(LedgerKey, ledger),
        provideFactory(lateKey, () => "late", { close: (name) => void closed.push(name) }),
      ],
    }),
  );
  expect([ledger.entries, closed]).toEqual([[], ["late"]]);
});

test("TX-1 a call whose snapshot fails is not run, and leaves no rejection behind", async () => {
  ran.length = 0;
  const refusing = (why: string, sync: boolean): Snapshotable => ({
    snapshot() {
      if (sync) throw new Error(why);
      return Promise.reject(new Error(why));
    },
    restore() {},
  });
  const other = resourceKey<Snapshotable>("other");
  const session = createSession();
  const { messages } = await evaluateCalls(promptOf({ tools: [note] }), [{ name: "note", arguments: { text: "b" } }], {
    session,
    resources: [provide(other, refusing("later", false)), provide(fragileKey, refusing("at once", true))],
  });
  expect(ran).toEqual([]);
  expect(toolMessages(messages)[0]?.text).toMatch(/^Not run: .*(later|at once)/);
  await new Promise((resolve) => setImmediate(resolve));
  expect(session.get(notes)).toEqual([]);
});

test("TX-13 an evaluation over a session that another one made unusable meanwhile is no success", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ id: "s" });
  const slow = scriptedModel([{ text: "all is well", afterMs: 50 }], { clock: environment.clock });
  const ends: string[] = [];
  for (const type of ["prompt.executed", "prompt.failed"] as const)
    session.on(type, ({ promptName }) => ends.push(`${type} ${promptName}`));
  const other = modelAdapter(slow, environment).evaluate(promptOf({}), { session });
  const failed = rejectionOf(other);
  const first = rejectionOf(evaluateCalls(promptOf({ tools: [note] }), [failing], { session, resources: [fragile()] }));
  await environment.clock.advance(100);
  expect(await first).toBeInstanceOf(RestoreError);
  const error = (await failed) as unknown as RestoreError;
  expect(error).toBeInstanceOf(RestoreError);
  expect(error).toMatchObject({
    code: "restore",
    faults: [{ operation: "rollback", callIds: [], message: expect.stringContaining("disk gone") }],
    response: { text: "all is well" },
    failure: undefined,
  });
  expect(error.cause).toBeInstanceOf(UnusableError);
  expect(ends).toEqual(["prompt.failed tests/prompt", "prompt.failed tests/prompt"]);
});
