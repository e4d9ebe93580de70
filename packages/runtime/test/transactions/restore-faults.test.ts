import {
  defineTool,
  provide,
  RestoreError,
  UnusableError,
  type EvaluateOptions,
  type FrameworkEvent,
  type Snapshotable,
} from "@proviso/core";
import { createSession, openResources, transaction } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { calling, CounterKey, notes, promptOf, rejectionOf, toolOf, type Counter } from "./support.ts";

/** A resource that fails so many times to restore, or to release. */
class Fragile implements Snapshotable<number> {
  value = 0;
  faults: { restore?: number; release?: number };
  constructor(faults: Fragile["faults"]) {
    this.faults = faults;
  }
  snapshot(): number {
    return this.value;
  }
  async restore(snapshot: number): Promise<void> {
    if ((this.faults.restore ?? 0) > 0) {
      this.faults.restore = (this.faults.restore ?? 0) - 1;
      throw new Error("disk gone");
    }
    this.value = snapshot;
  }
  async release(): Promise<void> {
    if ((this.faults.release ?? 0) > 0) throw new Error("disk full");
  }
}

const bound = (fragile: Fragile) => [provide(CounterKey, fragile as unknown as Counter)];
const change = (fail: boolean) =>
  toolOf("change", ({ resources }) => {
    resources.get(CounterKey).value = 1;
    if (fail) throw new Error("it failed");
  });

async function changing(fragile: Fragile, fail: boolean, options: EvaluateOptions = {}) {
  const events: FrameworkEvent[] = [];
  const session = options.session ?? createSession({ id: "s", slices: [notes] });
  session.on("*", (event) => events.push(event as FrameworkEvent));
  const adapter = calling(fakeEnvironment(), "change");
  const outcome = adapter.evaluate(promptOf({ tools: [change(fail)] }), {
    ...options,
    session,
    resources: bound(fragile),
  });
  const error = await rejectionOf(outcome);
  return { error: error as unknown as RestoreError, events, session };
}

test("TX-13 a rollback that fails: evaluate rejects with the response that it would have been, and an event tells it", async () => {
  const fragile = new Fragile({ restore: 2 });
  const { error, events, session } = await changing(fragile, true);
  expect(error).toBeInstanceOf(RestoreError);
  expect(error.response?.text).toBe("done");
  expect([error.code, error.phase, error.failure, error.usage.totalTokens]).toEqual(["restore", "tool", undefined, 30]);
  const [fault] = error.faults;
  expect(fault).toMatchObject({ operation: "rollback", callIds: ["call_1"] });
  expect(fault?.message).toBe("the changes of the call of change (call_1) could not be undone: disk gone");
  expect(events.map(({ type }) => type)).toContain("transaction.failed");
  expect(events.at(-1)).toMatchObject({ type: "prompt.failed", code: "restore" });
  expect(events.some(({ type }) => type === "prompt.executed")).toBe(false);
  const unusable = await rejectionOf(Promise.resolve().then(() => session.get(notes)));
  expect(unusable).toBeInstanceOf(UnusableError);
  expect(unusable).toMatchObject({ code: "unusable", what: "session", id: "s", operation: "rollback" });
});

test("TX-13 a commit that fails is no success", async () => {
  const { error, events } = await changing(new Fragile({ release: 1 }), false);
  expect(error).toMatchObject({ code: "restore", faults: [{ operation: "commit" }] });
  expect(error.response?.text).toBe("done");
  expect(events.find(({ type }) => type === "transaction.failed")).toMatchObject({
    operation: "commit",
    callIds: ["call_1"],
    turn: 1,
  });
});

test("TX-13 the failure that the evaluation would have come to is in the error", async () => {
  const { error } = await changing(new Fragile({ restore: 2 }), true, { maxTurns: 1 });
  expect(error.code).toBe("restore");
  expect(error.failure).toMatchObject({ code: "turns" });
  expect(error.response).toBeUndefined();
});

test("TX-13 a restore that fails once is tried again, and nothing is unusable", async () => {
  const fragile = new Fragile({ restore: 1 });
  const session = createSession();
  const adapter = calling(fakeEnvironment(), "change");
  const { text } = await adapter.evaluate(promptOf({ tools: [change(true)] }), { session, resources: bound(fragile) });
  expect([text, fragile.value]).toEqual(["done", 0]);
  expect(session.get(notes)).toEqual([]);
});

test("TX-13 the resource is unusable for every session from then on, and says so", async () => {
  const fragile = new Fragile({ restore: 2 });
  await changing(fragile, true);
  const adapter = calling(fakeEnvironment(), "change");
  const { toolResults } = await adapter.evaluate(promptOf({ tools: [change(false)] }), { resources: bound(fragile) });
  expect(toolResults[0]?.result.message).toMatch(/^Not run: .*"Counter" cannot be used any more: .*disk gone$/u);
  const resources = await openResources(bound(fragile));
  const error = await rejectionOf(transaction({ session: createSession(), resources }, async () => 1));
  expect(error).toBeInstanceOf(UnusableError);
  expect(error).toMatchObject({ what: "resource", id: "Counter", operation: "rollback" });
});

test("TX-13 a nested rollback that fails is a fault of every evaluation around it", async () => {
  const environment = fakeEnvironment();
  const fragile = new Fragile({ restore: 2 });
  const inner = promptOf({ tools: [change(true)] }, "inner");
  let innerError: unknown;
  const outer = toolOf("outer", async ({ evaluate }) => {
    innerError = await rejectionOf(
      evaluate(inner, { adapter: calling(environment, "change"), resources: bound(fragile) }),
    );
  });
  const error = await rejectionOf(calling(environment, "outer").evaluate(promptOf({ tools: [outer] })));
  expect(innerError).toMatchObject({ code: "restore" });
  expect(error).toMatchObject({ code: "restore", faults: [{ operation: "rollback" }] });
});

/** As Prisma's and Drizzle's promises are: no instance of Promise, and it runs when it is awaited. */
class Query<T> implements PromiseLike<T> {
  readonly #run: () => Promise<T>;
  constructor(run: () => Promise<T>) {
    this.#run = run;
  }
  then<A = T, B = never>(
    resolved?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#run().then(resolved, rejected);
  }
}

test.each([
  [true, ["before"], ["snapshot", "restore", "release"]],
  [false, ["before", "added"], ["snapshot", "release"]],
])(
  "TX-14 snapshots, restores and releases that are foreign thenables are awaited (fails: %o)",
  async (fail, rows, steps) => {
    const happened: string[] = [];
    const table = {
      rows: ["before"],
      snapshot: () => new Query(async () => (happened.push("snapshot"), [...table.rows])),
      restore: (snapshot: string[]) => new Query(async () => void (happened.push("restore"), (table.rows = snapshot))),
      release: () => new Query(async () => void happened.push("release")),
    };
    const add = defineTool({
      name: "add",
      description: "Adds.",
      input: z.object({}),
      execute(_, { resources }) {
        (resources.get(CounterKey) as unknown as typeof table).rows.push("added");
        if (fail) throw new Error("it failed");
      },
    });
    const resources = [provide(CounterKey, table as unknown as Counter)];
    await calling(fakeEnvironment(), "add").evaluate(promptOf({ tools: [add] }), { resources });
    expect([table.rows, happened]).toEqual([rows, steps]);
  },
);
