import { definePrompt, defineTool } from "@proviso/core";
import { openai } from "@proviso/adapter-openai";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { z } from "zod";

const lookUp = defineTool({
  name: "look_up",
  description: "Looks a word up.",
  input: z.object({ word: z.string() }),
  execute: ({ word }) => `${word}: found`,
});
const prompt = definePrompt({
  ns: "tests",
  key: "evaluate",
  params: z.object({ word: z.string() }),
  output: z.object({ word: z.string(), note: z.string().optional() }),
  sections: [
    { key: "guide", text: "Look words up.", tools: [lookUp] },
    { key: "request", text: "{{word}}", role: "user" },
  ],
});

test.each(["responses", "chat"] as const)(
  "LOOP-2 an evaluation over api %s replays calls byte for byte",
  async (api) => {
    await using simulator = await startSimulator({
      steps: [
        { reasoning: "look it up", toolCalls: [{ name: "look_up", arguments: '{ "word":"a" }' }] },
        { output: { word: "a", note: null } },
      ],
    });
    const adapter = openai({ model: "gpt-test", api, apiKey: "key", baseURL: simulator.baseURL });
    const { output, usage, model, provider } = await adapter.evaluate(prompt.bind({ word: "a" }));
    expect(output).toEqual({ word: "a" });
    expect({ model, provider }).toEqual({ model: "gpt-test", provider: "openai" });
    expect(usage.estimated).toBe(false);
    expect(JSON.stringify(simulator.requests[1]?.body)).toContain(JSON.stringify('{ "word":"a" }'));
    expect(simulator.requests.map(({ status }) => status)).toEqual([200, 200]);
  },
);
