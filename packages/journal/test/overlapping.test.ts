import { definePrompt, defineTool, Filesystem, provide } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { hostFilesystem } from "@proviso/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { folder, listed } from "./support.ts";

it("EFF-5 calls that overlap, and write by evaluations inside them, are each finished and committed in the record", async () => {
  const files = hostFilesystem(await folder());
  const write = defineTool({
    name: "write",
    description: "Writes a file.",
    input: z.object({ path: z.string() }),
    uses: [Filesystem],
    execute: ({ path }, { resources }) => resources.get(Filesystem).write(path, "x"),
  });
  const inner = definePrompt({ key: "inner", sections: [{ key: "s", text: "Write.", tools: [write] }] }).bind();
  const delegate = defineTool({
    name: "delegate",
    description: "Lets another prompt write.",
    input: z.object({}),
    uses: [],
    execute: async (_input, { evaluate }) => (await evaluate(inner)).text,
  });
  const outer = definePrompt({ key: "outer", sections: [{ key: "s", text: "Delegate.", tools: [delegate] }] }).bind();
  let path = 0;
  const model = scriptedModel([]);
  const adapter = modelAdapter({
    ...model,
    generate: async (request) => {
      const isOuter = request.tools.some(({ name }) => name === "delegate");
      const hasAsked = request.messages.some(({ role }) => role === "tool");
      const calls = isOuter
        ? ["c1", "c2"].map((id) => ({ id, name: "delegate", arguments: {} }))
        : [{ id: "w1", name: "write", arguments: { path: `file${++path}` } }];
      return scriptedModel([hasAsked ? { text: "Done." } : { toolCalls: calls }]).generate(request);
    },
  });
  const journal = memoryJournal();
  await adapter.evaluate(outer, { run: journal.run("r"), resources: [provide(Filesystem, files)] });
  const entries = await listed(journal.entries("r"));
  const idsOf = (kind: "finished" | "committed") =>
    entries.flatMap((entry) => {
      if (entry.kind !== kind) return [];
      return entry.kind === "committed" ? entry.callIds : entry.kind === "finished" ? [entry.callId] : [];
    });
  expect(idsOf("committed").toSorted()).toEqual(["c1", "c2"]);
  expect(idsOf("finished").toSorted()).toEqual(["c1", "c2"]);
});
