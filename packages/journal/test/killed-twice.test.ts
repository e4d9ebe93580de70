import { definePrompt, defineSection, defineTool, Filesystem, provide, type ModelRequest } from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { hostFilesystem } from "@proviso/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { folder, listed } from "./support.ts";

/** A journal in which the run "r" ends after so many entries, as a kill leaves it. */
async function cut(entries: readonly JournalEntry[], count: number): Promise<Journal> {
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
  await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store);
}

/** Evaluates the run "r", which writes two files, and returns the calls that it made. */
async function evaluate(journal: Journal, root: string, transactional: boolean): Promise<readonly string[]> {
  const made: string[] = [];
  const write = defineTool({
    name: "write",
    description: "Writes a file.",
    input: z.object({ path: z.string() }),
    transactional,
    async execute({ path }, { resources }) {
      made.push(path);
      await resources.get(Filesystem).write(path, "x");
    },
  });
  const task = defineSection({ key: "task", text: "Write.", tools: [write] });
  const prompt = definePrompt({ ns: "test", key: "files", params: z.object({}), sections: [task] }).bind({});
  const calls = ["a", "b"].map((path) => ({ toolCalls: [{ id: path, name: "write", arguments: { path } }] }));
  const adapter = modelAdapter({
    ...scriptedModel([]),
    // Answers by the conversation, as a service does: an attempt asks only for what the record does not have.
    generate: async (request: ModelRequest) => {
      const asked = request.messages.filter(({ role }) => role === "assistant").length;
      return scriptedModel([calls[asked] ?? { text: "Done." }]).generate(request);
    },
  });
  await adapter.evaluate(prompt, {
    run: journal.run("r", { takeOver: true }),
    resources: [provide(Filesystem, hostFilesystem(root))],
  });
  return made;
}

it.each([
  ["started", false],
  ["finished", true],
] as const)(
  "EFF-3 EFF-5 a call that was %s before a first kill is not repeated after a second one, wherever that comes",
  async (kind, transactional) => {
    const whole = memoryJournal();
    expect(await evaluate(whole, await folder(), transactional)).toEqual(["a", "b"]);
    const entries = await listed(whole.entries("r"));
    const first = entries.findIndex((entry) => entry.kind === kind) + 1;
    expect(first).toBeGreaterThan(0);

    const once = await cut(entries, first);
    expect(await evaluate(once, await folder(), transactional)).toEqual(["b"]);
    const twice = await listed(once.entries("r"));
    expect(twice.length).toBeGreaterThan(first + 5);
    const isWritten = (entry: JournalEntry): boolean => entry.kind === kind && entry.callId === "b";
    const written = twice.findIndex(isWritten);
    for (let second = first + 1; second <= written; second++) {
      const journal = await cut(twice, second);
      expect(await evaluate(journal, await folder(), transactional), `killed after ${second} entries`).toEqual(["b"]);
    }
  },
);
