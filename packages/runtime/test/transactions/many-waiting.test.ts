import { allow, definePolicy, Filesystem, provide, type EvaluateOptions, type Session } from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { calling, Counter, CounterKey, OtherKey, promptOf, slowAdd, toolOf } from "./support.ts";

const filesOf = (): EvaluateOptions["resources"] => [provide(Filesystem, memoryFilesystem())];
const write = toolOf("write", ({ resources }) => resources.get(Filesystem).write("a.txt", "x"));
const writing = promptOf({ tools: [write] });
const adapter = () => modelAdapter(scriptedModel([{ toolCalls: [{ name: "write" }] }, { text: "done" }]));

/** Evaluates so many at once: the milliseconds that it took. */
async function timeOf(count: number, options: () => EvaluateOptions): Promise<number> {
  const begunAt = performance.now();
  await Promise.all(Array.from({ length: count }, () => adapter().evaluate(writing, options())));
  return performance.now() - begunAt;
}

const shared: Record<string, () => () => EvaluateOptions> = {
  "one filesystem": () => {
    const resources = filesOf();
    return () => ({ resources });
  },
  "one session": () => {
    const session = createSession();
    return () => ({ session, resources: filesOf() });
  },
  "one filesystem, two of each session": () => {
    const resources = filesOf();
    let left: Session | undefined;
    return () => {
      const session = left ?? createSession();
      left = left === undefined ? session : undefined;
      return { session, resources };
    };
  },
  "one filesystem and one session": () => {
    const given = { session: createSession(), resources: filesOf() };
    return () => given;
  },
};

const count = 500;

/**
 * Whether these evaluations, which wait for each other, take at most six times as long as others that wait for none. Where
 * each newcomer looked at all that waited already, they took 40 times as long.
 */
async function isAboutAsFast(waiting: () => Promise<number>): Promise<boolean> {
  const alone = () => timeOf(count, () => ({ resources: filesOf() }));
  const [first, one, second, other] = [await alone(), await waiting(), await alone(), await waiting()];
  return Math.min(one, other) < 6 * Math.min(first, second) + 100;
}

test.each(Object.keys(shared))(
  "TX-12 500 evaluations that wait for %s take about as long as 500 that wait for nothing",
  async (what) => {
    expect(await isAboutAsFast(() => timeOf(count, (shared[what] as () => () => EvaluateOptions)()))).toBe(true);
  },
  60_000,
);

test("TX-12 500 evaluations that one call begins at once take about as long as 500 that wait for nothing", async () => {
  const outer = toolOf(
    "outer",
    async ({ evaluate }) => {
      const resources = filesOf();
      await Promise.all(Array.from({ length: count }, () => evaluate(writing, { adapter: adapter(), resources })));
    },
    { uses: [] },
  );
  const inside = async (): Promise<number> => {
    const begunAt = performance.now();
    const model = scriptedModel([{ toolCalls: [{ name: "outer" }] }, { text: "done" }]);
    const { toolResults } = await modelAdapter(model).evaluate(promptOf({ tools: [outer] }));
    expect(toolResults[0]?.result.success).toBe(true);
    return performance.now() - begunAt;
  };
  expect(await isAboutAsFast(inside)).toBe(true);
}, 60_000);

test("TX-12 evaluations side by side in a call wait together for what another evaluation holds, and are no circle", async () => {
  const environment = fakeEnvironment();
  const resources = [provide(CounterKey, new Counter())];
  const reads = promptOf({ tools: [toolOf("reads", () => "read", { readOnly: true, uses: [CounterKey] })] }, "reads");
  const outer = toolOf(
    "outer",
    async ({ evaluate }) => {
      await environment.clock.sleep(10);
      const once = () => evaluate(reads, { adapter: calling(environment, "reads") });
      const all = await Promise.all([once(), once(), once()]);
      return all.flatMap(({ toolResults }) => toolResults.map(({ result }) => result.success));
    },
    { uses: [] },
  );
  const evaluating = Promise.all([
    calling(environment, "add").evaluate(promptOf({ tools: [slowAdd(environment, { ms: 100 })] }), { resources }),
    calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), { resources }),
  ]);
  await environment.clock.advance(1_000);
  const [, { toolResults }] = await evaluating;
  expect(toolResults[0]?.result).toMatchObject({ success: true, value: [true, true, true] });
});

test("TX-12 who waits behind one that is to write what the call around has read for a check waits for no circle", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const counter = new Counter();
  const resources = [provide(OtherKey, new Counter()), provide(CounterKey, counter)];
  const busy = toolOf("busy", () => clock.sleep(100), { readOnly: true, uses: [CounterKey] });
  // It holds the other one of the two while it waits for the reader beside the call around.
  const adds = toolOf("adds", (context) => void (context.resources.get(CounterKey).value += 1), {
    uses: [OtherKey, CounterKey],
  });
  const looks = toolOf("looks", () => undefined, { uses: [OtherKey] });
  const outer = toolOf(
    "outer",
    async ({ evaluate }) => {
      await clock.sleep(10);
      const inside = ({ name }: { name: string }, tool = name === "adds" ? adds : looks) =>
        evaluate(promptOf({ tools: [tool] }, name), { adapter: calling(environment, name) });
      await Promise.all([inside(adds), inside(looks), inside(looks)]);
    },
    { uses: [OtherKey] },
  );
  const policy = definePolicy({ name: "checks", tools: [outer], uses: [CounterKey], check: () => allow() });
  const evaluating = Promise.all([
    calling(environment, "busy").evaluate(promptOf({ tools: [busy] }), { resources }),
    calling(environment, "outer").evaluate(promptOf({ tools: [outer], policies: [policy] }), { resources }),
  ]);
  await clock.advance(1_000);
  const results = (await evaluating).map(({ toolResults }) => toolResults[0]?.result);
  expect(results).toMatchObject([{ success: true }, { success: true }]);
  expect(counter.value).toBe(1);
});
