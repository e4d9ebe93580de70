// Evaluations with a record, for what recording costs.
import {
  deadlineIn,
  definePrompt,
  defineTool,
  type JournalRun,
  type ModelProvider,
  type PromptResponse,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { cannedAnswer } from "./contenders.ts";
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
  /** The record brings the session. */
  readonly session?: "recorded";
}

/** Evaluations of a scenario, which may run beside each other and go on at any turn. */
export function journaled(scenario: Scenario): (given?: Given) => Promise<PromptResponse<unknown>> {
  return (given = {}) => {
    const { run, asked, maxTurns = 1_000 } = given;
    let turn: number | undefined;
    const provider: ModelProvider = {
      name: "bench",
      model: "m",
      capabilities: { tools: true, nativeOutput: true },
      async generate({ messages }) {
        if (turn === undefined) {
          asked?.();
          turn = messages.filter(({ role }) => role === "assistant").length;
        }
        return cannedAnswer(scenario, turn++);
      },
    };
    const adapter = modelAdapter(provider);
    const limits = { deadline: deadlineIn(60_000), budget: { maxTotalTokens: 1_000_000_000 }, maxTurns };
    const options = "session" in given ? { ...limits, run } : { ...limits, session: createSession(), run };
    return scenario.structured ? adapter.evaluate(structuredPrompt, options) : adapter.evaluate(plainPrompt, options);
  };
}
