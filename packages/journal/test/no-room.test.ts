import { BudgetExceededError, definePrompt, defineTool, type Budget } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "paid" });
const prompt = definePrompt({ key: "p", sections: [{ key: "t", text: "Pay.", tools: [pay] }] }).bind();
const steps: readonly ScriptedStep[] = Array.from({ length: 30 }, () => ({
  toolCalls: [{ name: "pay" }],
  usage: { inputTokens: 100, outputTokens: 10 },
}));
const budgets: readonly Budget[] = [
  { maxTotalTokens: 1_000 },
  { maxTotalTokens: 340 },
  { maxTotalTokens: 330 },
  { maxInputTokens: 350 },
  { maxOutputTokens: 45 },
];

test.each(budgets)(
  "RPL-7 a run that ended because a budget had no room, %o, replays to its failure",
  async (budget) => {
    const journal = memoryJournal();
    const adapter = modelAdapter(scriptedModel(steps), fakeEnvironment());
    const failed = await adapter.evaluate(prompt, { budget, run: journal.run("r") }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(BudgetExceededError);
    const again = await modelAdapter(scriptedModel([]), fakeEnvironment())
      .evaluate(prompt, { run: journal.replay("r") })
      .catch((error: unknown) => error);
    expect(again).toBeInstanceOf(BudgetExceededError);
    const { message, usage, phase } = failed as BudgetExceededError;
    expect(again).toMatchObject({ message, usage, phase });
  },
);
