import assert from "node:assert/strict";
import { openai } from "@proviso/adapter-openai";
import { deadlineIn, Filesystem, provide } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { startSimulator } from "@proviso/simulator";
import { optimize } from "@proviso/toolkit";
import { resolve } from "node:path";
import { maintainer } from "./prompt.ts";
import { simulatedExplorer } from "./simulated-explorer.ts";

// Left out: the folder of this example.
const folder = resolve(process.argv[2] ?? import.meta.dirname);
const prompt = maintainer.bind();

await using simulator = await startSimulator({ rules: [simulatedExplorer] });
const adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none" });
const session = createSession();
const options = () => ({
  session,
  resources: [provide(Filesystem, hostFilesystem(folder, { readOnly: true }))],
  deadline: deadlineIn(30_000),
  budget: { maxTotalTokens: 100_000 },
});

// Once: it looks around, in a session of its own, and this one keeps the digest.
const { digest, sectionKey, response } = await optimize(adapter, prompt, options());
console.log(`Explored with ${response.toolResults.length} calls; "${sectionKey}" now says:\n${digest}\n`);

// From now on: the prompt shows the digest, and nobody has to look again.
const answer = await adapter.evaluate(prompt, options());
console.log(`Answered after ${answer.toolResults.length} calls: ${answer.output}`);

assert.ok(response.toolResults.length >= 2);
assert.equal(answer.toolResults.length, 0);
const sent = JSON.stringify(simulator.requests.at(-1)?.body);
assert.ok(sent.includes(JSON.stringify(digest).slice(1, -1)), "the last request shows the digest");
