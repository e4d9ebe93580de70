import { DeadlockError, errorReason, isEvaluationFailure, provide } from "@proviso/core";
import { createSession, openResources, transaction } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { calling, Counter, CounterKey, OtherKey, promptOf, rejectionOf, slowAdd, toolOf } from "./support.ts";

test("TX-12 nested evaluations that wait for each other's resources: one is refused at once, the other goes on", async () => {
  const environment = fakeEnvironment();
  const [a, b] = [new Counter(), new Counter()];
  const errors: unknown[] = [];
  const inner = toolOf("inner", ({ resources }) => void (resources.get(OtherKey).value += 1));
  const outer = (other: Counter) =>
    toolOf("outer", async ({ resources, evaluate }) => {
      resources.get(CounterKey).value += 1;
      await environment.clock.sleep(20);
      const adapter = calling(environment, "inner");
      try {
        await evaluate(promptOf({ tools: [inner] }, "inner"), { adapter, resources: [provide(OtherKey, other)] });
      } catch (error) {
        errors.push(error);
        throw error;
      }
    });
  const evaluating = Promise.all([
    calling(environment, "outer").evaluate(promptOf({ tools: [outer(b)] }), { resources: [provide(CounterKey, a)] }),
    calling(environment, "outer").evaluate(promptOf({ tools: [outer(a)] }), { resources: [provide(CounterKey, b)] }),
  ]);
  await environment.clock.advance(100);
  const results = (await evaluating).map(({ toolResults }) => toolResults[0]?.result.success);
  expect(results.filter((success) => success === true)).toHaveLength(1);
  // The one that went on has added to both.
  expect([a.value, b.value]).toEqual([1, 1]);
  expect(errors).toHaveLength(1);
  const [error] = errors;
  expect(error).toBeInstanceOf(DeadlockError);
  expect(isEvaluationFailure(error)).toBe(true);
  expect(errorReason(error)).toBe("deadlock_error");
  expect(error).toMatchObject({
    code: "deadlock",
    phase: "tool",
    waitedFor: '"Other"',
    heldBy: expect.stringMatching(/^the call of outer \(.+\)$/u),
  });
});

test("TX-12 an evaluation with the session of the call in whose code it begins is refused before its first request", async () => {
  const environment = fakeEnvironment();
  const session = createSession();
  const inner = promptOf({ tools: [toolOf("inner", () => 1)] }, "inner");
  const requests: string[] = [];
  session.on("provider.requested", ({ evaluationId }) => requests.push(evaluationId));
  let error: unknown;
  const outer = toolOf("outer", async () => {
    // Known through timers and promises as well.
    await environment.clock.sleep(10);
    error = await rejectionOf(calling(environment, "inner").evaluate(inner, { session }));
    return "went on";
  });
  const evaluating = calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), { session });
  await environment.clock.advance(100);
  const { toolResults } = await evaluating;
  expect(toolResults[0]?.result).toMatchObject({ success: true, value: "went on" });
  expect(error).toMatchObject({ code: "deadlock", phase: "render", waitedFor: "the session" });
  expect((error as Error).message).toContain("evaluate with context.evaluate");
  expect(new Set(requests).size).toBe(1);
});

test("TX-12 an evaluation with the resources of the call in whose code it begins is refused at its first call", async () => {
  const environment = fakeEnvironment();
  const shared = await openResources([provide(CounterKey, new Counter())]);
  const inner = promptOf({ tools: [slowAdd(environment)] }, "inner");
  let error: unknown;
  const outer = toolOf("outer", async () => {
    error = await rejectionOf(calling(environment, "add").evaluate(inner, { resources: shared }));
  });
  const evaluating = calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), { resources: shared });
  await environment.clock.advance(100);
  expect((await evaluating).toolResults[0]?.result.success).toBe(true);
  expect(error).toMatchObject({ code: "deadlock", waitedFor: '"Counter"' });
  expect(error).toMatchObject({ toolResults: [{ result: { success: false } }] });
});

test("TX-12 an evaluation of one's own in a call's code, with nothing of the call's, runs", async () => {
  const environment = fakeEnvironment();
  const inner = promptOf({ tools: [toolOf("inner", () => "fine")] }, "inner");
  const outer = toolOf("outer", async () => (await calling(environment, "inner").evaluate(inner)).text);
  const { toolResults } = await calling(environment, "outer").evaluate(promptOf({ tools: [outer] }));
  expect(toolResults[0]?.result).toMatchObject({ success: true, value: "done" });
});

test("TX-12 a reader's code may read beside a writer that waits", async () => {
  const environment = fakeEnvironment();
  const shared = await openResources([provide(CounterKey, new Counter())]);
  const inner = promptOf(
    { tools: [toolOf("inner", ({ resources }) => resources.get(CounterKey).value, { readOnly: true })] },
    "inner",
  );
  const outer = toolOf(
    "outer",
    async () => {
      await environment.clock.sleep(20);
      return (await calling(environment, "inner").evaluate(inner, { resources: shared })).text;
    },
    { readOnly: true },
  );
  const evaluating = Promise.all([
    calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), { resources: shared }),
    calling(environment, "add").evaluate(promptOf({ tools: [slowAdd(environment)] }), { resources: shared }),
  ]);
  await environment.clock.advance(200);
  const results = (await evaluating).map(({ toolResults }) => toolResults[0]?.result.success);
  expect(results).toEqual([true, true]);
});

test("TX-12 transaction() in the code of a call over what that call holds is refused at once", async () => {
  const environment = fakeEnvironment();
  const session = createSession();
  const resources = await openResources([provide(CounterKey, new Counter())]);
  let error: unknown;
  const outer = toolOf("outer", async () => {
    error = await rejectionOf(transaction({ session, resources, tag: "inside" }, async () => 1));
  });
  await calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), { session, resources });
  expect(error).toMatchObject({ code: "deadlock", promptName: "inside" });
});

test("TX-12 two nested evaluations that one call begins at once wait for each other, and are no circle", async () => {
  const environment = fakeEnvironment();
  const counter = new Counter();
  const inner = promptOf({ tools: [slowAdd(environment)] }, "inner");
  const outer = toolOf("outer", async ({ evaluate }) => {
    const resources = [provide(CounterKey, counter)];
    const once = () => evaluate(inner, { adapter: calling(environment, "add"), resources });
    await Promise.all([once(), once(), once()]);
  });
  const evaluating = calling(environment, "outer").evaluate(promptOf({ tools: [outer] }));
  await environment.clock.advance(200);
  await evaluating;
  expect(counter.value).toBe(3);
});

test("TX-12 who would wait behind a call that waits for it in turn is refused at once, though another holds the lock", async () => {
  const environment = fakeEnvironment();
  const counter = new Counter();
  const resources = [provide(CounterKey, counter)];
  const reads = toolOf("reads", () => environment.clock.sleep(200), { readOnly: true, uses: [CounterKey] });
  const writes = toolOf("writes", () => undefined, { uses: [CounterKey] });
  const looks = toolOf("looks", () => undefined, { readOnly: true, uses: [CounterKey] });
  let refused: unknown;
  const outer = toolOf(
    "outer",
    async (context) => {
      // It stands in line for the outer call, behind the reader.
      const inside = context.evaluate(promptOf({ tools: [writes] }), { adapter: calling(environment, "writes") });
      await environment.clock.sleep(10);
      refused = await rejectionOf(calling(environment, "looks").evaluate(promptOf({ tools: [looks] }), { resources }));
      await inside;
    },
    { uses: [] },
  );
  const reading = calling(environment, "reads").evaluate(promptOf({ tools: [reads] }), { resources });
  await environment.clock.advance(10);
  const evaluated = calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), { resources });
  await environment.clock.advance(100);
  expect(refused).toMatchObject({ code: "deadlock" });
  await environment.clock.advance(10_000);
  await Promise.all([reading, evaluated]);
});

test("TX-12 a call that can never have one of its locks is refused before it waits for another, and blocks no one", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const resources = await openResources([provide(CounterKey, new Counter()), provide(OtherKey, new Counter())]);
  const outcomes: string[] = [];
  const both = { uses: [CounterKey, OtherKey] };
  // Another evaluation holds the counter for a while, and a third one waits for both.
  const busy = toolOf("busy", () => clock.sleep(50), { uses: [CounterKey] });
  const third = toolOf("third", () => void outcomes.push("the third ran"), both);
  // Its handler begins an evaluation whose call needs the counter first, and then what the handler's own call holds.
  const inner = promptOf({ tools: [toolOf("inner", () => void outcomes.push("the inner ran"), both)] }, "inner");
  const selfish = toolOf(
    "selfish",
    async () => {
      await clock.sleep(10);
      const error = await rejectionOf(calling(environment, "inner").evaluate(inner, { resources }));
      outcomes.push(`${(error as { code?: string }).code} at ${clock.now() - startedAt}`);
    },
    { uses: [OtherKey] },
  );
  const startedAt = clock.now();
  const evaluating = [busy, selfish, third].map((tool) =>
    calling(environment, tool.name).evaluate(promptOf({ tools: [tool] }), { resources }),
  );
  await clock.advance(200);
  const results = (await Promise.all(evaluating)).map(({ toolResults }) => toolResults[0]?.result.success);
  expect(outcomes).toEqual(["deadlock at 10", "the third ran"]);
  expect(results).toEqual([true, true, true]);
});
