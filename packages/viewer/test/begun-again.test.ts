// Forks of one run share their beginning, the id of their evaluation included. Removed and begun again under one id, they
// are told apart all the same.
import { definePrompt, defineTool, type RunRecord } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { journalRuns, openRuns } from "@proviso/viewer";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { RunViews } from "../src/server/run-views.ts";

const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
const prompt = definePrompt({ key: "forked", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();
const asked = { toolCalls: [{ name: "look", arguments: {} }] };

async function journals(kind: string): Promise<{ journal: Journal; read: () => ReturnType<typeof journalRuns> }> {
  const folder = await mkdtemp(join(tmpdir(), "begun-again-"));
  const path = join(folder, "runs");
  const journal =
    kind === "folder" ? folderJournal(path) : kind.includes("file") ? sqliteJournal(path) : memoryJournal();
  onTestFinished(async () => {
    await journal.close();
    await rm(folder, { recursive: true });
  });
  // As a journal is that another copy of the package made: only its methods are known.
  const read = (): ReturnType<typeof journalRuns> =>
    kind === "an opened file" ? openRuns(path) : journalRuns(kind === "foreign" ? { ...journal } : journal);
  return { journal, read };
}

it.each(["memory", "folder", "file", "an opened file", "foreign"])(
  "VIEW-9 %s: a fork that is removed and begun again under its id is shown alone, and ends what followed the one before",
  async (kind) => {
    const { journal, read } = await journals(kind);
    const evaluated = (
      steps: readonly ScriptedStep[],
      run: Parameters<typeof journal.run>[0] | object,
    ): Promise<unknown> =>
      modelAdapter(scriptedModel([...steps])).evaluate(prompt, {
        run: typeof run === "string" ? journal.run(run) : journal.fork("origin", { at: 1, id: "fork" }),
      });
    await evaluated([asked, { text: "Origin." }], "origin");
    await evaluated([{ text: "First fork." }], {});
    const reader = read();
    const views = new RunViews(reader);
    const titles = async (): Promise<string> => (await views.of("fork")).rows.map(({ title }) => title).join();
    expect(await titles()).toContain("First fork.");
    const { begunBy } = await views.of("fork");
    const seen: RunRecord[] = [];
    const ending = new AbortController();
    onTestFinished(() => ending.abort());
    const following = (async () => {
      for await (const record of reader.follow({ runId: "fork", after: -1, signal: ending.signal })) seen.push(record);
    })();
    const whole = await recordsOf(reader, "fork");
    await expect.poll(() => seen.length).toBe(whole.length);

    await journal.remove("fork");
    await evaluated([asked, asked, { text: "Second fork." }], {});
    expect(await titles()).toContain("Second fork.");
    expect(await titles()).not.toContain("First fork.");
    const view = await views.of("fork");
    expect(view.begunBy).not.toBe(begunBy);
    expect(view.rows).toEqual((await new RunViews(read()).of("fork")).rows);
    await following;
    expect(seen).toEqual(whole);

    await journal.remove("fork");
    expect(await titles()).toBe("");
  },
  15_000,
);

async function recordsOf(reader: ReturnType<typeof journalRuns>, id: string): Promise<RunRecord[]> {
  const all: RunRecord[] = [];
  for await (const record of reader.records(id)) all.push(record);
  return all;
}
