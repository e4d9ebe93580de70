import {
  defineTool,
  provide,
  RestoreError,
  UnusableError,
  type EvaluateOptions,
  type FrameworkEvent,
  type Snapshotable,
} from "@proviso/core";
import {
  agentAdapter,
  createSession,
  createSnapshot,
  modelAdapter,
  openResources,
  restoreSnapshot,
  transaction,
  type AgentDriver,
} from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { inspect } from "node:util";
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
const change = (fail: boolean, says = "") =>
  toolOf("change", ({ resources }) => {
    resources.get(CounterKey).value = 1;
    if (fail) throw new Error("it failed");
    return says;
  });

async function changing(fragile: Fragile, fail: boolean, options: EvaluateOptions = {}, says = "") {
  const events: FrameworkEvent[] = [];
  const session = options.session ?? createSession({ id: "s", slices: [notes] });
  session.on("*", (event) => events.push(event as FrameworkEvent));
  const adapter = calling(fakeEnvironment(), "change");
  const outcome = adapter.evaluate(promptOf({ tools: [change(fail, says)] }), {
    ...options,
    session,
    resources: bound(fragile),
  });
  const error = await rejectionOf(outcome);
  return { error: error as unknown as RestoreError, events, session };
}

test("TX-13 a rollback that fails: evaluate rejects with the response that it would have been, and emits an event", async () => {
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

test("TX-13 a model that goes on calling over an unusable session is not asked again", async () => {
  const step = { toolCalls: [{ name: "change" }] };
  const model = scriptedModel([step, step, step, { text: "done" }]);
  const resources = bound(new Fragile({ restore: 2 }));
  const evaluation = modelAdapter(model).evaluate(promptOf({ tools: [change(true)] }), { resources });
  const error = (await rejectionOf(evaluation)) as unknown as RestoreError;
  expect(error).toMatchObject({ code: "restore", phase: "tool", faults: [{ operation: "rollback" }] });
  expect([error.response, error.failure]).toEqual([undefined, undefined]);
  expect([model.callCount, error.usage.totalTokens]).toEqual([2, 30]);
  expect(error.messages.at(-1)).toMatchObject({
    role: "tool",
    isError: true,
    text: expect.stringContaining("disk gone"),
  });
});

test("TX-13 an agent that goes on calling over an unusable session is ended", async () => {
  const answers: string[] = [];
  const driver: AgentDriver = {
    name: "agent",
    model: "agent",
    async drive({ executeToolCall }) {
      for (let n = 1; n <= 3; n++)
        answers.push((await executeToolCall({ id: `call_${n}`, name: "change", arguments: "{}" })).text);
      return { message: { role: "assistant", text: "done", toolCalls: [] }, finishReason: "stop" };
    },
  };
  const resources = bound(new Fragile({ restore: 2 }));
  const evaluation = agentAdapter(driver).evaluate(promptOf({ tools: [change(true)] }), { resources });
  expect(await rejectionOf(evaluation)).toMatchObject({ code: "restore", response: undefined, failure: undefined });
  expect(answers).toEqual([expect.stringMatching(/^it failed/u), expect.stringMatching(/^Not run: .*disk gone/u)]);
});

test("TX-13 an evaluation whose calls come after another made the session unusable is ended", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ id: "s", slices: [notes] });
  const step = { toolCalls: [{ name: "change" }] };
  const model = scriptedModel([{ ...step, afterMs: 50 }, step, { text: "done" }], { clock: environment.clock });
  const evaluation = modelAdapter(model, environment).evaluate(promptOf({ tools: [change(false)] }), { session });
  const ended = rejectionOf(evaluation);
  await changing(new Fragile({ restore: 2 }), true, { session });
  await environment.clock.advance(100);
  expect(await ended).toMatchObject({ code: "restore", faults: [{ operation: "rollback", callIds: [] }] });
  expect(model.callCount).toBe(1);
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

test("TX-13 TX-9 a rollback of a body that fails does not hide why the body had thrown", async () => {
  const session = createSession({ slices: [notes] });
  const fragile = new Fragile({ restore: 9 });
  const resources = await openResources(bound(fragile));
  const error = await rejectionOf(
    transaction({ session, resources }, async (_, views) => {
      (await views.resources.open(CounterKey)).value = 1;
      throw new Error("no more ideas");
    }),
  );
  expect(error).toBeInstanceOf(UnusableError);
  const messages = (error.cause as AggregateError).errors.map((each: Error) => inspect(each));
  expect(messages).toEqual([expect.stringContaining("disk gone"), expect.stringContaining("no more ideas")]);
});

test("TX-13 no snapshot is made of an unusable resource, and none is restored", async () => {
  const fragile = new Fragile({ restore: 2 });
  const resources = await openResources(bound(fragile));
  const session = createSession();
  const before = await createSnapshot({ session, resources });
  await changing(fragile, true);
  const unusable = { code: "unusable", what: "resource", id: "Counter" };
  expect(await rejectionOf(createSnapshot({ session, resources }))).toMatchObject(unusable);
  expect(await rejectionOf(restoreSnapshot({ session, resources }, before))).toMatchObject(unusable);
  expect(fragile.value).toBe(1);
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

test.each<readonly [what: string, faults: Fragile["faults"], fail: boolean, text: RegExp]>([
  [
    "committed",
    { release: 1 },
    false,
    /^Session and resources may disagree: .*change \(call_1\) could not be committed: disk full$/,
  ],
  [
    "undone",
    { restore: 2 },
    true,
    /^it failed\n\nSession and resources may disagree: .* could not be undone: disk gone$/,
  ],
])(
  "TX-13 LOOP-3 a call that could not be %s is shown as failed to the model, and in a history that goes on",
  async (_, faults, fail, text) => {
    const { error } = await changing(new Fragile(faults), fail, {}, "It is written.");
    const told = error.messages.find(({ role }) => role === "tool");
    expect(told).toMatchObject({ isError: true, text: expect.stringMatching(text) });
    const model = scriptedModel([{ text: "I see." }]);
    await modelAdapter(model).evaluate(promptOf({ tools: [change(false)] }), { continueFrom: error });
    expect(model.requests[0]?.messages).toContainEqual(told);
  },
);

test("TX-13 a call whose nested evaluation could not be undone is shown as failed, too", async () => {
  const environment = fakeEnvironment();
  const inner = promptOf({ tools: [change(true)] }, "inner");
  const resources = bound(new Fragile({ restore: 2 }));
  const outer = toolOf("outer", async ({ evaluate }) => {
    await rejectionOf(evaluate(inner, { adapter: calling(environment, "change"), resources }));
    return "All is well.";
  });
  const error = await rejectionOf(calling(environment, "outer").evaluate(promptOf({ tools: [outer] })));
  const told = (error as unknown as RestoreError).messages.find(({ role }) => role === "tool");
  expect(told).toMatchObject({ isError: true, text: expect.stringMatching(/^Session and resources may disagree: /) });
});

test("TX-13 SEC-1 the error carries the response as it came, and does not print it", async () => {
  const secret = "sk-hidden-0123456789";
  const model = scriptedModel([{ toolCalls: [{ name: "change" }] }, { text: `It is ${secret}.` }]);
  const adapter = modelAdapter(model, { secrets: [secret] });
  const evaluated = adapter.evaluate(promptOf({ tools: [change(true)] }), {
    resources: bound(new Fragile({ restore: 2 })),
  });
  const error = (await rejectionOf(evaluated)) as unknown as RestoreError;
  expect(error.response?.text).toBe(`It is ${secret}.`);
  expect(inspect(error, { depth: 12 }) + JSON.stringify(error)).not.toContain(secret);
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
