import {
  definePrompt,
  defineTool,
  type ProviderAdapter,
  type ProviderTool,
  type ProviderToolUsed,
} from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { startSimulator } from "@proviso/simulator";
import { expect } from "vitest";
import { z } from "zod";

const page = { url: "https://nodejs.org/en/blog/release/v24", title: "Node 24" };
const other = { url: "https://v8.dev/13.6", title: "V8 13.6" };

/**
 * The service searches twice, beside a call of ours in the first turn: it is reported, nothing of it is run here, what it
 * found are the answer's sources (Gemini says no more of it: `isReported` is false), and the service takes its own items back in the next turn and the next evaluation.
 */
export async function expectSearches(
  make: (connection: { readonly baseURL: string }) => ProviderAdapter,
  search: ProviderTool,
  { isStreamed, isReported = true }: { readonly isStreamed: boolean; readonly isReported?: boolean },
): Promise<void> {
  const noted: string[] = [];
  const note = defineTool({
    name: "note",
    description: "Notes.",
    input: z.object({ text: z.string() }),
    execute: ({ text }) => void noted.push(text),
  });
  const prompt = definePrompt({
    key: "news",
    sections: [{ key: "task", role: "user", text: "What is new in Node 24?", tools: [note], providerTools: [search] }],
  }).bind();
  await using simulator = await startSimulator({
    steps: [
      {
        reasoning: "I look it up.",
        searches: [{ query: "node 24", results: [page] }],
        toolCalls: [{ name: "note", arguments: { text: "V8" } }],
      },
      { searches: [{ query: "v8 13.6", results: [other, page] }], text: "V8 13.6 ✓." },
      { text: "Nothing more." },
    ],
  });
  const adapter = make(simulator);
  const session = createSession();
  const used: ProviderToolUsed[] = [];
  session.on("provider.tool", (event) => void used.push(event));
  const evaluate = (options: Parameters<ProviderAdapter["evaluate"]>[1]) =>
    isStreamed ? adapter.stream(prompt, options).response : adapter.evaluate(prompt, options);
  const { output, sources = [], messages, toolResults } = await evaluate({ session });
  expect(output).toBe("V8 13.6 ✓.");
  expect([noted, toolResults.length]).toEqual([["V8"], 1]);
  expect(sources.map(({ url, title }) => ({ url, title }))).toEqual([other, page]);
  for (const { at } of sources) if (at !== undefined) expect(output.slice(at.start, at.end)).not.toBe("");
  const last = await evaluate({ session, messages });
  expect(last.output).toBe("Nothing more.");
  expect(simulator.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(used).toHaveLength(isReported ? 2 : 0);
  if (isReported) expect(JSON.stringify(used)).toContain("node 24");
  expect(used.every(({ name, isError }) => name === search.name && !isError)).toBe(true);
}
