import {
  provide,
  provideFactory,
  resourceKey,
  type Binding,
  type ResourceKey,
  type ResourceScope,
} from "@proviso/core";
import { openResources } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import {
  calling,
  Counter,
  CounterKey,
  OtherKey,
  promptOf,
  slowAdd,
  toolOf,
  type Environment,
} from "../transactions/support.ts";

/** What is no snapshotable resource, and knows whether it was closed. */
class Client {
  closed = false;
}
const ClientKey = resourceKey<Client>("Client");

async function evaluateIn(environment: Environment, tool: ReturnType<typeof toolOf>, options: object): Promise<string> {
  const { name } = tool;
  return calling(environment, name)
    .evaluate(promptOf({ tools: [tool] }), options)
    .then(
      ({ toolResults }) => {
        const [{ result } = { result: undefined }] = toolResults;
        return result?.success === true ? "success" : String(result?.message);
      },
      (error: { code: string }) => error.code,
    );
}

const kinds = [
  ["one that takes part in transactions", CounterKey as ResourceKey<unknown>, () => new Counter()],
  ["one that does not", ClientKey as ResourceKey<unknown>, () => new Client()],
] as const;

test.each(kinds)(
  "TX-4 two evaluations wait for a factory; the first gives up, the second gets the resource: %s",
  async (_, key, make) => {
    const environment = fakeEnvironment();
    const closed: unknown[] = [];
    let made = 0;
    const slow = async () => {
      await environment.clock.sleep(50);
      made += 1;
      return make();
    };
    const resources = await openResources([provideFactory(key, slow, { close: (it) => void closed.push(it) })]);
    const use = toolOf("use", async (context) => void (await context.resources.open(key)));
    const controller = new AbortController();
    const first = evaluateIn(environment, use, { resources, signal: controller.signal });
    await environment.clock.advance(10);
    const second = evaluateIn(environment, use, { resources });
    await environment.clock.advance(10);
    controller.abort();
    await environment.clock.advance(200);
    expect([await first, await second, made, closed]).toEqual(["aborted", "success", 1, []]);
    await resources[Symbol.asyncDispose]();
    expect(closed).toHaveLength(1);
  },
);

test("TX-4 a factory that waits for a lock in the first call fails with it, and is run again for the second", async () => {
  const environment = fakeEnvironment();
  let tries = 0;
  const resources = await openResources([
    // Both are made late, so that no call holds them from its begin.
    provideFactory(CounterKey, () => new Counter()),
    provideFactory(OtherKey, async (from) => {
      tries += 1;
      await from.open(CounterKey);
      return new Counter();
    }),
  ]);
  const use = (key: typeof CounterKey, askAt: number, endAfter: number) =>
    toolOf("use", async ({ resources: given }) => {
      await environment.clock.sleep(askAt);
      const counter = await given.open(key);
      await environment.clock.sleep(endAfter);
      counter.value += 1;
    });
  const controller = new AbortController();
  const evaluating = Promise.all([
    evaluateIn(environment, use(CounterKey, 10, 100), { resources }),
    evaluateIn(environment, use(OtherKey, 20, 0), { resources, signal: controller.signal }),
    evaluateIn(environment, use(OtherKey, 30, 0), { resources }),
  ]);
  await environment.clock.advance(40);
  expect(tries).toBe(1);
  controller.abort();
  await environment.clock.advance(300);
  expect(await evaluating).toEqual(["success", "aborted", "success"]);
  expect([tries, resources.get(CounterKey).value, resources.get(OtherKey).value]).toEqual([2, 1, 1]);
});

test("TX-4 what a failed call made is not closed while another call uses it", async () => {
  const environment = fakeEnvironment();
  const client = new Client();
  const make = provideFactory(ClientKey, () => client, { close: (it) => void (it.closed = true) });
  const resources = await openResources([make]);
  const use = (fail: boolean, ms: number) =>
    toolOf("use", async ({ resources: given }) => {
      const used = given.get(ClientKey);
      await environment.clock.sleep(ms);
      if (used.closed) throw new Error("closed in the middle of the call");
      if (fail) throw new Error("on purpose");
    });
  const first = evaluateIn(environment, use(true, 20), { resources });
  await environment.clock.advance(10);
  const second = evaluateIn(environment, use(false, 50), { resources });
  await environment.clock.advance(200);
  expect([await first, await second]).toEqual(["on purpose", "success"]);
  // Alone, it goes with the call.
  await resources[Symbol.asyncDispose]();
  const alone = await openResources([make]);
  client.closed = false;
  const failing = evaluateIn(environment, use(true, 0), { resources: alone });
  await environment.clock.advance(10);
  expect([await failing, client.closed]).toEqual(["on purpose", true]);
});

test("TX-4 what a failed call made is not closed while a call of another scope waits for it", async () => {
  const environment = fakeEnvironment();
  const counter = new Counter();
  let closed = false;
  const resources = await openResources([
    provideFactory(CounterKey, () => counter, { close: () => void (closed = true) }),
  ]);
  const use = (fail: boolean) =>
    toolOf("use", async ({ resources: given }) => {
      const used = await given.open(CounterKey);
      await environment.clock.sleep(20);
      if (closed) throw new Error("closed in the middle of the call");
      if (fail) throw new Error("on purpose");
      used.value += 1;
    });
  const first = evaluateIn(environment, use(true), { resources });
  await environment.clock.advance(10);
  // The same instance, of which the scope of the first call knows no other user.
  const second = evaluateIn(environment, use(false), { resources: [provide(CounterKey, counter)] });
  await environment.clock.advance(100);
  expect([await first, await second, counter.value]).toEqual(["on purpose", "success", 1]);
  await resources[Symbol.asyncDispose]();
  expect(closed).toBe(true);
});

test("TX-4 what a call waited for was discarded, and its factory returns the same instance again: it is undone", async () => {
  const environment = fakeEnvironment();
  const counter = new Counter();
  const use = (ms: number) =>
    toolOf("use", async ({ resources: given }) => {
      const used = await given.open(CounterKey);
      used.value += 1;
      await environment.clock.sleep(ms);
      throw new Error("on purpose");
    });
  // Somebody else has used it, so the factory of the scope returns it and has not made it.
  const elsewhere = evaluateIn(environment, use(0), { resources: [provide(CounterKey, counter)] });
  await environment.clock.advance(10);
  const resources = await openResources([provideFactory(CounterKey, () => counter, { close() {} })]);
  const first = evaluateIn(environment, use(20), { resources });
  await environment.clock.advance(10);
  // It begins with what the first call has made, and waits for its lock.
  const second = evaluateIn(environment, use(20), { resources });
  await environment.clock.advance(100);
  expect(await Promise.all([elsewhere, first, second])).toEqual(["on purpose", "on purpose", "on purpose"]);
  expect(counter.value).toBe(0);
});

test.each(["open", "get"] as const)(
  "TX-4 a call inside failed and its resource was discarded; the call around asks with %s, gets the same instance, and undoes it",
  async (ask) => {
    const environment = fakeEnvironment();
    const counter = new Counter();
    const fail = toolOf("fail", async ({ resources: given }) => {
      (await given.open(CounterKey)).value += 1;
      throw new Error("on purpose");
    });
    const outer = toolOf("outer", async ({ evaluate, resources: given }) => {
      await evaluate(promptOf({ tools: [fail] }), { adapter: calling(environment, "fail") });
      const used = ask === "open" ? await given.open(CounterKey) : given.get(CounterKey);
      used.value += 1;
      throw new Error("on purpose");
    });
    const make = provideFactory(CounterKey, () => counter, { close() {} });
    const evaluating = evaluateIn(environment, outer, { resources: [make] });
    await environment.clock.advance(10);
    expect([await evaluating, counter.value]).toEqual(["on purpose", 0]);
  },
);

const scopes: readonly ResourceScope[] = ["toolCall", "prototype"];
const ways = scopes.flatMap((scope) =>
  (["open", "get"] as const).flatMap((ask) => [false, true].map((eager) => ({ scope, ask, eager }))),
);

test.each(ways)("TX-11 a factory that gets a resource which another call holds waits for it: %o", async (way) => {
  const { scope, ask, eager } = way;
  const environment = fakeEnvironment();
  const counter = new Counter();
  const shared = await openResources([provide(CounterKey, counter)]);
  let made = 0;
  const adder: Binding = provideFactory(
    OtherKey,
    (from) => {
      const needed = from.get(CounterKey);
      made += 1;
      return needed;
    },
    { scope, eager, close() {} },
  );
  const use = toolOf(
    "use",
    async ({ resources }) => {
      const got = ask === "open" ? await resources.open(OtherKey) : resources.get(OtherKey);
      const { value } = got;
      await environment.clock.sleep(10);
      got.value = value + 1;
    },
    { uses: [OtherKey] },
  );
  const holder = evaluateIn(environment, slowAdd(environment, { ms: 50 }), { resources: shared });
  await environment.clock.advance(10);
  const first = evaluateIn(environment, use, { resources: [shared, adder] });
  await environment.clock.advance(200);
  expect([await holder, await first, counter.value]).toEqual(["success", "success", 2]);
  // One that was made to learn what it needs is the one that the handler gets.
  expect(made).toBe(1);
});
