import { deadlineIn, definePrompt, defineTool, type ProviderAdapter, type Session } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import type { Work } from "./measure.ts";
import { add, inputSchema, instructions, outputSchema, question, type Scenario } from "./scenarios.ts";

const adding = defineTool({ name: "add", description: "Adds.", input: inputSchema, execute: add });
const sections = [
  { key: "guide", text: instructions, tools: [adding] },
  { key: "question", text: question, role: "user" },
] as const;
const plainPrompt = definePrompt({ key: "plain", sections }).bind();
const structuredPrompt = definePrompt({ key: "structured", sections, output: outputSchema }).bind();

/** An evaluation with session, budget and deadline on. */
export function evaluating(
  adapter: ProviderAdapter,
  { structured }: Pick<Scenario, "structured">,
  prepare: (session: Session) => void = () => {},
): Work {
  const prepared = (): Session => {
    const session = createSession();
    prepare(session);
    return session;
  };
  const options = () => ({
    session: prepared(),
    deadline: deadlineIn(60_000),
    budget: { maxTotalTokens: 1_000_000_000 },
    maxTurns: 1_000,
  });
  return () => (structured ? adapter.evaluate(structuredPrompt, options()) : adapter.evaluate(plainPrompt, options()));
}
