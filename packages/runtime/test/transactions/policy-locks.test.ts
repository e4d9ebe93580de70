import {
  allow,
  definePolicy,
  definePrompt,
  defineTool,
  provide,
  resourceKey,
  type Tool,
  type ToolPolicy,
} from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const key = resourceKey<{ n: number; snapshot(): number; restore(n: number): void }>("table");

test("TOOL-13 the check of a policy waits for a call that writes what the policy uses, though the watched tool uses nothing", async () => {
  const table = { n: 0, snapshot: () => table.n, restore: (n: number) => void (table.n = n) };
  const gate = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const write = defineTool({
    name: "write",
    description: "Writes, and ends later.",
    input: z.object({}),
    uses: [key],
    async execute(_, { resources }) {
      resources.get(key).n = 1;
      began.resolve();
      await gate.promise;
      resources.get(key).n = 2;
    },
  });
  const run = defineTool({ name: "run", description: "Runs.", input: z.object({}), uses: [], execute: () => "ran" });
  const seen: number[] = [];
  const policy = definePolicy({
    name: "looks",
    tools: [run],
    uses: [key],
    check(_, { resources }) {
      seen.push(resources.get(key).n);
      return allow();
    },
  });
  const evaluate = (tool: Tool, policies: readonly ToolPolicy[]) =>
    modelAdapter(scriptedModel([{ toolCalls: [{ name: tool.name }] }, { text: "ok" }]), fakeEnvironment()).evaluate(
      definePrompt({ ns: "t", key: "p", policies, sections: [{ key: "a", text: "Go.", tools: [tool] }] }).bind(),
      { resources: [provide(key, table)] },
    );
  const writing = evaluate(write as Tool, []);
  await began.promise;
  const watched = evaluate(run as Tool, [policy]);
  for (let n = 0; n < 200; n++) await Promise.resolve();
  expect(seen).toEqual([]);
  gate.resolve();
  await writing;
  expect((await watched).toolResults[0]?.result).toMatchObject({ success: true, value: "ran" });
  expect(seen).toEqual([2]);
});
