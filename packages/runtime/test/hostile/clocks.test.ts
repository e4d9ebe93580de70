import { defineTool, provide, resourceKey, systemClock } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection } from "../support.ts";

const unhandled: unknown[] = [];
const hear = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", hear));
afterAll(() => void process.off("unhandledRejection", hear));

/** A clock that throws when it is asked the n-th time, or from then on. */
function brokenClock(from: number, isBroken: "once" | "for good") {
  let asked = 0;
  const clock = {
    hasThrown: false,
    now(): number {
      asked += 1;
      if (isBroken === "once" ? asked !== from : asked < from) return Date.now();
      clock.hasThrown = true;
      throw new Error("no time");
    },
    sleep: systemClock.sleep,
  };
  return clock;
}

/** Evaluates with a clock that throws at each of its uses, until one evaluation no longer gets to the use. */
async function atEachUse(
  isBroken: "once" | "for good",
  evaluate: (clock: ReturnType<typeof brokenClock>, use: number) => Promise<void>,
): Promise<number> {
  for (let use = 1; use < 1_000; use++) {
    const clock = brokenClock(use, isBroken);
    await evaluate(clock, use);
    if (!clock.hasThrown) return use - 1;
  }
  throw new Error("There is no end of uses.");
}

test.each(["once", "for good"] as const)(
  "LOOP-1 an evaluation that rendered ends with one event, though its clock throws %s",
  async (isBroken) => {
    const uses = await atEachUse(isBroken, async (clock, use) => {
      const session = createSession();
      const types: string[] = [];
      session.on("*", ({ type }) => void types.push(type));
      const model = scriptedModel([{ toolCalls: [call("nothing")] }, { text: "hi" }]);
      const evaluating = modelAdapter(model, { clock }).evaluate(promptWith(nothing), { session });
      const code = await evaluating.then(
        () => "ok",
        (error: { code: string }) => error.code,
      );
      const ends = types.filter((type) => type === "prompt.executed" || type === "prompt.failed");
      if (types.includes("prompt.rendered")) expect([use, ends]).toEqual([use, [expect.any(String)]]);
      expect(ends.includes("prompt.executed")).toBe(code === "ok");
    });
    expect(uses).toBeGreaterThan(10);
  },
);
const nothing = defineTool({ name: "nothing", description: "x", input: z.object({}), execute: () => "ok" });

test("ERR-7 TX-13 a clock that throws while a restore fails leaves no promise rejected", async () => {
  const key = resourceKey<{ rows: number; snapshot(): number; restore(): void }>("rows");
  const write = defineTool({
    name: "write",
    description: "Writes, then fails.",
    input: z.object({}),
    uses: [key],
    execute: (_, { resources }) => {
      resources.get(key).rows += 1;
      throw new Error("on purpose");
    },
  });
  await atEachUse("once", async (clock) => {
    const table = {
      rows: 0,
      snapshot: () => 0,
      restore: () => {
        throw new Error("no restore");
      },
    };
    const model = scriptedModel([{ toolCalls: [call("write")] }, { text: "done" }]);
    const error = await rejection(
      modelAdapter(model, { clock }).evaluate(promptWith(write), { resources: [provide(key, table)] }),
    );
    expect(["restore", "internal", "render"]).toContain(error["code"]);
    await new Promise((resolve) => setImmediate(resolve));
  });
  expect(unhandled).toEqual([]);
});

test("LIM-1 a deadline that throws after a request was refused has passed", async () => {
  let isBroken = false;
  const deadline = {
    expiresAt: new Date(Date.now() + 60_000),
    remainingMs() {
      if (isBroken) throw new Error("no time");
      return 60_000;
    },
  };
  const model = scriptedModel([
    () => {
      isBroken = true;
      return { failure: "throttle", kind: "rate_limit", message: "later" };
    },
    { text: "ok" },
  ]);
  expect(await rejection(modelAdapter(model).evaluate("hi", { deadline }))).toMatchObject({ code: "deadline" });
});

test.each([true, false])(
  "OBS-8 params of a call whose handler was begun are its input, whenever the clock throws (its handler waits: %o)",
  async (waits) => {
    const begun: unknown[] = [];
    const echo = defineTool({
      name: "echo",
      description: "Repeats.",
      input: z.object({ text: z.string() }),
      timeoutMs: 1_000,
      execute: (input) => (begun.push(input), waits ? Promise.resolve().then(() => input.text) : input.text),
    });
    await atEachUse("once", async (clock, use) => {
      const session = createSession();
      const params: unknown[] = [];
      session.on(echo, (event) => void (event.ran && params.push(event.params)));
      const model = scriptedModel([{ toolCalls: [call("echo", { text: "a" })] }, { text: "hi" }]);
      await modelAdapter(model, { clock })
        .evaluate(promptWith(echo), { session })
        .catch(() => {});
      expect([use, params]).toEqual([use, params.map(() => ({ text: "a" }))]);
    });
    expect(begun.length).toBeGreaterThan(1);
  },
);
