import { provide, provideFactory, type ToolContext } from "@proviso/core";
import { createSession, openResources, transaction } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import {
  calling,
  Counter,
  CounterKey,
  OtherKey,
  promptOf,
  rejectionOf,
  slowAdd,
  toolOf,
  type Environment,
} from "./support.ts";

/** A call that uses nothing itself; in its code, a transaction over resources of its own. */
async function shared() {
  const counter = new Counter();
  return { counter, session: createSession(), resources: await openResources([provide(CounterKey, counter)]) };
}

async function outcomeOf(environment: Environment, body: (context: ToolContext) => Promise<unknown>): Promise<unknown> {
  const outer = toolOf("outer", async (context) => void (outcome = await body(context)), { uses: [] });
  let outcome: unknown = "still waits";
  const controller = new AbortController();
  const evaluating = calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), {
    signal: controller.signal,
  });
  evaluating.catch(() => {});
  await environment.clock.advance(500);
  const known = outcome;
  // A wait without end would hold the test.
  controller.abort();
  await environment.clock.advance(500);
  return known;
}

test("TX-12 context.evaluate in the body of a transaction that a handler began, over what the body holds, is refused at once", async () => {
  const environment = fakeEnvironment();
  const scope = await shared();
  const inner = promptOf({ tools: [slowAdd(environment)] }, "inner");
  const error = await outcomeOf(environment, ({ evaluate }) =>
    transaction({ session: scope.session, resources: scope.resources, tag: "own" }, () =>
      rejectionOf(evaluate(inner, { adapter: calling(environment, "add"), resources: scope.resources })),
    ),
  );
  expect(error).toMatchObject({ code: "deadlock", waitedFor: '"Counter"', heldBy: 'the transaction "own"' });
  expect((error as Error).message).toContain("adapter.evaluate");
  expect(scope.counter.value).toBe(0);
});

test("TX-12 the same some calls deeper is refused, too", async () => {
  const environment = fakeEnvironment();
  const scope = await shared();
  const innermost = promptOf({ tools: [slowAdd(environment)] }, "innermost");
  let error: unknown;
  const middle = toolOf(
    "middle",
    async ({ evaluate }) => {
      const adapter = calling(environment, "add");
      error = await rejectionOf(evaluate(innermost, { adapter, resources: scope.resources }));
    },
    { uses: [] },
  );
  await outcomeOf(environment, ({ evaluate }) =>
    transaction({ session: scope.session, resources: scope.resources, tag: "own" }, () =>
      evaluate(promptOf({ tools: [middle] }, "middle"), { adapter: calling(environment, "middle") }),
    ),
  );
  expect(error).toMatchObject({ code: "deadlock", heldBy: 'the transaction "own"' });
});

test("TX-12 in such a body, context.evaluate over something else runs, and adapter.evaluate over what it holds", async () => {
  const environment = fakeEnvironment();
  const [scope, other] = [await shared(), await shared()];
  const inner = promptOf({ tools: [slowAdd(environment)] }, "inner");
  await outcomeOf(environment, ({ evaluate }) =>
    transaction({ session: scope.session, resources: scope.resources }, async () => {
      await evaluate(inner, { adapter: calling(environment, "add"), resources: other.resources });
      const { session, resources } = scope;
      await calling(environment, "add").evaluate(inner, { session, resources });
    }),
  );
  expect([scope.counter.value, other.counter.value]).toEqual([1, 1]);
});

test("TX-12 two bodies that evaluate by context.evaluate over what the other holds: one is refused, the other goes on", async () => {
  const environment = fakeEnvironment();
  const [one, two] = [await shared(), await shared()];
  const inner = promptOf({ tools: [slowAdd(environment)] }, "inner");
  const codes: string[] = [];
  const crossing = (own: typeof one, { resources }: typeof two) =>
    outcomeOf(environment, ({ evaluate }) =>
      transaction({ session: own.session, resources: own.resources }, async () => {
        await environment.clock.sleep(10);
        const evaluating = evaluate(inner, { adapter: calling(environment, "add"), resources });
        codes.push(
          await evaluating.then(
            () => "fine",
            (error: { code: string }) => error.code,
          ),
        );
      }),
    );
  await Promise.all([crossing(one, two), crossing(two, one)]);
  expect(new Set(codes)).toEqual(new Set(["deadlock", "fine"]));
});

test("TX-12 two bodies that first use what the other one has: one is refused with a DeadlockError and undone", async () => {
  const environment = fakeEnvironment();
  const [first, second] = [new Counter(), new Counter()];
  await using resources = await openResources([
    provideFactory(CounterKey, () => first),
    provideFactory(OtherKey, () => second),
  ]);
  const body = (keys: readonly (typeof CounterKey)[]) =>
    transaction({ session: createSession(), resources }, async (_, views) => {
      for (const key of keys) {
        (await views.resources.open(key)).value += 1;
        await environment.clock.sleep(10);
      }
    });
  const both = Promise.allSettled([body([CounterKey, OtherKey]), body([OtherKey, CounterKey])]);
  await environment.clock.advance(100);
  const refused = (await both).flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
  expect(refused).toMatchObject([{ name: "DeadlockError", code: "deadlock" }]);
  expect([first.value, second.value]).toEqual([1, 1]);
});
