import { defineTool, provideFactory, resourceKey, type Binding } from "@proviso/core";
import { openResources } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, promptOf } from "./support.ts";

const single = resourceKey<number>("single");
const perCall = resourceKey<number>("perCall");
const each = resourceKey<number>("each");

/** Bindings that number what they make and say what they close. */
function bindings(): { readonly log: string[]; readonly bound: readonly Binding[] } {
  const log: string[] = [];
  let made = 0;
  const bind = (key: typeof single, scope: Binding["scope"]) =>
    provideFactory(key, () => ++made, { scope, close: (id) => void log.push(`closed ${key.name} ${id}`) });
  return { log, bound: [bind(single, "singleton"), bind(perCall, "toolCall"), bind(each, "prototype")] };
}

const use = (log: string[]) =>
  defineTool({
    name: "use",
    description: "Uses them.",
    input: z.object({ fail: z.boolean().default(false) }),
    execute({ fail }, { resources }) {
      const ids = [single, perCall, perCall, each, each].map((key) => resources.get(key));
      log.push(`used ${ids.join(" ")}`);
      if (fail) throw new Error("no");
    },
  });

const failing = { name: "use", arguments: { fail: true } };
const good = { name: "use" };

test("TX-4 what a failed call made first is discarded with it, closed, and made anew", async () => {
  const { log, bound } = bindings();
  await evaluateCalls(promptOf({ tools: [use(log)] }), [failing, good], { resources: bound });
  expect(log).toEqual([
    "used 1 2 2 3 4",
    "closed each 4",
    "closed each 3",
    "closed perCall 2",
    "closed single 1",
    "used 5 6 6 7 8",
    "closed each 8",
    "closed each 7",
    "closed perCall 6",
    "closed single 5",
  ]);
});

test("TX-4 toolCall resources are fresh for each call, a singleton of a good call stays", async () => {
  const { log, bound } = bindings();
  await evaluateCalls(promptOf({ tools: [use(log)] }), [good, failing, good], { resources: bound });
  expect(log.filter((entry) => entry.startsWith("used"))).toEqual([
    "used 1 2 2 3 4",
    "used 1 5 5 6 7",
    "used 1 8 8 9 10",
  ]);
  expect(log.filter((entry) => entry.startsWith("closed single"))).toEqual(["closed single 1"]);
});

test("TX-4 the same holds for resources that were opened outside the evaluation", async () => {
  const { log, bound } = bindings();
  const opened = await openResources(bound);
  await evaluateCalls(promptOf({ tools: [use(log)] }), [failing, good], { resources: opened });
  expect(log).toEqual([
    "used 1 2 2 3 4",
    "closed each 4",
    "closed each 3",
    "closed perCall 2",
    "closed single 1",
    "used 5 6 6 7 8",
    "closed each 8",
    "closed each 7",
    "closed perCall 6",
  ]);
  await opened[Symbol.asyncDispose]();
  expect(log.at(-1)).toBe("closed single 5");
});

test("TX-4 an eager toolCall resource is there, asynchronously made, before the handler of each call", async () => {
  let made = 0;
  const seen: number[] = [];
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: (_, { resources }) => void seen.push(resources.get(perCall)),
  });
  const binding = provideFactory(perCall, async () => ++made, { scope: "toolCall", eager: true });
  await evaluateCalls(promptOf({ tools: [look] }), [{ name: "look" }, { name: "look" }], { resources: [binding] });
  expect(seen).toEqual([1, 2]);
});

test.each(["singleton", "toolCall", "prototype"] as const)(
  "TX-4 a %s that is still being made when its call's time is up is closed when it comes, without a wait for it",
  async (scope) => {
    const closed: number[] = [];
    const { promise, resolve } = Promise.withResolvers<number>();
    const environment = fakeEnvironment();
    const open = defineTool({
      name: "open",
      description: "Opens.",
      input: z.object({}),
      timeoutMs: 10,
      execute: (_, { resources }) => resources.open(single),
    });
    const evaluating = evaluateCalls(
      promptOf({ tools: [open] }),
      [{ name: "open" }],
      { resources: [provideFactory(single, () => promise, { scope, close: (id) => void closed.push(id) })] },
      environment,
    );
    await environment.clock.advance(10);
    expect((await evaluating).text).toBe("done");
    expect(closed).toEqual([]);
    resolve(7);
    await new Promise((settle) => setImmediate(settle));
    expect(closed).toEqual([7]);
  },
);
