import { modelAdapter, createSession } from "@proviso/runtime";
import { deadlineIn, definePrompt, defineTool } from "@proviso/core";
import { add, inputSchema, instructions, outputSchema, question, argumentsText, finalText, tokens, scenarios } from "./scenarios.ts";
const adding = defineTool({ name: "add", description: "Adds.", input: inputSchema, execute: add });
const sections = [{ key: "guide", text: instructions, tools: [adding] }, { key: "question", text: question, role: "user" }] as const;
const plainPrompt = definePrompt({ key: "plain", sections }).bind();
const structuredPrompt = definePrompt({ key: "structured", sections, output: outputSchema }).bind();
const scenario = scenarios[Number(process.argv[2])]; const n = Number(process.argv[3]);
const memoryJournal = process.argv[4] === "run" ? (await import("@proviso/journal")).memoryJournal : undefined;
let next = 0;
const adapter = modelAdapter({ name: "bench", model: "m", capabilities: { tools: true, nativeOutput: true }, generate: async () => { const turn = next; next = turn >= scenario.turns ? 0 : turn + 1;
  if (turn >= scenario.turns) return { message: { role: "assistant", text: finalText(scenario), toolCalls: [] }, finishReason: "stop", usage: tokens };
  return { message: { role: "assistant", text: "", toolCalls: Array.from({ length: scenario.calls }, (_, i) => ({ id: `c${turn}_${i}`, name: "add", arguments: argumentsText })) }, finishReason: "tool-calls", usage: tokens }; } });
let journal;
for (let i = 0; i < n; i++) {
  if (memoryJournal && i % 50 === 0) journal = memoryJournal();
  await adapter.evaluate(scenario.structured ? structuredPrompt : plainPrompt, { session: createSession(), deadline: deadlineIn(600_000), budget: { maxTotalTokens: 1e9 }, maxTurns: 1000, run: journal?.run(`r${i}`) });
}
process.exit(0);
