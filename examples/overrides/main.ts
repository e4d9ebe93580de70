import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openai } from "@proviso/adapter-openai";
import type { PromptTemplate } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { fileOverrides } from "@proviso/node";
import { startSimulator } from "@proviso/simulator";
import { answerCustomers, answerCustomersLater } from "./prompts.ts";

// It stands in for a model, and answers with the tone that it was told.
const told = ({ system }: { readonly system: string }) => ({ text: /Tone\n\n(.+)/.exec(system)?.[1] ?? "none" });
await using simulator = await startSimulator({ rules: [told] });
const adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none" });
const folder = await mkdtemp(join(tmpdir(), "proviso-overrides-"));

try {
  const store = fileOverrides(folder);

  // Seed: the texts as they are, in a file that people can edit.
  await store.seed(answerCustomers, "latest");
  const file = join(folder, "examples", "support", "latest.json");
  const seeded = await readFile(file, "utf8");
  assert.equal((await ask(answerCustomers)).text, "Be brief.");

  // Edit: any editor will do.
  await writeFile(file, seeded.replace('"Be brief."', '"Be warm."'));
  const edited = await ask(answerCustomers);
  assert.equal(edited.text, "Be warm.");
  assert.deepEqual(edited.stale, []);

  // Drift: the text that was replaced is another one now, so the override waits for somebody to look at it.
  const drifted = await ask(answerCustomersLater);
  assert.equal(drifted.text, "Be brief, and name the order.");
  assert.deepEqual(drifted.stale, ["tone"]);
  await assert.rejects(
    store.upsert(answerCustomersLater.descriptor, JSON.parse(await overrideIn(file))),
    /changed since/,
  );
} finally {
  await rm(folder, { recursive: true });
}

/** Evaluates with the overrides in the folder, and tells what became of them. */
async function ask(template: PromptTemplate<{ question: string }, string>) {
  const session = createSession();
  const stale: string[] = [];
  session.on("prompt.rendered", ({ overrides }) => void stale.push(...(overrides?.stale ?? [])));
  const overrides = { store: fileOverrides(folder), tag: "latest" };
  const { text } = await adapter.evaluate(template.bind({ question: "Where is order 7?" }), { session, overrides });
  console.log(`${text}${stale.length > 0 ? ` (stale and skipped: ${stale.join(", ")})` : ""}`);
  return { text, stale };
}

async function overrideIn(path: string): Promise<string> {
  const { tag, sections, tools } = JSON.parse(await readFile(path, "utf8"));
  return JSON.stringify({ tag, sections, tools });
}
