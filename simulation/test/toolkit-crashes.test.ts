import { definePrompt, Filesystem, provide, type Section, type Tool } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { agentAdapter, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { filesystemTools, planning } from "@proviso/toolkit";
import { expect, test } from "vitest";

const calls: readonly (readonly [name: string, given: object])[] = [
  ["write_file", { path: "a.txt", text: "new" }],
  ["edit_file", { path: "a.txt", find: "old", replace: "new" }],
  ["remove_file", { path: "a.txt" }],
  ["set_plan", { goal: "mend", steps: ["edit"] }],
  ["update_plan_step", { step: 1, status: "done" }],
];
const section: Section = { key: "task", text: "Mend it.", tools: filesystemTools() };
const files = () => [provide(Filesystem, memoryFilesystem({ "a.txt": "old" }))];

test.each(calls)("KIT-12 EFF-3 a process that ends while %s runs leaves nothing to ask about", async (name, given) => {
  const [before, after] = [memoryJournal(), memoryJournal()];
  const crashed = Promise.withResolvers<void>();
  let isFirst = true;
  // The handler as it is; where the first process ends, in the middle of it.
  const stopping = <T extends Tool>(tool: T): T => ({
    ...tool,
    async execute(...[input, context]: Parameters<Tool["execute"]>) {
      const result = await tool.execute(input, context);
      if (isFirst && tool.name === name) {
        await before.copy("r", after);
        crashed.resolve();
        await new Promise(() => {});
      }
      return result;
    },
  });
  const plan = planning();
  const prompt = definePrompt({
    key: "mend",
    sections: [
      { ...section, tools: filesystemTools().map(stopping) },
      { ...plan, tools: (plan.tools as readonly Tool[]).map(stopping) },
    ],
  }).bind();
  const planned = { name: "set_plan", arguments: { goal: "mend", steps: ["edit"] } };
  const steps = [
    ...(name === "update_plan_step" ? [{ toolCalls: [planned] }] : []),
    { toolCalls: [{ name, arguments: given }] },
  ];
  void modelAdapter(scriptedModel(steps), fakeEnvironment())
    .evaluate(prompt, { run: before.run("r"), resources: files() })
    .catch(() => {});
  await crashed.promise;
  isFirst = false;
  const { toolResults } = await modelAdapter(scriptedModel([{ text: "done" }]), fakeEnvironment()).evaluate(prompt, {
    run: after.run("r", { takeOver: "alive" }),
    resources: files(),
  });
  expect(toolResults.at(-1)).toMatchObject({ name, result: { success: true } });
});

test.each(calls.slice(0, 4))(
  "KIT-12 RSM-10 an agent's turn that was lost after %s is begun again",
  async (name, given) => {
    const [before, after] = [memoryJournal(), memoryJournal()];
    const crashed = Promise.withResolvers<void>();
    let turns = 0;
    const adapter = agentAdapter({
      name: "agent",
      model: "m",
      async drive({ executeToolCall }) {
        turns++;
        await executeToolCall({ id: `c${turns}`, name, arguments: JSON.stringify(given) });
        if (turns === 1) {
          await before.copy("r", after);
          crashed.resolve();
          await new Promise(() => {});
        }
        return { message: { role: "assistant", text: "done", toolCalls: [] }, finishReason: "stop" };
      },
    });
    const prompt = definePrompt({ key: "mend", sections: [section, planning()] }).bind();
    void adapter.evaluate(prompt, { run: before.run("r"), resources: files() }).catch(() => {});
    await crashed.promise;
    const again = adapter.evaluate(prompt, { run: after.run("r", { takeOver: "alive" }), resources: files() });
    expect((await again).text).toBe("done");
  },
);
