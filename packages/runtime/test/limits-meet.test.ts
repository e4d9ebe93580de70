import { deadlineIn, defineTool, provide, resourceKey } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeClock, fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { openLimits } from "../src/limits.ts";
import { call, promptWith, rejection } from "./support.ts";

const never = (): Promise<never> => new Promise(() => {});

test("LIM-2 an abort that comes after the deadline, and before its timer rings, is not the reason", async () => {
  const clock = fakeClock();
  let ahead = 0;
  const busy = { now: () => clock.now() + ahead, sleep: clock.sleep };
  const controller = new AbortController();
  let seen: AbortSignal | undefined;
  const hanging = {
    ...scriptedModel([]),
    generate: ({ signal }: { readonly signal: AbortSignal }) => ((seen = signal), never()),
  };
  const evaluation = rejection(
    modelAdapter(hanging, { clock: busy }).evaluate(promptWith(), {
      signal: controller.signal,
      deadline: deadlineIn(1_000, busy),
    }),
  );
  await clock.advance(999);
  ahead = 1;
  controller.abort(new Error("enough"));
  expect(seen?.aborted).toBe(true);
  expect(await evaluation).toMatchObject({ code: "deadline", phase: "request" });
  expect(clock.pending).toBe(0);
});

const key = resourceKey<{ snapshot(): number; restore(): void; release(): Promise<void> }>("rows");
const write = defineTool({
  name: "write",
  description: "Writes.",
  input: z.object({}),
  uses: [key],
  execute: () => "written",
});

test.each([
  ["a deadline that passes", "abort", "aborted", 1_020],
  ["an abort that comes", "deadline", "deadline", 1_000],
] as const)(
  "LIM-2 %s while a call is committed, after the %s, is not the reason",
  async (_, first, code, deadlineMs) => {
    const { clock, ...environment } = fakeEnvironment();
    const rows = { snapshot: () => 0, restore() {}, release: () => clock.sleep(40) };
    const controller = new AbortController();
    const session = createSession();
    session.on("tool.invoked", () => {
      if (first === "abort") controller.abort("enough");
    });
    const model = scriptedModel([{ toolCalls: [call("write")], afterMs: 990 }], { clock });
    const evaluation = rejection(
      modelAdapter(model, { clock, ...environment }).evaluate(promptWith(write), {
        session,
        resources: [provide(key, rows)],
        signal: controller.signal,
        deadline: deadlineIn(deadlineMs, clock),
      }),
    );
    await clock.advance(1_010);
    controller.abort("enough");
    await clock.advance(20);
    const error = await evaluation;
    expect(error).toMatchObject({ code, phase: "tool", toolResults: [{ result: { success: true } }] });
    expect(error.cause).toBe(code === "aborted" ? "enough" : undefined);
    expect(clock.pending).toBe(0);
  },
);

test.each([60_000, 2 ** 33])("LIM-3 a deadline of %d ms on the system's clock leaves no timer", async (ms) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const model = scriptedModel([() => ({ text: `${vi.getTimerCount()} timer` })]);
    const { text } = await modelAdapter(model).evaluate(promptWith(), { deadline: deadlineIn(ms) });
    expect([text, vi.getTimerCount()]).toEqual(["1 timer", 0]);
  } finally {
    vi.useRealTimers();
  }
});

test("LIM-2 what a limit leaves behind is looked at once, also when it settles later", async () => {
  const controller = new AbortController();
  const limits = openLimits({ signal: controller.signal }, fakeClock());
  const work = Promise.withResolvers<never>();
  const onStop = vi.fn();
  const racing = limits.race(work.promise, "tool", onStop);
  controller.abort("enough");
  expect(await racing).toMatchObject({ stop: "aborted", phase: "tool" });
  work.reject(new Error("late"));
  await expect(work.promise).rejects.toThrow("late");
  await new Promise((resolve) => setImmediate(resolve));
  expect(onStop).toHaveBeenCalledTimes(1);
});

test("LIM-2 a limit wakes all that wait, whatever one of them throws then", async () => {
  const controller = new AbortController();
  const limits = openLimits({ signal: controller.signal }, fakeClock());
  const throwing = limits.race(never(), "tool", () => {
    throw new Error("The clock is broken.");
  });
  const other = limits.race(never(), "request");
  controller.abort("enough");
  await expect(throwing).rejects.toThrow("The clock is broken.");
  expect(await other).toMatchObject({ stop: "aborted", phase: "request" });
});
