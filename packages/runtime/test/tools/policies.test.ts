import { allow, definePolicy, definePrompt, defineTool, deny, type ToolPolicy } from "@proviso/core";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, promptOf, toolMessages } from "./support.ts";

const seen: unknown[] = [];
const act = defineTool({
  name: "act",
  description: "Acts.",
  input: z.object({ n: z.number().int() }),
  execute: ({ n }) => void seen.push(n),
});
const calls = [{ name: "act", arguments: { n: 1 } }];

async function run(policies: readonly ToolPolicy[]) {
  seen.length = 0;
  const { toolResults, messages } = await evaluateCalls(promptOf({ tools: [act] }), calls, { policies });
  return { result: toolResults[0]?.result, params: toolResults[0]?.params, text: toolMessages(messages)[0]?.text };
}

test("TOOL-10 the section's policies are asked first, then the parents', the prompt's and the evaluation's", async () => {
  const asked: string[] = [];
  const asking = (name: string): ToolPolicy =>
    definePolicy({
      name,
      check() {
        asked.push(name);
        return allow();
      },
    });
  const prompt = definePrompt({
    ns: "tests",
    key: "policies",
    policies: [asking("prompt 1"), asking("prompt 2")],
    sections: [
      {
        key: "outer",
        text: "Outer.",
        policies: [asking("outer")],
        children: [
          { key: "inner", text: "Inner.", tools: [act], policies: [asking("inner 1"), asking("inner 2")] },
          { key: "sibling", text: "Sibling.", policies: [asking("sibling")] },
        ],
      },
    ],
  }).bind({});
  await evaluateCalls(prompt, calls, { policies: [asking("option")] });
  expect(asked).toEqual(["inner 1", "inner 2", "outer", "prompt 1", "prompt 2", "option"]);
});

test("TOOL-10 the first denial is the message, and no policy is asked after it", async () => {
  const late = definePolicy({ name: "late", check: () => Promise.reject(new Error("was asked")) });
  const { result, text } = await run([
    definePolicy({ name: "a", check: () => allow() }),
    definePolicy({ name: "b", check: async () => deny("not on a Sunday") }),
    late,
  ]);
  expect([result, text, seen]).toEqual([{ success: false, message: "not on a Sunday" }, "not on a Sunday", []]);
});

test.each([
  ["throws", () => Promise.reject(new Error("confused")), "The policy p failed: confused"],
  ["answers nothing", () => undefined, undefined],
])("TOOL-10 a policy that %s denies", async (_, check, message) => {
  const { result } = await run([definePolicy({ name: "p", check: check as never })]);
  expect(result?.success).toBe(false);
  if (message !== undefined) expect(result?.message).toBe(message);
  expect(seen).toEqual([]);
});

test("TOOL-10 a policy is asked about the tools it watches only", async () => {
  const other = defineTool({ ...act, name: "other" });
  const { result } = await run([definePolicy({ name: "p", tools: [other], check: () => deny("no") })]);
  expect([result?.success, seen]).toEqual([true, [1]]);
});

test("TOOL-10 the input a policy puts in its place is what the next policy and the handler get", async () => {
  const asked: unknown[] = [];
  const { params } = await run([
    definePolicy({ name: "a", check: () => allow({ n: 2 }) }),
    definePolicy({
      name: "b",
      check({ input }) {
        asked.push(input);
        return allow();
      },
    }),
  ]);
  expect([asked, seen, params]).toEqual([[{ n: 2 }], [2], { n: 2 }]);
});

test("TOOL-10 the input a policy puts in its place is validated again", async () => {
  const { result } = await run([definePolicy({ name: "a", check: () => allow({ n: "two", more: 1 }) })]);
  expect(seen).toEqual([]);
  expect(result).toMatchObject({ success: false, message: expect.stringMatching(/n: .*more: unknown key/) });
});

test("TOOL-10 policies are not asked about arguments that do not fit", async () => {
  seen.length = 0;
  const policy = definePolicy({ name: "p", check: () => deny("was asked") });
  const { toolResults } = await evaluateCalls(promptOf({ tools: [act] }), [{ name: "act", arguments: { n: 1.5 } }], {
    policies: [policy],
  });
  expect(toolResults[0]?.result.message).toMatch(/^The arguments of act do not fit: n: /);
});
