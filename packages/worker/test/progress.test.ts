import { definePrompt, defineTool } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { defineRun } from "@proviso/worker";
import { expect, test } from "vitest";
import { z } from "zod";
import { attemptRun } from "../src/attempt.ts";
import type { RunProgress } from "../src/progress.ts";

const usage = { inputTokens: 100, outputTokens: 10, costUsd: 1 };
const inside = definePrompt({ key: "inside", text: "Ask." }).bind();
const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  uses: [],
  idempotent: true,
  execute: async (_, context) => (await context.evaluate(inside)).text ?? "",
});
const prompt = definePrompt({ key: "outer", sections: [{ key: "task", text: "Look.", tools: [look] }] });
const looking: ScriptedStep = { toolCalls: [{ name: "look" }], usage };

/** Evaluates the run until it is over, and returns what was reported last of each attempt, and what the journal says. */
async function spentBy(...steps: readonly ScriptedStep[]): Promise<readonly unknown[]> {
  const journal = memoryJournal();
  const kind = defineRun({ prompt, adapter: modelAdapter(scriptedModel(steps), { throttle: { maxAttempts: 1 } }) });
  const spent: unknown[] = [];
  for (let again = true; again;) {
    let last: RunProgress | undefined;
    const report = (progress: RunProgress): void => void (last = progress);
    const signal = new AbortController().signal;
    const end = await attemptRun(kind, { id: "r", params: {} }, { journal, signal, report });
    again = end.kind === "again";
    spent.push([last?.state, last?.usage.totalTokens, last?.usage.costUsd]);
  }
  const described = await journal.describe("r");
  spent.push([described?.usage.totalTokens, described?.usage.costUsd]);
  for await (const { usage: listed } of journal.list()) spent.push([listed.totalTokens, listed.costUsd]);
  return spent;
}

test("FLT-5 VIEW-13 what a run has spent counts evaluations inside its calls: in progress, description and list", async () => {
  const all = [330, 3];
  expect(await spentBy(looking, { text: "Inside.", usage }, { text: "Done.", usage })).toEqual([
    ["executed", ...all],
    all,
    all,
  ]);
});

test("FLT-5 VIEW-13 it counts a request that has a cost and no answer", async () => {
  const cut = { failure: "provider", reason: "invalid_response", message: "Cut.", usage } as const;
  expect(await spentBy(looking, { text: "Inside.", usage }, cut)).toEqual([
    ["failed", 330, 3],
    [330, 3],
    [330, 3],
  ]);
});

test("FLT-5 VIEW-13 it counts earlier attempts once", async () => {
  const busy = { failure: "throttle", kind: "network", message: "The line is cut." } as const;
  expect(await spentBy(looking, { text: "Inside.", usage }, busy, { text: "Done.", usage })).toEqual([
    ["open", 220, 2],
    ["executed", 330, 3],
    [330, 3],
    [330, 3],
  ]);
});

test("FLT-5 VIEW-13 TX-5 a call that a listener vetoed is one step", async () => {
  const session = createSession();
  session.on("tool.invoked", ({ result }) => {
    if (result.success) throw new Error("The audit refuses.");
  });
  let last: RunProgress | undefined;
  const report = (progress: RunProgress): void => void (last = progress);
  const model = scriptedModel([looking, { text: "Inside." }, { text: "Done." }]);
  const journal = memoryJournal();
  const kind = defineRun({ prompt, adapter: modelAdapter(model), options: () => ({ session }) });
  const signal = new AbortController().signal;
  await attemptRun(kind, { id: "r", params: {} }, { journal, signal, report });
  expect([last?.steps, (await journal.describe("r"))?.steps]).toEqual([3, 3]);
});
