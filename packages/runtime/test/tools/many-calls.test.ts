import { definePrompt, defineTool, systemClock } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";

test.each([{ uses: [] as const }, { readOnly: true as const }])(
  "TOOL-6 LIM-9 of thousands of calls that may overlap 64 do, and calls that fail cost no more where there are many: %o",
  async (kind) => {
    let [now, most] = [0, 0];
    const tool = defineTool({
      name: "t",
      description: "Fails.",
      input: z.object({}),
      ...kind,
      async execute() {
        most = Math.max(most, ++now);
        await Promise.resolve();
        now -= 1;
        throw new Error("no");
      },
    });
    const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Go.", tools: [tool] }] }).bind();
    const cpuOf = async (calls: number): Promise<number> => {
      const toolCalls = Array.from({ length: calls }, () => ({ name: "t" }));
      const adapter = modelAdapter(scriptedModel([{ toolCalls }, { text: "done" }]), fakeEnvironment());
      const before = process.cpuUsage();
      const { toolResults } = await adapter.evaluate(prompt);
      expect(toolResults).toHaveLength(calls);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const calls = inject("exhaustive") ? 1_000 : 300;
    await cpuOf(calls);
    const few = Math.max(await cpuOf(calls), await cpuOf(calls));
    const many = Math.min(await cpuOf(4 * calls), await cpuOf(4 * calls));
    expect(most).toBe(64);
    // Five times as long for four times as many, and room for a busy machine; their square would be sixteen times.
    expect(many).toBeLessThan(8 * few);
  },
);

describe("LIM-2 LIM-9 many calls of a handler that waits for nothing", () => {
  const total = 100;
  const started = async (environment: object, busyMs: number): Promise<readonly [calls: number, code: string]> => {
    const stop = new AbortController();
    let calls = 0;
    const tool = defineTool({
      name: "t",
      description: "Is busy.",
      input: z.object({}),
      execute() {
        // It fires in the next turn of the event loop.
        if (++calls === 1) void systemClock.sleep(0).then(() => stop.abort());
        for (const until = systemClock.now() + busyMs; systemClock.now() < until;);
        return "ok";
      },
    });
    const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Go.", tools: [tool] }] }).bind();
    const toolCalls = Array.from({ length: total }, () => ({ name: "t" }));
    const adapter = modelAdapter(scriptedModel([{ toolCalls }, { text: "done" }]), environment);
    const { code } = await adapter.evaluate(prompt, { signal: stop.signal }).then(
      () => ({ code: "done" }),
      (error: { readonly code: string }) => error,
    );
    return [calls, code];
  };

  test("LIM-2 LIM-9 an abort by a timer is noticed between them, and what was not run is answered", async () => {
    const [calls, code] = await started({}, 5);
    expect(code).toBe("aborted");
    expect(calls).toBeLessThan(total);
  });

  test("LIM-2 LIM-9 on a clock of its own an evaluation waits for no turn: what happens depends on no time", async () => {
    const [calls] = await started(fakeEnvironment(), 1);
    expect(calls).toBe(total);
  });
});

test("TOOL-6 calls beside each other have each its own duration", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    input: z.object({ ms: z.number() }),
    uses: [],
    execute: ({ ms }) => clock.sleep(ms),
  });
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Wait.", tools: [wait] }] }).bind();
  const toolCalls = [5, 1_000, 50].map((ms) => ({ name: "wait", arguments: { ms } }));
  const adapter = modelAdapter(scriptedModel([{ toolCalls }, { text: "Done." }]), environment);
  const evaluating = adapter.evaluate(prompt);
  await clock.advance(1_000);
  const { toolResults } = await evaluating;
  expect(toolResults.map(({ durationMs }) => durationMs)).toEqual([5, 1_000, 50]);
});
