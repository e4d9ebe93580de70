import { Filesystem, provide, provideFactory, resourceKey, type Resources } from "@proviso/core";
import { createSession, memoryFilesystem, openResources, transaction } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { calling, Counter, CounterKey, promptOf, rejectionOf, slowAdd, toolOf } from "../transactions/support.ts";

/** Works off what is queued, in a loop that its factory begins. */
interface Queue {
  readonly done: unknown[];
  add(job: () => Promise<unknown>): void;
}
const QueueKey = resourceKey<Queue>("Queue");

type Sleep = (ms: number) => Promise<void>;

function queue(sleep: Sleep): Queue {
  const jobs: (() => Promise<unknown>)[] = [];
  const done: unknown[] = [];
  const loop = async (): Promise<void> => {
    for (let turns = 0; turns < 40; turns++) {
      await sleep(5);
      const job = jobs.shift();
      if (job === undefined) continue;
      done.push(await job().catch((error: { code?: string; message: string }) => error.code ?? error.message));
    }
  };
  void loop();
  return { done, add: (job) => void jobs.push(job) };
}

const makings = [
  ["at once", false],
  ["asynchronously", true],
] as const;

test.each(makings)(
  "RES-10 the loop of a singleton made %s in a call is no part of that call: it waits for what the call holds",
  async (_, isAsync) => {
    const environment = fakeEnvironment();
    const { sleep } = environment.clock;
    const counter = new Counter();
    const make = isAsync
      ? async () => {
          const made = queue(sleep);
          await sleep(10);
          return made;
        }
      : () => queue(sleep);
    const resources = await openResources([provide(CounterKey, counter), provideFactory(QueueKey, make)]);
    const adding = promptOf({ tools: [slowAdd(environment, { ms: 5 })] }, "adding");
    const jobs = [
      () =>
        calling(environment, "add")
          .evaluate(adding, { resources })
          .then(() => "evaluated"),
      () => transaction({ session: createSession(), resources }, async () => (counter.value += 1)),
    ];
    let seen: Queue | undefined;
    const first = toolOf("first", async (context) => {
      seen = await context.resources.open(QueueKey);
      for (const job of jobs) seen.add(job);
      await sleep(50);
      expect([seen.done, counter.value]).toEqual([[], 0]);
      throw new Error("on purpose");
    });
    const evaluating = calling(environment, "first").evaluate(promptOf({ tools: [first] }), { resources });
    await environment.clock.advance(400);
    const { toolResults } = await evaluating;
    expect(toolResults[0]?.result).toMatchObject({ message: "on purpose" });
    // Neither refused as a wait for its own call, nor undone with it.
    expect([seen?.done, counter.value]).toEqual([["evaluated", 2], 2]);
  },
);

test("RES-10 what such a loop does with its factory's handle is not refused when the call has ended", async () => {
  const environment = fakeEnvironment();
  const { sleep } = environment.clock;
  const files = memoryFilesystem({});
  let handle: Resources | undefined;
  const make = (from: Resources): Queue => {
    handle = from;
    return queue(sleep);
  };
  const resources = await openResources([provide(Filesystem, files), provideFactory(QueueKey, make)]);
  const write = async (path: string) => {
    await handle?.get(Filesystem).write(path, "x");
    return path;
  };
  let seen: Queue | undefined;
  const first = toolOf("first", (context) => void (seen = context.resources.get(QueueKey)));
  const evaluating = calling(environment, "first").evaluate(promptOf({ tools: [first] }), { resources });
  await environment.clock.advance(10);
  await evaluating;
  seen?.add(() => write("late.txt"));
  await environment.clock.advance(400);
  expect(seen?.done).toEqual(["late.txt"]);
});

test("RES-10 what the factory itself does is part of the call: undone with it, and refused where it would wait for it", async () => {
  const environment = fakeEnvironment();
  const { sleep } = environment.clock;
  const counter = new Counter();
  let error: unknown;
  const scope = { session: createSession(), resources: await openResources([provide(CounterKey, counter)]) };
  const make = async (from: Resources): Promise<Queue> => {
    await sleep(10);
    from.get(CounterKey).value = 7;
    error = await rejectionOf(transaction(scope, async () => {}));
    return queue(sleep);
  };
  const first = toolOf("first", async (context) => {
    context.resources.get(CounterKey);
    await context.resources.open(QueueKey);
    expect(counter.value).toBe(7);
    throw new Error("on purpose");
  });
  const evaluating = calling(environment, "first").evaluate(promptOf({ tools: [first] }), {
    resources: [scope.resources, provideFactory(QueueKey, make)],
  });
  await environment.clock.advance(400);
  const { toolResults } = await evaluating;
  expect(toolResults[0]?.result).toMatchObject({ message: "on purpose" });
  expect([error, counter.value]).toMatchObject([{ code: "deadlock" }, 0]);
});

test("RES-10 two calls share the singleton that the first made: its loop holds neither's locks", async () => {
  const environment = fakeEnvironment();
  const { sleep } = environment.clock;
  const counter = new Counter();
  const resources = await openResources([provide(CounterKey, counter), provideFactory(QueueKey, () => queue(sleep))]);
  const job = () => transaction({ session: createSession(), resources }, async () => (counter.value += 1));
  const use = (ms: number) =>
    toolOf("use", async (context) => {
      context.resources.get(QueueKey).add(job);
      await sleep(ms);
    });
  const evaluate = (ms: number) => calling(environment, "use").evaluate(promptOf({ tools: [use(ms)] }), { resources });
  const evaluating = Promise.all([evaluate(20), evaluate(60), evaluate(100)]);
  await environment.clock.advance(400);
  await evaluating;
  expect([resources.get(QueueKey).done, counter.value]).toEqual([[1, 2, 3], 3]);
});
