import {
  deadlineIn,
  Filesystem,
  provide,
  provideFactory,
  type Resources,
  type ResourceScope,
  type Snapshotable,
  type ToolContext,
} from "@proviso/core";
import { createSession, createSnapshot, openResources, restoreSnapshot, transaction } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  calling,
  Counter,
  CounterKey,
  OtherKey,
  promptOf,
  rejectionOf,
  toolOf,
} from "../../../runtime/test/transactions/support.ts";

const folders: string[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "proviso-late-"));
  folders.push(made);
  return made;
}
afterAll(() => folders.forEach((each) => rmSync(each, { recursive: true, force: true })));

const scopes: readonly ResourceScope[] = ["singleton", "toolCall", "prototype"];
const kinds = scopes.flatMap((scope) =>
  [false, true].flatMap((eager) => [false, true].map((asynchronous) => ({ scope, eager, asynchronous }))),
);

test.each(kinds)(
  "TX-4 what a failed call wrote to a late resource is undone: %o",
  async ({ scope, eager, asynchronous }) => {
    const dir = folder();
    const make = () => hostFilesystem(dir);
    const binding = provideFactory(Filesystem, asynchronous ? async () => make() : make, { scope, eager });
    const writing = (fail: boolean) =>
      toolOf("write", async ({ resources }) => {
        const files = await resources.open(Filesystem);
        await files.write("trace.txt", "x");
        if (fail) throw new Error("on purpose");
      });
    const environment = fakeEnvironment();
    const run = (fail: boolean) =>
      calling(environment, "write").evaluate(promptOf({ tools: [writing(fail)] }), { resources: [binding] });
    expect((await run(true)).toolResults[0]?.result.success).toBe(false);
    expect(readdirSync(dir)).toEqual([]);
    expect((await run(false)).toolResults[0]?.result.success).toBe(true);
    expect(readdirSync(dir)).toEqual(["trace.txt"]);
  },
);

test.each(kinds.filter(({ scope }) => scope !== "prototype"))(
  "TX-8 TX-4 what a nested evaluation that has ended wrote to a resource of its own is undone: %o",
  async ({ scope, eager, asynchronous }) => {
    const environment = fakeEnvironment();
    const dir = folder();
    const make = () => hostFilesystem(dir);
    const binding = provideFactory(Filesystem, asynchronous ? async () => make() : make, { scope, eager });
    const write = toolOf("write", async ({ resources }) => (await resources.open(Filesystem)).write("trace.txt", "x"));
    const inner = promptOf({ tools: [write] }, "inner");
    const outer = (fail: boolean) =>
      toolOf("outer", async ({ evaluate }) => {
        const adapter = calling(environment, "write");
        const { toolResults } = await evaluate(inner, { adapter, resources: [binding] });
        expect(toolResults[0]?.result.success).toBe(true);
        expect(readdirSync(dir)).toContain("trace.txt");
        if (fail) throw new Error("on purpose");
      });
    await calling(environment, "outer").evaluate(promptOf({ tools: [outer(true)] }));
    expect(readdirSync(dir)).toEqual([]);
    await calling(environment, "outer").evaluate(promptOf({ tools: [outer(false)] }));
    expect(readdirSync(dir)).toEqual(["trace.txt"]);
  },
);

/** Closes after its last use, however deep it was made. */
class Closing extends Counter {
  readonly happened: string[] = [];
  override restore(snapshot: number): void {
    this.happened.push("restored");
    super.restore(snapshot);
  }
  release(): void {
    this.happened.push("released");
  }
  close(): void {
    this.happened.push("closed");
  }
}

test.each([
  ["fails", true, ["released", "restored", "released", "closed"]],
  ["succeeds", false, ["released", "released", "closed"]],
] as const)(
  "TX-4 a resource of a nested call is closed once, after the outermost call that %s",
  async (_, fail, happened) => {
    const environment = fakeEnvironment();
    const instance = new Closing();
    const binding = provideFactory(CounterKey, () => instance, {
      scope: "toolCall",
      close: (it) => (it as Closing).close(),
    });
    const add = toolOf("add", ({ resources }) => void (resources.get(CounterKey).value += 1));
    const outer = toolOf("outer", async ({ evaluate }) => {
      await evaluate(promptOf({ tools: [add] }, "inner"), {
        adapter: calling(environment, "add"),
        resources: [binding],
      });
      expect(instance.happened).not.toContain("closed");
      if (fail) throw new Error("on purpose");
    });
    await calling(environment, "outer").evaluate(promptOf({ tools: [outer] }));
    expect([instance.happened, instance.value]).toEqual([happened, fail ? 0 : 1]);
  },
);

test("TX-4 a late resource whose snapshot is asynchronous is got with open; get says so, and the call is undone", async () => {
  class Slow implements Snapshotable<number> {
    value = 0;
    async snapshot(): Promise<number> {
      await Promise.resolve();
      return this.value;
    }
    restore(snapshot: number): void {
      this.value = snapshot;
    }
  }
  const slow = new Slow();
  const environment = fakeEnvironment();
  const resources = [provideFactory(CounterKey, () => slow as unknown as Counter)];
  const use = (get: (from: Resources) => Counter | Promise<Counter>) =>
    toolOf("use", async (context) => {
      (await get(context.resources)).value = 1;
      throw new Error("on purpose");
    });
  const run = (tool: ReturnType<typeof use>) =>
    calling(environment, "use").evaluate(promptOf({ tools: [tool] }), { resources });
  const got = await run(use((from) => from.get(CounterKey)));
  expect(got.toolResults[0]?.result.message).toContain("await resources.open(key) first");
  // The handler never got it.
  expect(slow.value).toBe(0);
  const opened = await run(use((from) => from.open(CounterKey)));
  expect(opened.toolResults[0]?.result.message).toBe("on purpose");
  expect(slow.value).toBe(0);
});

test("TX-4 a shared instance that a factory returns in the middle of another call is waited for", async () => {
  const environment = fakeEnvironment();
  const counter = new Counter();
  const add = (fail: boolean, ms: number) =>
    toolOf("add", async ({ resources }) => {
      await environment.clock.sleep(10);
      const mine = await resources.open(CounterKey);
      const { value } = mine;
      await environment.clock.sleep(ms);
      mine.value = value + 1;
      if (fail) throw new Error("on purpose");
    });
  const resources = [provideFactory(CounterKey, () => counter)];
  const evaluating = Promise.all(
    [add(true, 50), add(false, 10), add(false, 30)].map((tool) =>
      calling(environment, "add").evaluate(promptOf({ tools: [tool] }), { resources }),
    ),
  );
  await environment.clock.advance(1_000);
  const results = (await evaluating).map(({ toolResults }) => toolResults[0]?.result.success);
  expect([results, counter.value]).toEqual([[false, true, true], 2]);
});

test("TX-9 TX-4 what the body of a transaction makes first is restored and closed with it", async () => {
  const dir = folder();
  const session = createSession();
  const resources = await openResources([provideFactory(Filesystem, () => hostFilesystem(dir))]);
  await rejectionOf(
    transaction({ session, resources }, async () => {
      await resources.get(Filesystem).write("trace.txt", "x");
      throw new Error("on purpose");
    }),
  );
  expect(readdirSync(dir)).toEqual([]);
});

test.each([
  ["a failed call made", true],
  ["a restored snapshot took out", false],
] as const)("TX-4 what %s, and closed, is used by no call that waited meanwhile", async (_, isFailure) => {
  const environment = fakeEnvironment();
  const made: Closing[] = [];
  const make = (): Counter => {
    const counter = new Closing();
    counter.snapshot = () => {
      if (counter.happened.includes("closed")) throw new Error("it is closed");
      return counter.value;
    };
    made.push(counter);
    return counter;
  };
  const session = createSession();
  const resources = await openResources([provideFactory(CounterKey, make, { close: (it) => (it as Closing).close() })]);
  const scope = { session, resources };
  const snapshot = await createSnapshot(scope);
  const makes = async ({ resources: own }: Pick<ToolContext, "resources">): Promise<void> => {
    (await own.open(CounterKey)).value = 1;
    await environment.clock.sleep(50);
    if (isFailure) throw new Error("on purpose");
  };
  const first = isFailure
    ? calling(environment, "make").evaluate(promptOf({ tools: [toolOf("make", makes)] }), scope)
    : transaction(scope, async () => {
        await makes({ resources });
        await restoreSnapshot(scope, snapshot);
      });
  await environment.clock.advance(10);
  const use = toolOf("use", async (context) => (await context.resources.open(CounterKey)).value);
  const second = calling(environment, "use").evaluate(promptOf({ tools: [use] }), scope);
  await environment.clock.advance(1_000);
  await first;
  const [used] = (await second).toolResults;
  expect([used?.result.message, used?.result.success]).toEqual(["", true]);
  expect(made.map(({ happened }) => happened.includes("closed"))).toEqual([true, false]);
});

test("TX-11 a call that a limit ended while those around it take a snapshot takes none that would never be released", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  /** Slow to take and to release a snapshot. */
  class Slow extends Counter {
    readonly held = new Set<object>();
    // Another kind of snapshot than a counter's.
    override snapshot(): never {
      return clock.sleep(100).then(() => {
        const snapshot = {};
        this.held.add(snapshot);
        return snapshot;
      }) as never;
    }
    async release(snapshot: unknown): Promise<void> {
      await clock.sleep(150);
      this.held.delete(snapshot as object);
    }
  }
  const [first, second] = [new Slow(), new Slow()];
  const inner = promptOf({ tools: [toolOf("use", () => "used", { uses: [CounterKey, OtherKey] })] }, "inner");
  const outer = toolOf(
    "outer",
    async ({ evaluate }) => {
      const deadline = deadlineIn(250, clock);
      await evaluate(inner, { adapter: calling(environment, "use"), deadline }).catch(() => {});
      await clock.sleep(1_000);
    },
    { uses: [] },
  );
  const evaluating = calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), {
    resources: [provide(CounterKey, first), provide(OtherKey, second)],
  });
  await clock.advance(10_000);
  expect((await evaluating).toolResults[0]?.result.success).toBe(true);
  expect([first.held.size, second.held.size]).toEqual([0, 0]);
});
