import assert from "node:assert/strict";
import { openai } from "@proviso/adapter-openai";
import { deadlineIn } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { startSimulator } from "@proviso/simulator";
import { fleet } from "./fleet.ts";
import { runbook } from "./runbook.ts";
import { simulatedDuty } from "./simulated-duty.ts";

const alert = "db-1 refuses writes, disk full; the replica db-2 lags and stopped streaming.";

await using simulator = await startSimulator({ rules: [simulatedDuty] });
const adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none" });
const approved: string[] = [];
const approve = ({ tool, input }: { readonly tool: { readonly name: string }; readonly input: unknown }) => {
  approved.push(`${tool.name} ${JSON.stringify(input)}`);
  return { approved: true } as const;
};

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const session = createSession();
const opened: string[] = [];
session.on("sections.opened", ({ keys }) => void opened.push(...keys));
const limits = () => ({ deadline: deadlineIn(30_000), budget: { maxTotalTokens: 200_000 } });
const closed = await adapter.evaluate(runbook(approve).bind({ alert }), { session, ...limits() });
const full = await adapter.evaluate(runbook(approve, "full").bind({ alert }), limits());

console.log(`Opened ${opened.join(" and ")}, ${opened.length} of 12 sections.`);
for (const { name, result } of closed.toolResults) {
  console.log(`  ${name}: ${result.success ? shown(result.value ?? result.message) : `denied: ${result.message}`}`);
}
console.log(`Approved: ${approved[0]}.`);
const share = closed.usage.inputTokens / full.usage.inputTokens;
console.log(`Sent ${closed.usage.inputTokens} tokens in ${closed.turns} turns; all sections open:`);
console.log(`  ${full.usage.inputTokens} tokens in ${full.turns} turns, so ${Math.round(share * 100)} % of them.`);

assert.deepEqual(opened.toSorted(), ["runbook.disk", "runbook.replication"]);
assert.deepEqual(session.get(fleet), { disk: { "db-1": 54, "db-2": 61 }, lagSeconds: { "db-2": 3 } });
assert.equal(closed.toolResults.filter(({ result }) => !result.success).length, 1, "rotating before measuring");
assert.deepEqual(closed.output, full.output);
assert.ok(share < 1 / 3, "the tokens sent stay under a third of what the full prompt sends");
