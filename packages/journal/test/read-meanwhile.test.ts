// A journal in memory is read while runs of it are evaluated.
import { definePrompt, defineTool } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({}),
  uses: [],
  transactional: true,
  execute: async () => "noted",
});
const prompt = definePrompt({ key: "note", sections: [{ key: "task", text: "Note.", tools: [note] }] }).bind();

test("RSM-8 a journal that is read takes no run over", async () => {
  const journal = memoryJournal();
  let running = 0;
  const evaluated = async (id: string): Promise<string | null> => {
    running += 1;
    const steps = [...Array.from({ length: 5 }, () => ({ toolCalls: [{ name: "note" }] })), { text: "Done." }];
    try {
      return (await modelAdapter(scriptedModel(steps)).evaluate(prompt, { run: journal.run(id) })).text;
    } catch (error) {
      return String(error);
    } finally {
      running -= 1;
    }
  };
  const evaluating = Promise.all(Array.from({ length: 6 }, (_, index) => evaluated(`run ${index}`)));
  while (running > 0) await listed(journal.list());
  expect(new Set(await evaluating)).toEqual(new Set(["Done."]));
});
