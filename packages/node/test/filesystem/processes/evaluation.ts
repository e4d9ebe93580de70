// node evaluation.ts <root> <end>: an evaluation of two calls in a root; the second one ends the process within its
// handler, or goes well.
import { definePrompt, defineTool, Filesystem, isSnapshotable, provide } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";

const [, , root = "", end = ""] = process.argv;
const held: unknown[] = [];
const first = defineTool({
  name: "first",
  description: "Changes files.",
  input: z.object({}),
  async execute(_, { resources }) {
    const files = resources.get(Filesystem);
    // Never let go: it does not keep the call from being over.
    if (isSnapshotable(files)) held.push(await files.snapshot());
    await files.write("a.txt", "first");
    await files.remove("folder");
  },
});
const second = defineTool({
  name: "second",
  description: "Changes files and ends.",
  input: z.object({}),
  async execute(_, { resources }) {
    const files = resources.get(Filesystem);
    await files.write("a.txt", "second");
    await files.write("half.txt", "second");
    if (end === "kill") process.kill(process.pid, "SIGKILL");
    if (end === "exit") process.exit();
  },
});
const prompt = definePrompt({
  ns: "tests",
  key: "crash",
  sections: [{ key: "s", text: "Work.", tools: [first, second] }],
});
const model = scriptedModel([
  { toolCalls: [{ name: "first" }] },
  { toolCalls: [{ name: "second" }] },
  { text: "done" },
]);
await modelAdapter(model).evaluate(prompt.bind({}), { resources: [provide(Filesystem, hostFilesystem(root))] });
