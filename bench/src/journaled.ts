// Evaluations with a record, for what recording costs.
import { deadlineIn, definePrompt, defineTool, type JournalRun, type ModelProvider } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { cannedAnswer, turnCounter } from "./contenders.ts";
import { add, inputSchema, instructions, outputSchema, question, type Scenario } from "./scenarios.ts";

// A tool that only reads is not waited for: this one may change something, as most do.
const adding = defineTool({ name: "add", description: "Adds.", input: inputSchema, execute: add });
const sections = [
  { key: "guide", text: instructions, tools: [adding] },
  { key: "question", text: question, role: "user" },
] as const;
const plainPrompt = definePrompt({ key: "plain", sections }).bind();
const structuredPrompt = definePrompt({ key: "structured", sections, output: outputSchema }).bind();

/** What an evaluation is given beside its prompt. */
export interface Given {
  readonly run?: JournalRun | undefined;
  /** Called when the first request of this evaluation is made. */
  readonly asked?: (() => void) | undefined;
  readonly maxTurns?: number | undefined;
}

/** Evaluations of a scenario that may run beside each other, and go on at any turn. */
export function journaled(scenario: Scenario): (given?: Given) => Promise<unknown> {
  const { structured } = scenario;
  const turnOf = turnCounter(scenario);
  // One after the other the turns are counted: looking through the history would cost what grows.
  return ({ run, asked, maxTurns = 1_000 } = {}) => {
    let isAsked = false;
    const provider: ModelProvider = {
      name: "bench",
      model: "m",
      capabilities: { tools: true, nativeOutput: true },
      generate: async () => {
        if (!isAsked) asked?.();
        isAsked = true;
        return cannedAnswer(scenario, turnOf());
      },
    };
    return modelAdapter(provider).evaluate(structured ? structuredPrompt : plainPrompt, {
      session: createSession(),
      deadline: deadlineIn(60_000),
      budget: { maxTotalTokens: 1_000_000_000 },
      maxTurns,
      run,
    });
  };
}
