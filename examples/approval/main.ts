import { openai } from "@proviso/adapter-openai";
import { deadlineIn, definePrompt, defineTool, isEvaluationFailure } from "@proviso/core";
import { startSimulator } from "@proviso/simulator";
import { requireApproval } from "@proviso/toolkit";
import { z } from "zod";
import { askAtTerminal } from "./ask-at-terminal.ts";

const deployed: string[] = [];
const deploy = defineTool({
  name: "deploy",
  description: "Deploy a version.",
  input: z.object({ version: z.string(), to: z.enum(["staging", "production"]) }),
  execute({ version, to }) {
    deployed.push(`${version} to ${to}`);
    return `${version} is on ${to}`;
  },
});
const release = definePrompt({
  ns: "examples",
  key: "release",
  sections: [
    { key: "task", text: "Release what was tested.", tools: [deploy] },
    { key: "request", text: "Release 1.4.", role: "user" },
  ],
});

// It stands in for a model: wants to deploy, then says what it was told.
await using simulator = await startSimulator({
  rules: [
    ({ toolResults }) => {
      const told = toolResults().at(-1)?.text;
      if (told !== undefined) return { text: told };
      return { toolCalls: [{ name: "deploy", arguments: { version: "1.4", to: "production" } }] };
    },
  ],
});
const adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none" });
const stopping = new AbortController();

try {
  const { output } = await adapter.evaluate(release.bind(), {
    policies: [requireApproval(askAtTerminal(() => stopping.abort()))],
    deadline: deadlineIn(Number(process.env["DEADLINE_MS"] ?? 60_000)),
    signal: stopping.signal,
  });
  console.log(`The model was told: ${output}`);
} catch (error) {
  if (!isEvaluationFailure(error)) throw error;
  console.log(`\nStopped: ${error.code}.`);
  process.exitCode = stopping.signal.aborted ? 130 : 1;
}
console.log(`Deployed: ${deployed.join(", ") || "nothing"}.`);
