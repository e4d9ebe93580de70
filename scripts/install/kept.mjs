/**
 * What a program keeps in files, and reads again: runs in an SQLite file and in a folder, rows beside a run, attempts of an
 * eval, a conversation, usage. `check-install.ts` runs it where the packages are installed, on the lowest Node of `engines`
 * too, which reads no TypeScript and whose SQLite binds parameters in its own way.
 */
import { definePrompt, defineTool } from "@proviso/core";
import { usageStatistics } from "@proviso/estimation";
import { defineEval, runEval } from "@proviso/evals";
import { sqliteEvalStore } from "@proviso/evals/node";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { sqliteConversations, sqliteResource, sqliteUsageStore, SqliteDatabase } from "@proviso/node";
import { createSession, modelAdapter, withConversation } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

const note = defineTool({
  name: "note",
  description: "Takes a note.",
  input: z.object({ text: z.string() }),
  transactional: true,
  uses: [SqliteDatabase],
  execute({ text }, { resources }) {
    resources.get(SqliteDatabase).prepare("INSERT INTO notes (text) VALUES (?)").run(text);
    return resources.get(SqliteDatabase).prepare("SELECT count(*) AS notes FROM notes WHERE text = ?").get(text);
  },
});
const prompt = definePrompt({ key: "note", sections: [{ key: "task", text: "Note it.", tools: [note] }] });
const call = (text) => ({ toolCalls: [{ name: "note", arguments: { text } }] });
const cut = { failure: "throttle", kind: "network", message: "The connection was lost." };
const adapterOf = (...steps) => modelAdapter(scriptedModel(steps), { throttle: { maxAttempts: 1 } });
const schema = "CREATE TABLE notes (text TEXT NOT NULL);";

/** A run that is cut, resumed by a journal that was opened again, read, replayed, listed, forked and removed. */
async function runsIn(open, resourcesOf) {
  {
    const journal = open();
    const resources = resourcesOf(journal);
    const run = journal.run("first");
    await assert.rejects(adapterOf(call("one"), cut).evaluate(prompt.bind(), { run, resources }));
    assert.equal((await journal.describe("first")).state, "failed");
    await journal.close();
  }
  const journal = open();
  const resources = resourcesOf(journal);
  const resumed = await adapterOf(call("one"), { text: "Done." }).evaluate(prompt.bind(), {
    run: journal.run("first"),
    resources,
  });
  assert.equal(resumed.text, "Done.");
  const { state, timeline } = await journal.describe("first");
  assert.deepEqual(
    [state, ...timeline.map(({ kind }) => kind)],
    ["executed", "answer", "call", "answer", "call", "answer"],
  );
  assert.deepEqual(timeline[3].result.value, { notes: 2 });
  assert.equal((await replay(prompt, journal.replay("first"))).response.text, "Done.");
  const fork = await adapterOf({ text: "Otherwise." }).evaluate(prompt.bind(), {
    run: journal.fork("first", { at: 2, id: "second" }),
    resources,
  });
  assert.equal(fork.text, "Otherwise.");
  const entries = [];
  for await (const { index } of journal.entries("second")) entries.push(index);
  assert.deepEqual(entries, Array.from(entries.keys()));
  await journal.remove("first");
  const ids = [];
  for await (const { id } of journal.list()) ids.push(id);
  assert.deepEqual(ids, ["second"]);
  assert.equal(await journal.prune({ keep: 0 }), 1);
  await journal.close();
}

async function attemptsIn(file) {
  const model = scriptedModel(Array.from({ length: 4 }, () => ({ text: "Hello." })));
  const greetings = defineEval({
    name: "greetings",
    data: [1, 2, 3, 4].map((id) => ({ id: `reader-${id}` })),
    prompt: () => definePrompt({ key: "greet", text: "Greet." }).bind(),
    adapter: modelAdapter(model),
    scorers: { polite: ({ output }) => output.startsWith("Hello") },
  });
  for (let again = 0; again < 2; again += 1) {
    const store = sqliteEvalStore(file);
    const { variants } = await runEval(greetings, { store });
    assert.equal(variants.default.scores.polite.value, 1);
    store[Symbol.dispose]();
  }
  assert.equal(model.requests.length, 4);
}

async function conversationIn(file) {
  const chat = definePrompt({ key: "chat", params: z.object({ said: z.string() }), text: "{{said}}" });
  for (const said of ["Hello.", "Go on."]) {
    const store = sqliteConversations(file);
    const talk = ({ evaluate }) => evaluate(adapterOf({ text: said }), chat.bind({ said }));
    await withConversation(store, "ada/1", (conversation) => talk(conversation), { slices: chat.slices });
    store[Symbol.dispose]();
  }
  const store = sqliteConversations(file);
  assert.deepEqual(
    (await store.list({ prefix: "ada/" })).map(({ id, revision }) => [id, revision]),
    [["ada/1", 2]],
  );
  await store.delete("ada/1");
  assert.equal((await store.list({ prefix: "ada/" })).length, 0);
  store[Symbol.dispose]();
}

async function usageIn(file) {
  const greet = definePrompt({ key: "greet", text: "Greet." });
  for (let evaluation = 0; evaluation < 10; evaluation += 1) {
    const store = sqliteUsageStore(file);
    const statistics = usageStatistics(store);
    const session = createSession();
    statistics.observe(session);
    await adapterOf({ text: "Hello.", usage: { inputTokens: 7, outputTokens: 3 } }).evaluate(greet.bind(), { session });
    store.close();
  }
  const store = sqliteUsageStore(file);
  assert.equal(store.samples({ prompt: greet.name, model: "scripted-model" }).length, 10);
  store.close();
}

const folder = mkdtempSync(join(tmpdir(), "proviso-kept-"));
const at = (name) => join(folder, name);
try {
  await runsIn(
    () => sqliteJournal(at("runs.db")),
    (journal) => [sqliteResource(journal, { migrate: [schema] })],
  );
  await runsIn(
    () => folderJournal(at("runs")),
    () => [sqliteResource(at("notes.db"), { migrate: [schema] })],
  );
  await attemptsIn(at("evals.db"));
  await conversationIn(at("talks.db"));
  await usageIn(at("usage.db"));
  console.log("kept");
} finally {
  rmSync(folder, { recursive: true });
}
