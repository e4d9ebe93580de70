import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

/** Evaluates with tools, a policy, feedback, a stream and an evaluation inside, and prints the modules that were loaded. */
const program = (run: string): string => `
import { registerHooks } from "node:module";
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
const { definePrompt, defineTool } = await import("@proviso/core");
const { modelAdapter } = await import("@proviso/runtime");
const { scriptedModel } = await import("@proviso/runtime/testing");
const { z } = await import("zod");
const look = defineTool({
  name: "look", description: "Looks.", input: z.object({}),
  execute: async (_, { evaluate }) => (await evaluate("Look.")).text,
});
const prompt = definePrompt({
  key: "p",
  sections: [{ key: "s", text: "Go.", tools: [look] }],
  policies: [{ name: "all", check: () => ({ allowed: true }) }],
  feedback: [{ name: "more", every: { calls: 1 }, provide: () => "Go on." }],
}).bind();
const model = scriptedModel([{ toolCalls: [{ name: "look" }] }, { text: "Seen." }, { text: "Done." }]);
const stream = modelAdapter(model).stream(prompt, { run: ${run} });
for await (const _ of stream) void _;
if ((await stream.response).text !== "Done.") throw new Error("It is not done.");
console.log(JSON.stringify(loaded.filter((url) => url.includes("/runtime/src/recording/")).map((url) => url.split("/").at(-1))));
`;

function recordingModules(run: string): readonly string[] {
  const args = ["--conditions=@proviso/source", "--input-type=module", "-e", program(run)];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: import.meta.dirname, encoding: "utf8" });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as readonly string[];
}

test("JRN-12 an evaluation without a run loads nothing that records, and makes nothing of it", () => {
  // The one module looks whether the option is a run, and imports types alone.
  expect(recordingModules("undefined")).toEqual(["run-value.ts"]);
  const journal = new URL("../../journal/src/index.ts", import.meta.url).href;
  expect(recordingModules(`(await import("${journal}")).memoryJournal().run("r")`)).toContain("tape.ts");
});
