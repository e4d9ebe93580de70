import { defineTool, Filesystem, RevokedError, type ToolContext } from "@proviso/core";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, LedgerKey, noted, notes, promptOf, rejectionOf, world, type Call } from "./support.ts";

/** Runs a tool that ends this way and gives what it kept of its context. */
async function contextAfter(end: "return" | "throw" | "hang") {
  const { session, resources, digest } = world();
  const kept: { context?: ToolContext; files?: Filesystem } = {};
  const keep = defineTool({
    name: "keep",
    description: "Keeps its context.",
    input: z.object({}),
    timeoutMs: 10,
    async execute(_, context) {
      kept.context = context;
      kept.files = context.resources.get(Filesystem);
      if (end === "throw") throw new Error("no");
      if (end === "hang") await new Promise(() => {});
    },
  });
  const before = await digest();
  const environment = fakeEnvironment();
  const calls: Call[] = [{ name: "keep" }];
  const evaluating = evaluateCalls(promptOf({ tools: [keep] }), calls, { session, resources }, environment);
  await environment.clock.advance(10);
  await evaluating;
  return { context: kept.context as ToolContext, files: kept.files as Filesystem, before, digest };
}

test.each(["return", "throw", "hang"] as const)(
  "TX-3 after a call that ends by %s, its session, resources and filesystem raise and change nothing",
  async (end) => {
    const { context, files, before, digest } = await contextAfter(end);
    expect(() => context.session.dispatch(noted({ text: "late" }))).toThrow(RevokedError);
    expect(() => context.session.get(notes)).toThrow(RevokedError);
    expect(() => context.resources.get(Filesystem)).toThrow(RevokedError);
    expect(() => context.resources.find(LedgerKey)).toThrow(RevokedError);
    const late: Promise<unknown>[] = [
      context.resources.open(LedgerKey),
      files.write("late.txt", "x"),
      files.remove("old.txt"),
      files.mkdir("late"),
      files.read("old.txt"),
      files.list(),
      context.evaluate(promptOf()),
    ];
    for (const error of await Promise.all(late.map(rejectionOf))) expect(error).toBeInstanceOf(RevokedError);
    expect(await digest()).toEqual(before);
  },
);

test("TX-3 the error names the tool and the call", async () => {
  const { context } = await contextAfter("return");
  expect(() => context.session.get(notes)).toThrow(/keep.*call_1.*over/);
});

test("TX-3 a handler that goes on after its time is up cannot write any more", async () => {
  const { session, resources, digest } = world();
  const before = await digest();
  const raised: unknown[] = [];
  const environment = fakeEnvironment();
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const slow = defineTool({
    name: "slow",
    description: "Takes too long.",
    input: z.object({}),
    timeoutMs: 10,
    async execute(_, { session: state, resources: mine }) {
      const files = mine.get(Filesystem);
      await environment.clock.sleep(20);
      await files.write("late.txt", "x").catch((error: unknown) => raised.push(error));
      try {
        state.dispatch(noted({ text: "late" }));
      } catch (error) {
        raised.push(error);
      }
      finish();
    },
  });
  const evaluating = evaluateCalls(
    promptOf({ tools: [slow] }),
    [{ name: "slow" }],
    { session, resources },
    environment,
  );
  await environment.clock.advance(30);
  await Promise.all([evaluating, finished]);
  expect(raised.map((error) => error instanceof RevokedError)).toEqual([true, true]);
  expect(await digest()).toEqual(before);
});

test("TX-3 the signal fires when a tool's time is up, with a TimeoutError", async () => {
  let signal: AbortSignal | undefined;
  const environment = fakeEnvironment();
  const hang = defineTool({
    name: "hang",
    description: "Hangs.",
    input: z.object({}),
    timeoutMs: 10,
    execute: (_, context) => {
      ({ signal } = context);
      return new Promise<void>(() => {});
    },
  });
  const evaluating = evaluateCalls(promptOf({ tools: [hang] }), [{ name: "hang" }], {}, environment);
  await environment.clock.advance(9);
  expect(signal?.aborted).toBe(false);
  await environment.clock.advance(1);
  await evaluating;
  expect(signal?.reason).toMatchObject({ name: "TimeoutError" });
});
