import {
  allow,
  deadlineIn,
  defineEvent,
  definePolicy,
  DefinitionError,
  Filesystem,
  provide,
  provideFactory,
  resourceKey,
  type Binding,
  type EvaluateOptions,
  type Resources,
  type Tool,
} from "@proviso/core";
import { createSession, memoryFilesystem, openResources, transaction } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { calling, Counter, CounterKey, OtherKey, promptOf, rejectionOf, slowAdd, toolOf } from "./support.ts";

type Given = NonNullable<EvaluateOptions["resources"]>;

const did = defineEvent("did", z.object({ name: z.string() }));

/** Ways of giving one instance to two evaluations. */
const ways: Record<string, (counter: Counter) => Promise<readonly [Given, Given]>> = {
  "bound by provide in both": async (counter) => [[provide(CounterKey, counter)], [provide(CounterKey, counter)]],
  "one binding object": async (counter) => {
    const given = [provide(CounterKey, counter)];
    return [given, given];
  },
  "bound under two keys": async (counter) => [
    [provide(CounterKey, counter)],
    [provide(OtherKey, counter), provideFactory(CounterKey, (from) => from.get(OtherKey), { eager: true })],
  ],
  "opened once for both": async (counter) => {
    const opened = await openResources([provide(CounterKey, counter)]);
    return [opened, opened];
  },
  "opened in two scopes": async (counter) => [
    await openResources([provide(CounterKey, counter)]),
    await openResources([provide(CounterKey, counter)]),
  ],
  "opened, and its handle bound again": async (counter) => {
    const opened = await openResources([provide(CounterKey, counter)]);
    return [opened, [provide(CounterKey, opened.get(CounterKey))]];
  },
  "opened beside a binding of one's own": async (counter) => {
    const opened = await openResources([provide(CounterKey, counter)]);
    return [
      [opened, provide(OtherKey, new Counter())],
      [provide(OtherKey, new Counter()), opened],
    ];
  },
  "made by a factory of each": async (counter) => {
    const given = (): Given => [provideFactory(CounterKey, () => counter, { eager: true, close() {} })];
    return [given(), given()];
  },
};

test.each(Object.keys(ways))(
  "TX-2 TX-11 a call undoes nothing of another evaluation's, the instance %s",
  async (way) => {
    for (const [failing, good] of [
      [100, 20],
      [20, 100],
    ] as const) {
      const environment = fakeEnvironment();
      const counter = new Counter();
      const [one, other] = await (ways[way] as (typeof ways)[string])(counter);
      const bad = promptOf({ tools: [slowAdd(environment, { ms: failing, fail: true })] });
      const fine = promptOf({ tools: [slowAdd(environment, { ms: good })] });
      const evaluating = Promise.all([
        calling(environment, "add").evaluate(bad, { resources: one }),
        calling(environment, "add").evaluate(fine, { resources: other }),
        calling(environment, "add").evaluate(fine, { resources: one }),
      ]);
      await environment.clock.advance(1_000);
      const results = (await evaluating).map(({ toolResults }) => toolResults[0]?.result.success);
      expect([results, counter.value]).toEqual([[false, true, true], 2]);
    }
  },
);

test("TX-11 the view that a call gets of a filesystem has the lock of the filesystem", async () => {
  const environment = fakeEnvironment();
  const files = memoryFilesystem();
  const write = (name: string, ms: number, fail: boolean) =>
    toolOf(name, async ({ resources }) => {
      await resources.get(Filesystem).write(`${name}.txt`, "");
      await environment.clock.sleep(ms);
      if (fail) throw new Error("it failed");
    });
  const bad = write("bad", 100, true);
  const inner = promptOf({ tools: [write("good", 10, false)] });
  // The nested evaluation gets the handle of the call around, and nothing else.
  const outer = toolOf("outer", async ({ resources, evaluate }) => {
    const handle = resources.get(Filesystem);
    await evaluate(inner, { adapter: calling(environment, "good"), resources: [provide(Filesystem, handle)] });
  });
  const evaluating = Promise.all([
    calling(environment, "bad").evaluate(promptOf({ tools: [bad] }), { resources: [provide(Filesystem, files)] }),
    calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), { resources: [provide(Filesystem, files)] }),
  ]);
  await environment.clock.advance(1_000);
  const [, { toolResults }] = await evaluating;
  expect([toolResults[0]?.result.success, await files.glob("**")]).toEqual([true, ["good.txt"]]);
});

/** Evaluates so many times at once over one opened scope, with a tool of 300 ms; how long all took, in simulated time. */
async function timeOf(count: number, options: Parameters<typeof toolOf>[2], resources?: Resources): Promise<number> {
  const environment = fakeEnvironment();
  const shared = resources ?? (await openResources([provide(CounterKey, new Counter())]));
  const prompt = promptOf({ tools: [toolOf("slow", () => environment.clock.sleep(300), options)] });
  const startedAt = environment.clock.now();
  let endedAt = startedAt;
  const evaluating = Array.from({ length: count }, async () => {
    const { toolResults } = await calling(environment, "slow").evaluate(prompt, { resources: shared });
    expect(toolResults[0]?.result.success).toBe(true);
    endedAt = environment.clock.now();
  });
  await environment.clock.advance(count * 400);
  await Promise.all(evaluating);
  return endedAt - startedAt;
}

test.each([
  ["declare that they use nothing", { uses: [] }, 300],
  ["only read", { readOnly: true }, 300],
  ["only read what they declare", { readOnly: true, uses: [CounterKey] }, 300],
  ["declare that they use it", { uses: [CounterKey] }, 6_000],
  ["declare nothing", {}, 6_000],
] as const)(
  "TOOL-13 TX-11 of 20 evaluations over one scope, calls of tools that %s take %o: %i ms",
  async (_, uses, ms) => {
    expect(await timeOf(20, uses)).toBe(ms);
  },
);

test("TOOL-13 calls of tools that use different resources of one scope overlap", async () => {
  const environment = fakeEnvironment();
  const shared = await openResources([provide(CounterKey, new Counter()), provide(OtherKey, new Counter())]);
  const slow = (name: string, key: typeof CounterKey) =>
    toolOf(name, () => environment.clock.sleep(300), { uses: [key] });
  const evaluating = Promise.all([
    calling(environment, "a").evaluate(promptOf({ tools: [slow("a", CounterKey)] }), { resources: shared }),
    calling(environment, "b").evaluate(promptOf({ tools: [slow("b", OtherKey)] }), { resources: shared }),
  ]);
  const startedAt = environment.clock.now();
  await environment.clock.advance(300);
  await evaluating;
  expect(environment.clock.now() - startedAt).toBe(300);
});

test("TOOL-6 TOOL-13 calls of one turn that use nothing overlap, keep their order, and fail alone", async () => {
  const environment = fakeEnvironment();
  const ended: string[] = [];
  const tools = (["a", "b", "c"] as const).map((name, index) =>
    toolOf(
      name,
      async ({ session }) => {
        session.dispatch(did({ name }));
        await environment.clock.sleep(300 - index * 100);
        ended.push(name);
        if (name === "b") throw new Error("it failed");
      },
      { uses: [] },
    ),
  );
  const session = createSession();
  const events: unknown[] = [];
  session.on("*", (event) => {
    if (event.type === "did" || event.type === "tool.invoked")
      events.push([event.type, (event as { name?: string }).name]);
  });
  const evaluating = calling(environment, "a", "b", "c").evaluate(promptOf({ tools }), { session });
  await environment.clock.advance(300);
  const { toolResults } = await evaluating;
  expect(ended).toEqual(["c", "b", "a"]);
  expect(toolResults.map(({ name, result }) => [name, result.success])).toEqual([
    ["a", true],
    ["b", false],
    ["c", true],
  ]);
  expect(events).toEqual([
    ["tool.invoked", "a"],
    ["did", "a"],
    ["tool.invoked", "b"],
    ["tool.invoked", "c"],
    ["did", "c"],
  ]);
});

test("TOOL-13 a key that nothing binds fails the evaluation before its first request, and is named with its tool", async () => {
  const environment = fakeEnvironment();
  const asked: unknown[] = [];
  const save = toolOf("save", () => 1, { uses: [CounterKey] });
  const session = createSession();
  session.on("provider.requested", (event) => asked.push(event));
  const error = await rejectionOf(calling(environment, "save").evaluate(promptOf({ tools: [save] }), { session }));
  expect(error).toMatchObject({ code: "render", cause: expect.any(DefinitionError) });
  expect(error.message).toContain('The tool "save" uses "Counter", which nothing binds');
  expect(asked).toEqual([]);
});

test("TOOL-13 a key that the tool does not declare is refused at run time, and names what to do", async () => {
  const environment = fakeEnvironment();
  const nosy = toolOf("nosy", ({ resources }) => resources.get(OtherKey).value, { uses: [CounterKey] });
  const resources = [provide(CounterKey, new Counter()), provide(OtherKey, new Counter())];
  const { toolResults } = await calling(environment, "nosy").evaluate(promptOf({ tools: [nosy] }), { resources });
  expect(toolResults[0]?.result).toMatchObject({
    success: false,
    message: 'nosy asks for "Other" and declares "Counter": add the key to its uses.',
  });
});

test("TOOL-13 what a declared resource's factory asked for is locked with it", async () => {
  const environment = fakeEnvironment();
  const counter = new Counter();
  const Repo = resourceKey<{ add(): Promise<void> }>("Repo");
  const bindings: readonly Binding[] = [
    provide(CounterKey, counter),
    provideFactory(
      Repo,
      (from) => {
        const mine = from.get(CounterKey);
        return {
          async add() {
            const { value } = mine;
            await environment.clock.sleep(20);
            mine.value = value + 1;
          },
        };
      },
      { eager: true },
    ),
  ];
  const shared = await openResources(bindings);
  const add = toolOf("add", ({ resources }) => resources.get(Repo).add(), { uses: [Repo] });
  const evaluating = Array.from({ length: 5 }, () =>
    calling(environment, "add").evaluate(promptOf({ tools: [add] }), { resources: shared }),
  );
  await environment.clock.advance(1_000);
  await Promise.all(evaluating);
  expect(counter.value).toBe(5);
});

test("TX-12 a wait for a lock ends with the limits, and the error names the call that was waited for", async () => {
  const environment = fakeEnvironment();
  const shared = await openResources([provide(CounterKey, new Counter())]);
  const hold = calling(environment, "hold").evaluate(
    promptOf({ tools: [slowAdd(environment, { ms: 500, name: "hold" })] }),
    { resources: shared },
  );
  const late = calling(environment, "late");
  const prompt = promptOf({ tools: [slowAdd(environment, { name: "late" })] });
  const deadline = deadlineIn(100, environment.clock);
  const waiting = rejectionOf(late.evaluate(prompt, { resources: shared, deadline }));
  await environment.clock.advance(100);
  const error = await waiting;
  expect(error["code"]).toBe("deadline");
  expect(error.message).toMatch(/It waited for the call of hold \(.+\), which uses "Counter"\.$/u);
  await environment.clock.advance(1_000);
  await hold;
  // Who gave up holds and awaits nothing.
  expect(await timeOf(1, {}, shared)).toBe(300);
});

test("TX-12 readers behind a writer that gave up begin at once, beside the reader that it waited for", async () => {
  const environment = fakeEnvironment();
  const shared = await openResources([provide(CounterKey, new Counter())]);
  const startedAt = environment.clock.now();
  const begun: string[] = [];
  const evaluate = (name: string, readOnly: boolean, more: EvaluateOptions = {}) => {
    const tool = toolOf(
      name,
      () => {
        begun.push(`${name} ${environment.clock.now() - startedAt}`);
        return environment.clock.sleep(500);
      },
      { readOnly },
    );
    return calling(environment, name).evaluate(promptOf({ tools: [tool] }), { resources: shared, ...more });
  };
  const evaluating = Promise.allSettled([
    evaluate("r1", true),
    evaluate("w", false, { deadline: deadlineIn(100, environment.clock) }),
    evaluate("r2", true),
  ]);
  await environment.clock.advance(2_000);
  await evaluating;
  expect(begun).toEqual(["r1 0", "r2 100"]);
});

test("TX-12 readers behind a call that ended without waiting for its look-up begin at once, beside the reader", async () => {
  const environment = fakeEnvironment();
  const shared = await openResources([provide(CounterKey, new Counter())]);
  const startedAt = environment.clock.now();
  const begun: string[] = [];
  const read = (name: string) =>
    toolOf(
      name,
      async () => {
        begun.push(`${name} ${environment.clock.now() - startedAt}`);
        await environment.clock.sleep(500);
      },
      { readOnly: true, uses: [CounterKey] },
    );
  const leave = toolOf("leave", async ({ resources }) => {
    void resources.open(CounterKey).catch(() => {});
    await environment.clock.sleep(100);
  });
  const evaluate = (tool: Tool, resources: Given) =>
    calling(environment, tool.name).evaluate(promptOf({ tools: [tool] }), { resources });
  // Made late, so that the call does not wait for it before it begins.
  const lazy = [provideFactory(CounterKey, () => shared.get(CounterKey))];
  const evaluating = Promise.all([
    evaluate(read("r1"), shared),
    evaluate(leave, lazy),
    environment.clock.sleep(50).then(() => evaluate(read("r2"), shared)),
  ]);
  await environment.clock.advance(2_000);
  await evaluating;
  expect(begun).toEqual(["r1 0", "r2 100"]);
});

test("TX-11 readers do not starve a writer", async () => {
  const environment = fakeEnvironment();
  const shared = await openResources([provide(CounterKey, new Counter())]);
  const order: string[] = [];
  const slow = (name: string, readOnly: boolean) =>
    toolOf(
      name,
      async () => {
        order.push(name);
        await environment.clock.sleep(100);
      },
      { readOnly },
    );
  const evaluate = (name: string, readOnly: boolean) =>
    calling(environment, name).evaluate(promptOf({ tools: [slow(name, readOnly)] }), { resources: shared });
  const evaluating = [evaluate("r1", true), evaluate("w", false), evaluate("r2", true), evaluate("r3", true)];
  await environment.clock.advance(1_000);
  await Promise.all(evaluating);
  expect(order).toEqual(["r1", "w", "r2", "r3"]);
});

test.each(["fails", "is vetoed"])(
  "TX-2 TOOL-6 of two overlapping calls that use nothing, the one that %s undoes no evaluation inside the other",
  async (way) => {
    const environment = fakeEnvironment();
    const files = memoryFilesystem();
    const write = toolOf("write", ({ resources }) => resources.get(Filesystem).write("good.txt", ""));
    const good = toolOf(
      "good",
      async ({ evaluate }) => {
        const resources = [provide(Filesystem, files)];
        await evaluate(promptOf({ tools: [write] }, "inner"), { adapter: calling(environment, "write"), resources });
      },
      { uses: [] },
    );
    const bad = toolOf(
      "bad",
      async () => {
        await environment.clock.sleep(20);
        if (way === "fails") throw new Error("it failed");
      },
      { uses: [] },
    );
    const session = createSession();
    session.on("tool.invoked", ({ name, result }) => {
      if (name === "bad" && result.success) throw new Error("veto");
    });
    const evaluating = calling(environment, "good", "bad").evaluate(promptOf({ tools: [good, bad] }), { session });
    await environment.clock.advance(100);
    const { toolResults } = await evaluating;
    expect(toolResults.map(({ result }) => result.success)).toEqual([true, false]);
    expect(await files.glob("**")).toEqual(["good.txt"]);
  },
);

test("TX-11 a policy's check that reads a resource does not let an evaluation in the handler write under its lock", async () => {
  const environment = fakeEnvironment();
  const files = memoryFilesystem();
  const resources = [provide(Filesystem, files)];
  const write = toolOf("write", ({ resources: mine }) => mine.get(Filesystem).write("inner.txt", ""));
  const outer = toolOf(
    "outer",
    async ({ evaluate }) => {
      await evaluate(promptOf({ tools: [write] }, "inner"), { adapter: calling(environment, "write") });
      throw new Error("it failed");
    },
    { uses: [] },
  );
  const look = definePolicy({ name: "look", tools: [outer], check: () => allow() });
  const prompt = promptOf({ tools: [outer] });
  await calling(environment, "outer").evaluate(prompt, { resources, policies: [look] });
  expect(await files.glob("**")).toEqual([]);
});

test("TX-3 TX-11 a look-up after its call or body has ended is refused, and locks nothing", async () => {
  const environment = fakeEnvironment();
  const files = memoryFilesystem();
  const shared = await openResources([provide(Filesystem, files)]);
  const session = createSession();
  const errors: unknown[] = [];
  let later: (() => unknown) | undefined;
  await transaction({ session, resources: shared }, async (_, views) => {
    later = () => views.resources.get(Filesystem);
  });
  try {
    later?.();
  } catch (error) {
    errors.push(error);
  }
  let kept: Resources | undefined;
  const Repo = resourceKey<object>("Repo");
  const repo = provideFactory(Repo, (from) => ({ from: (kept = from) }), { scope: "toolCall" });
  const use = toolOf("use", ({ resources }) => void resources.get(Repo), { uses: [Repo] });
  await calling(environment, "use").evaluate(promptOf({ tools: [use] }), { resources: [shared, repo] });
  try {
    kept?.get(Filesystem);
  } catch (error) {
    errors.push(error);
  }
  expect(errors.map((error) => (error as Error).name)).toEqual(["RevokedError", "RevokedError"]);
  expect(await transaction({ session: createSession(), resources: shared }, async () => "free")).toBe("free");
});

test("TX-11 what reads only may not have a tool change an unguarded resource inside it", async () => {
  const environment = fakeEnvironment();
  const counter = new Counter();
  const inner = promptOf({ tools: [slowAdd(environment)] }, "inner");
  const outer = toolOf(
    "outer",
    async ({ evaluate }) => {
      const { toolResults } = await evaluate(inner, { adapter: calling(environment, "add") });
      return toolResults[0]?.result.message;
    },
    { readOnly: true },
  );
  const { toolResults } = await calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), {
    resources: [provide(CounterKey, counter)],
  });
  expect(toolResults[0]?.result).toMatchObject({ value: expect.stringContaining("is read-only") });
  expect(counter.value).toBe(0);
});

test("TOOL-13 TX-11 what the factory of a declared resource asks for is locked with it, from the first call on", async () => {
  const environment = fakeEnvironment();
  const files = memoryFilesystem();
  const Repo = resourceKey<{ save(name: string): Promise<void> }>("Repo");
  const bindings = (): readonly Binding[] => [
    provide(Filesystem, files),
    provideFactory(Repo, (from) => {
      const mine = from.get(Filesystem);
      return {
        async save(name) {
          await environment.clock.sleep(10);
          await mine.write(name, "");
        },
      };
    }),
  ];
  const evaluating = Array.from({ length: 5 }, (_, index) => {
    const save = toolOf("save", ({ resources }) => resources.get(Repo).save(`${index}.txt`), { uses: [Repo] });
    return calling(environment, "save").evaluate(promptOf({ tools: [save] }), { resources: bindings() });
  });
  await environment.clock.advance(500);
  const results = (await Promise.all(evaluating)).map(({ toolResults }) => toolResults[0]?.result.success);
  expect(results).toEqual([true, true, true, true, true]);
});
