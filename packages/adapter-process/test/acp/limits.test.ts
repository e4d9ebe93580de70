import { deadlineIn, definePrompt, defineTool, systemClock, trackBudget } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { fakeClock, type FakeClock } from "@proviso/runtime/testing";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { failureOf, folder, gone, idsIn } from "../support/command.ts";
import { acting, calling, descriptors, hello, notes, nothingIsLeft, withTools } from "./support.ts";

nothingIsLeft();

async function linesIn(path: string, count: number): Promise<readonly string[]> {
  for (let waited = 0; waited < 120_000; waited += 20) {
    try {
      const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
      if (lines.length >= count) return lines;
    } catch {}
    await systemClock.sleep(20);
  }
  throw new Error(`There are no ${count} lines in ${path}.`);
}

test("CMD-31 an abort settles at once, and the agent is asked to cancel before it is ended", async () => {
  const noted = join(folder(), "notes");
  const controller = new AbortController();
  const evaluating = failureOf(acting("cancellable", noted).evaluate(hello, { signal: controller.signal }));
  await linesIn(noted, 1);
  controller.abort("enough");
  expect(await Promise.race([evaluating, systemClock.sleep(100)])).toMatchObject({ code: "aborted", cause: "enough" });
  expect(await linesIn(noted, 2)).toEqual(["begun", "cancelled"]);
});

/** Moves the clock on until it has settled. */
async function outlasted<T>(clock: FakeClock, evaluating: Promise<T>): Promise<T> {
  let settled = false;
  const settling = evaluating.finally(() => (settled = true));
  for (let waited = 0; waited < 120_000 && !settled; waited += 50) {
    await clock.advance(60_000);
    await systemClock.sleep(50);
  }
  return settling;
}

test("CMD-31 LIM-2 at a deadline the whole group ends, though it ignores cancel and SIGTERM", async () => {
  const noted = join(folder(), "ids");
  const clock = fakeClock();
  const deadline = deadlineIn(60_000, clock);
  const late = failureOf(acting("stubborn", noted, { clock }).evaluate(hello, { deadline }));
  const ids = await idsIn(noted, 2);
  expect(await outlasted(clock, late)).toMatchObject({ code: "deadline" });
  expect(await gone(ids)).toBe(true);
});

test("CMD-31 timeoutMs, by the clock that is given, is a throttle of kind timeout, and is not asked again", async () => {
  const noted = join(folder(), "ids");
  const clock = fakeClock();
  const evaluating = failureOf(acting("stubborn", noted, { timeoutMs: 60_000, clock }).evaluate(hello));
  const ids = await idsIn(noted, 2);
  const error = await outlasted(clock, evaluating);
  expect(error).toMatchObject({ code: "throttled", kind: "timeout", attempts: 1 });
  expect(error.message).toContain("did not answer within 60000 ms");
  expect(error.providerPayload).toMatchObject({ signal: "SIGKILL" });
  expect(await gone(ids)).toBe(true);
});

test("CMD-31 an agent that reads no more is ended all the same", async () => {
  const noted = join(folder(), "ids");
  const clock = fakeClock();
  const evaluating = failureOf(acting("deaf", noted, { timeoutMs: 60_000, clock }).evaluate(hello));
  const ids = await idsIn(noted, 1);
  // What we answer fills its pipe.
  await systemClock.sleep(300);
  expect(await outlasted(clock, evaluating)).toMatchObject({ code: "throttled", kind: "timeout" });
  expect(await gone(ids)).toBe(true);
});

test("CMD-31 an agent that says nothing at all is left too", async () => {
  const error = await failureOf(acting("silent").evaluate(hello, { deadline: deadlineIn(300) }));
  expect(error).toMatchObject({ code: "deadline" });
});

test("CMD-31 TX-1 a call that is aborted in the middle leaves no trace, and none begins after it", async () => {
  const session = createSession({ slices: [notes] });
  const controller = new AbortController();
  const slow = calling([
    { name: "note", arguments: { text: "slow" } },
    { name: "note", arguments: { text: "after" } },
  ]).evaluate(withTools, { session, signal: controller.signal });
  const evaluating = failureOf(slow);
  for (let waited = 0; waited < 120_000 && session.get(notes).length === 0; waited += 10) await systemClock.sleep(10);
  expect(session.get(notes)).toEqual(["slow"]);
  controller.abort();
  expect(await evaluating).toMatchObject({ code: "aborted" });
  await systemClock.sleep(3_300);
  expect(session.get(notes)).toEqual([]);
});

test("CMD-24 LIM-4 a budget that a call spends ends the agent", async () => {
  const spend = defineTool({
    name: "spend",
    description: "Spends.",
    input: z.strictObject({}),
    async execute(_, { evaluate }) {
      await evaluate(hello, { adapter: acting("usage") });
    },
  });
  const sections = [{ key: "task", text: "Spend.", tools: [spend] }] as const;
  const prompt = definePrompt({ ns: "acp", key: "spend", sections }).bind();
  const error = await failureOf(
    calling([{ name: "spend", arguments: {} }]).evaluate(prompt, { budget: { maxOutputTokens: 6 } }),
  );
  expect(error).toMatchObject({ code: "budget", phase: "tool" });
});

test("CMD-24 LIM-5 agents side by side share a budget: what does not fit beside the other waits, then finds too little", async () => {
  const budget = trackBudget({ maxTotalTokens: 40 });
  // Each spends 20; a request of this prompt is estimated at 23.
  const ended = await Promise.allSettled([1, 2].map(() => acting("usage").evaluate(hello, { budget })));
  expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(ended[1]).toMatchObject({ reason: { code: "budget", spent: 20, reserved: 0 } });
  expect([budget.consumed.totalTokens, budget.remaining().totalTokens]).toEqual([20, 20]);
});

test("CMD-31 after many turns, good and bad, no descriptor more is open", { timeout: 300_000 }, async () => {
  const ways = [
    () => calling([{ name: "note", arguments: { text: "x" } }]).evaluate(withTools),
    () => acting("exit", "1").evaluate(hello),
    () => acting("garbage", "x").evaluate(hello),
    () => acting("hang").evaluate(hello, { deadline: deadlineIn(400) }),
  ];
  await Promise.allSettled(ways.map((way) => way()));
  await systemClock.sleep(800);
  const before = descriptors();
  for (let round = 0; round < 2; round++) await Promise.allSettled(ways.map((way) => way()));
  for (let waited = 0; waited < 60_000 && descriptors() > before; waited += 50) await systemClock.sleep(50);
  expect(descriptors()).toBeLessThanOrEqual(before);
});
