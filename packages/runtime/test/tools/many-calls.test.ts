import { definePrompt, defineTool } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, inject, test } from "vitest";
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
