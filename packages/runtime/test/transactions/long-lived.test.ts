import { deadlineIn, provide, provideFactory, resourceKey, UnusableError, type Snapshotable } from "@proviso/core";
import {
  createSession,
  createSnapshot,
  modelAdapter,
  openResources,
  restoreSnapshot,
  transaction,
} from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { calling, Counter, CounterKey, noted, notes, promptOf, rejectionOf, slowAdd, toolOf } from "./support.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("TX-8 an evaluation that a call begins and leaves keeps none of those before it alive", async () => {
  const environment = fakeEnvironment();
  const length = 30;
  const payloads: WeakRef<object>[] = [];
  const done = Promise.withResolvers<void>();
  const begin = (left: number): void => {
    const payload = { text: "x".repeat(1_000) };
    payloads.push(new WeakRef(payload));
    const next = toolOf("next", () => {
      if (left > 0) begin(left - 1);
      // The last one lives on.
      else return done.promise;
      return payload.text;
    });
    void calling(environment, "next").evaluate(promptOf({ tools: [next] }), {});
  };
  begin(length);
  await environment.clock.advance(1_000);
  // What a WeakRef gave lives until the next task.
  await new Promise((resolve) => void setImmediate(resolve));
  collect();
  await new Promise((resolve) => void setImmediate(resolve));
  collect();
  expect(payloads).toHaveLength(length + 1);
  expect(payloads.filter((each) => each.deref() !== undefined).length).toBeLessThan(5);
  done.resolve();
});

test("TX-10 readers that overlap without end cost the same each, however many there were", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ slices: [notes] });
  const look = toolOf("look", () => environment.clock.sleep(15), { readOnly: true });
  const events: WeakRef<object>[] = [];
  session.on("tool.requested", (event) => void events.push(new WeakRef(event)));
  const evaluations: Promise<unknown>[] = [];
  // At each moment one of them is in its call.
  for (let count = 0; count < 60; count++) {
    const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "look" }] }, { text: "done" }]), environment);
    evaluations.push(adapter.evaluate(promptOf({ tools: [look] }), { session }).then(() => undefined));
    await environment.clock.advance(10);
  }
  await new Promise((resolve) => void setImmediate(resolve));
  collect();
  await new Promise((resolve) => void setImmediate(resolve));
  collect();
  expect(events.length).toBeGreaterThan(50);
  expect(events.filter((each) => each.deref() !== undefined).length).toBeLessThan(15);
  await environment.clock.advance(1_000);
  await Promise.all(evaluations);
});

/** What is restored or used after it was closed fails. */
class Closable implements Snapshotable<number> {
  value = 0;
  isClosed = false;
  snapshot(): number {
    return this.value;
  }
  restore(snapshot: number): void {
    if (this.isClosed) throw new Error("it is closed");
    this.value = snapshot;
  }
  close(): void {
    this.isClosed = true;
  }
}
const ClosableKey = resourceKey<Closable>("Closable");

async function closables() {
  const made: Closable[] = [];
  const session = createSession({ slices: [notes] });
  const resources = await openResources([
    provideFactory(
      ClosableKey,
      () => {
        const one = new Closable();
        made.push(one);
        return one;
      },
      { close: (one) => one.close() },
    ),
  ]);
  return { made, session, resources, scope: { session, resources } };
}

test("TX-9 what a restored snapshot discards in a body that then throws is as before, and open", async () => {
  const { made, session, resources, scope } = await closables();
  const empty = await createSnapshot(scope);
  resources.get(ClosableKey).value = 7;
  const error = await rejectionOf(
    transaction(scope, async (_, views) => {
      views.session.dispatch(noted({ text: "in the body" }));
      resources.get(ClosableKey).value = 8;
      await restoreSnapshot(scope, empty);
      expect(resources.get(ClosableKey).value).toBe(0);
      throw new Error("it failed");
    }),
  );
  expect(error).toMatchObject({ message: "it failed" });
  expect(resources.get(ClosableKey)).toBe(made[0]);
  expect(made.map(({ isClosed, value }) => [isClosed, value])).toEqual([
    [false, 7],
    [true, 0],
  ]);
  expect(session.get(notes)).toEqual([]);
});

test("TX-9 what is first made in a body, and discarded by a snapshot there, is closed once when the body throws", async () => {
  const { made, resources, scope } = await closables();
  const empty = await createSnapshot(scope);
  const error = await rejectionOf(
    transaction(scope, async (_, views) => {
      views.resources.get(ClosableKey).value = 8;
      await restoreSnapshot(scope, empty);
      throw new Error("it failed");
    }),
  );
  expect(error).toMatchObject({ message: "it failed" });
  expect(made.map(({ isClosed }) => isClosed)).toEqual([true]);
  expect(resources.get(ClosableKey).value).toBe(0);
});

test("TX-9 a snapshot restored in a body that commits discards for good", async () => {
  const { made, resources, scope } = await closables();
  const empty = await createSnapshot(scope);
  resources.get(ClosableKey).value = 7;
  await transaction(scope, () => restoreSnapshot(scope, empty));
  expect(made.map(({ isClosed }) => isClosed)).toEqual([true]);
  expect(resources.get(ClosableKey).value).toBe(0);
});

test("TX-13 a release inside that takes longer than the grace ends before the transaction around restores", async () => {
  const environment = fakeEnvironment();
  const log: string[] = [];
  const resource: Snapshotable<number> = {
    snapshot: () => log.push("snapshot"),
    restore: () => void log.push("restore"),
    async release() {
      log.push("release begins");
      await environment.clock.sleep(60_000);
      log.push("release ends");
    },
  };
  const SlowKey = resourceKey<typeof resource>("Slow");
  const inner = promptOf({ tools: [toolOf("inner", () => "changed", { uses: [SlowKey] })] });
  const outer = toolOf("outer", async (context) => {
    await context.evaluate(inner, { adapter: calling(environment, "inner") });
    throw new Error("it failed");
  });
  const session = createSession();
  const evaluated = calling(environment, "outer")
    .evaluate(promptOf({ tools: [outer] }), {
      session,
      resources: [provide(SlowKey, resource)],
      deadline: deadlineIn(10_000, environment.clock),
    })
    .catch(() => {});
  await environment.clock.advance(500_000);
  await evaluated;
  const begins = log.indexOf("release begins");
  expect(log.slice(begins, begins + 3)).toEqual(["release begins", "release ends", "restore"]);
});

test("TX-9 a body's rollback undoes a call inside that was running when it was asked for, whose handler goes on, and none after it", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ slices: [notes] });
  const counter = new Counter();
  const resources = await openResources([provide(CounterKey, counter)]);
  const add = slowAdd(environment);
  const begin = (): Promise<unknown> =>
    modelAdapter(
      scriptedModel([{ toolCalls: [{ name: "add" }] }, { toolCalls: [{ name: "add" }] }, { text: "done" }]),
      environment,
    ).evaluate(promptOf({ tools: [add] }), { session, resources });
  let evaluated: Promise<unknown> = Promise.resolve();
  const running = transaction({ session, resources }, async (rollback) => {
    evaluated = begin();
    // In the middle of the first call.
    await environment.clock.sleep(10);
    await rollback();
    expect(counter.value).toBe(0);
    expect(await rejectionOf(evaluated)).toMatchObject({ code: "aborted" });
    evaluated = begin();
  });
  await environment.clock.advance(1_000);
  await running;
  await evaluated;
  expect(counter.value).toBe(2);
});

test("TX-9 TX-12 a rollback that a call inside the body waits for is refused at once", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ slices: [notes] });
  const resources = await openResources([provide(CounterKey, new Counter())]);
  let refused: unknown;
  const running = transaction({ session, resources }, async (rollback) => {
    const undo = toolOf("undo", async () => {
      refused = await rejectionOf(rollback());
    });
    await calling(environment, "undo").evaluate(promptOf({ tools: [undo] }), { session, resources });
  });
  await environment.clock.advance(1_000);
  await running;
  expect(refused).toMatchObject({ code: "deadlock" });
  expect(refused).not.toBeInstanceOf(UnusableError);
});
