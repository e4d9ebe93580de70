import { provide, provideFactory, resourceKey, type Binding, type ResourceScope } from "@proviso/core";
import { createSession, createSnapshot, openResources, restoreSnapshot, transaction } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { calling, Counter, CounterKey, promptOf, slowAdd, toolOf } from "../transactions/support.ts";
import { rejection } from "../support.ts";

const StuckKey = resourceKey<object>("Stuck");
const OtherKey = resourceKey<object>("Other");
const never = new Promise<never>(() => {});
/** Milliseconds that closing may take. */
const closeMs = 5_000;

function stuck(options: { scope?: ResourceScope; eager?: boolean } = {}): Binding {
  return provideFactory(StuckKey, () => ({}), { ...options, close: () => never });
}

// What `openResources` opened is closed by the system's clock.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

type Settled = { readonly value: unknown } | { readonly error: Error };
/** What came of it, as soon as something has. */
function watch(work: PromiseLike<unknown>): { settled: Settled | undefined } {
  const watched: { settled: Settled | undefined } = { settled: undefined };
  work.then(
    (value) => (watched.settled = { value }),
    (error: Error) => (watched.settled = { error }),
  );
  return watched;
}

test("RES-11 an evaluation ends though a resource of its scope does not close, and the log says so", async () => {
  const warned: unknown[] = [];
  const log = (fields: object, message: string) => void warned.push([message, fields]);
  const environment = fakeEnvironment();
  const logger = { debug() {}, info() {}, warn: log, error: log };
  const prompt = promptOf({ tools: [toolOf("none", () => 1)] });
  const evaluating = watch(
    calling({ ...environment, logger } as typeof environment, "none").evaluate(prompt, {
      resources: [stuck({ eager: true })],
    }),
  );
  await environment.clock.advance(closeMs - 1);
  expect(evaluating.settled).toBeUndefined();
  await environment.clock.advance(1);
  expect(evaluating.settled).toMatchObject({ value: { text: "done" } });
  const error = expect.stringContaining('Closing "Stuck" takes longer than 5000 ms');
  expect(warned).toContainEqual(["resource.close.failed", expect.objectContaining({ error })]);
  expect(environment.clock.pending).toBe(0);
});

const inCalls = (["singleton", "toolCall", "prototype"] as const).flatMap((scope) =>
  (["fails", "succeeds"] as const).flatMap((outcome) =>
    ["in the call", "in a nested evaluation"].map((where) => ({ scope, outcome, where })),
  ),
);

test.each(inCalls)(
  "RES-11 a resource that was made late and does not close holds no lock: %o",
  async ({ scope, outcome, where }) => {
    const environment = fakeEnvironment();
    const counter = new Counter();
    const shared = await openResources([provide(CounterKey, counter)]);
    const use = toolOf("use", async (context) => void (await context.resources.open(StuckKey)));
    const first = toolOf("use", async (context) => {
      if (where === "in the call") await context.resources.open(StuckKey);
      else
        await context.evaluate(promptOf({ tools: [use] }, "inner"), {
          adapter: calling(environment, "use"),
          resources: [stuck({ scope })],
        });
      if (outcome === "fails") throw new Error("on purpose");
    });
    const resources = where === "in the call" ? [shared, stuck({ scope })] : shared;
    const one = watch(calling(environment, "use").evaluate(promptOf({ tools: [first] }), { resources }));
    const other = watch(
      calling(environment, "add").evaluate(promptOf({ tools: [slowAdd(environment, { ms: 1 })] }), {
        resources: shared,
      }),
    );
    // The call's end, and the evaluation's.
    await environment.clock.advance(2 * closeMs);
    expect([one.settled, other.settled]).toMatchObject([{ value: { text: "done" } }, { value: { text: "done" } }]);
    expect(counter.value).toBe(1);
  },
);

test.each(inCalls.filter(({ where }) => where === "in the call"))(
  "RES-11 after a limit it is waited for no longer than for anything else: %o",
  async ({ scope, outcome }) => {
    const environment = fakeEnvironment();
    const counter = new Counter();
    const shared = await openResources([provide(CounterKey, counter)]);
    const use = toolOf("use", async (context) => {
      await context.resources.open(StuckKey);
      if (outcome === "fails") throw new Error("on purpose");
    });
    const controller = new AbortController();
    const { signal } = controller;
    const one = watch(
      calling(environment, "use").evaluate(promptOf({ tools: [use] }), {
        resources: [shared, stuck({ scope })],
        signal,
      }),
    );
    const other = watch(
      calling(environment, "add").evaluate(promptOf({ tools: [slowAdd(environment, { ms: 1 })] }), {
        resources: shared,
      }),
    );
    await environment.clock.advance(10);
    controller.abort();
    await environment.clock.advance(100);
    // A singleton's turn comes when there is an answer already.
    expect(one.settled).toMatchObject(
      scope === "singleton" && outcome === "succeeds" ? { value: { text: "done" } } : { error: { code: "aborted" } },
    );
    expect([other.settled, counter.value]).toMatchObject([{ value: { text: "done" } }, 1]);
  },
);

test("LIM-2 a nested evaluation that a limit ended is over before what is around it", async () => {
  const environment = fakeEnvironment();
  const controller = new AbortController();
  const resources = () => [provide(resourceKey<object>("Unrestored"), { snapshot: () => 0, restore: () => never })];
  const hang = toolOf("hang", () => never);
  let inside: ReturnType<typeof watch> | undefined;
  const nest = toolOf("nest", (context) => {
    const own = { adapter: calling(environment, "hang"), resources: resources() };
    const evaluating = context.evaluate(promptOf({ tools: [hang] }, "inner"), own);
    inside = watch(evaluating);
    return evaluating;
  });
  const outside = watch(
    calling(environment, "nest").evaluate(promptOf({ tools: [nest] }), {
      resources: resources(),
      signal: controller.signal,
    }),
  );
  await environment.clock.advance(10);
  controller.abort();
  const aborted = { error: { code: "aborted" } };
  await environment.clock.advance(29);
  expect([inside?.settled, outside.settled]).toEqual([undefined, undefined]);
  await environment.clock.advance(1);
  expect([inside?.settled, outside.settled]).toMatchObject([aborted, undefined]);
  await environment.clock.advance(30);
  expect(outside.settled).toMatchObject(aborted);
});

test("RES-11 a scope closes though a resource, or a factory, hangs; what is left is closed all the same, in order", async () => {
  const log: string[] = [];
  const closing = (name: string) => ({ close: () => void log.push(name) });
  const [a, b] = [resourceKey<object>("a"), resourceKey<object>("b")];
  const opened = await openResources([
    provideFactory(a, () => ({}), closing("a")),
    stuck(),
    provideFactory(b, () => ({}), closing("b")),
    provideFactory(OtherKey, () => never, closing("other")),
  ]);
  for (const key of [a, StuckKey, b]) opened.get(key);
  const hanging = watch(opened.open(OtherKey));
  const disposing = watch(opened[Symbol.asyncDispose]());
  await vi.advanceTimersByTimeAsync(closeMs - 1);
  expect(disposing.settled).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  const message = 'Closing "Stuck" takes longer than 5000 ms: it goes on behind.';
  expect(disposing.settled).toMatchObject({ error: { errors: [{ name: "TimeoutError", message }] } });
  expect([log, hanging.settled]).toEqual([["b", "a"], undefined]);
});

test("RES-11 where an eager factory fails, its error comes though what was made before does not close", async () => {
  const failing = provideFactory(OtherKey, () => Promise.reject(new Error("no connection")), { eager: true });
  const opening = watch(openResources([stuck({ eager: true }), failing]));
  await vi.advanceTimersByTimeAsync(closeMs);
  expect(opening.settled).toMatchObject({ error: { message: "no connection" } });
  const environment = fakeEnvironment();
  const evaluating = watch(
    calling(environment, "none").evaluate(promptOf(), { resources: [stuck({ eager: true }), failing] }),
  );
  await environment.clock.advance(closeMs);
  expect(evaluating.settled).toMatchObject({ error: { code: "render", message: "no connection" } });
});

test("RES-11 a transaction that fails, and a snapshot that is restored, end though what they discard does not close", async () => {
  const counter = new Counter();
  const scope = { session: createSession(), resources: await openResources([provide(CounterKey, counter), stuck()]) };
  const snapshot = await createSnapshot(scope);
  const failing = watch(
    transaction(scope, async (_, { resources }) => {
      resources.get(StuckKey);
      throw new Error("on purpose");
    }),
  );
  const waiting = watch(transaction(scope, async () => "had the lock"));
  await vi.advanceTimersByTimeAsync(closeMs);
  expect([failing.settled, waiting.settled]).toMatchObject([
    { error: { message: "on purpose" } },
    { value: "had the lock" },
  ]);
  scope.resources.get(StuckKey);
  const restoring = watch(restoreSnapshot(scope, snapshot));
  const next = watch(transaction(scope, async () => "had the lock"));
  await vi.advanceTimersByTimeAsync(closeMs);
  expect([restoring.settled, next.settled]).toEqual([{ value: undefined }, { value: "had the lock" }]);
  const error = await rejection(Promise.resolve(scope.resources[Symbol.asyncDispose]()));
  expect(error["errors"]).toMatchObject([{ name: "TimeoutError" }, { name: "TimeoutError" }]);
});

test("RES-11 TX-13 what an undoing still needs behind the evaluation's end is closed after it", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const log: string[] = [];
  const restore = async (): Promise<void> => {
    log.push("restoring");
    await clock.sleep(60_000);
    log.push("restored");
  };
  const slow = provideFactory(StuckKey, () => ({ snapshot: () => 0, restore }), {
    eager: true,
    close: () => void log.push("closed"),
  });
  const controller = new AbortController();
  const hang = toolOf("hang", () => never);
  const evaluating = watch(
    calling(environment, "hang").evaluate(promptOf({ tools: [hang] }), {
      resources: [slow],
      signal: controller.signal,
    }),
  );
  await clock.advance(10);
  controller.abort();
  await clock.advance(10_000);
  expect(evaluating.settled).toMatchObject({ error: { code: "aborted" } });
  expect(log).toEqual(["restoring"]);
  await clock.advance(60_000);
  expect(log).toEqual(["restoring", "restored", "closed"]);
});
