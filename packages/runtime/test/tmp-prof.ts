import { definePrompt, defineTool } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";
const answering = definePrompt({ ns: "tests", key: "answer", output: z.object({ a: z.number() }), text: "Answer." }).bind({});
const list = (o: any) => defineTool({ name: "list", description: "Takes a list.", input: z.object({ items: z.array(z.object({ a: o })) }), execute: () => 1 });
const items = JSON.stringify({ items: Array.from({ length: 60_000 }, () => ({ b: 1 })) });
const withTool = (t: any) => definePrompt({ ns: "t", key: "p", sections: [{ key: "s", text: "x", tools: [t] }] }).bind({});
const cases: any = {
  mib: [answering, { text: "[".repeat(1024 * 1024) }],
  b255: [answering, { text: `${"[".repeat(255)}${"1,".repeat(80_000)}` }],
  lists: [answering, { text: `[${"[x,".repeat(80_000)}` }],
  fences: [answering, { text: "```json".repeat(40_000) }],
  req: [withTool(list(z.number())), { toolCalls: [{ name: "list", arguments: items }] }],
  opt: [withTool(list(z.number().optional())), { toolCalls: [{ name: "list", arguments: items }] }],
};
for (const [name, [prompt, step]] of Object.entries(cases) as any) {
  if (process.argv[2] && process.argv[2] !== name) continue;
  for (const how of ["evaluate", "stream"]) {
    const t = process.cpuUsage();
    const a = modelAdapter(scriptedModel([step, { text: "{}" }]));
    await (how === "evaluate" ? a.evaluate(prompt) : a.stream(prompt).response).catch(() => {});
    console.log(name, how, (process.cpuUsage(t).user / 1000) | 0);
  }
}
