import { openai } from "@proviso/adapter-openai";
import { deadlineIn, isEvaluationFailure } from "@proviso/core";
import { startSimulator } from "@proviso/simulator";
import { requireApproval } from "@proviso/toolkit";
import { askAtTerminal } from "./ask-at-terminal.ts";
import { releasePrompt, simulatedRelease } from "./release.ts";

const deployed: string[] = [];
await using simulator = await startSimulator({ rules: [simulatedRelease] });
const adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none" });
const stopping = new AbortController();

try {
  const { output } = await adapter.evaluate(releasePrompt((what) => deployed.push(what)).bind(), {
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
