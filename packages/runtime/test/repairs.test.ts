import { definePrompt } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "./support.ts";

const prompt = definePrompt({
  ns: "tests",
  key: "count",
  output: z.object({ count: z.number() }),
  sections: [{ key: "ask", text: "Count." }],
}).bind({});
const wrong = { output: { count: "three" } };
const right = { output: { count: 3 } };

test("OUT-5 maxRepairs shows the model its answer's issues and asks again", async () => {
  const model = scriptedModel([wrong, right]);
  const response = await modelAdapter(model, fakeEnvironment()).evaluate(prompt, { maxRepairs: 1 });
  expect(response.output).toEqual({ count: 3 });
  expect(response.turns).toBe(2);
  expect(response.usage.totalTokens).toBe(30);
  const [first, second] = model.requests.map(({ messages }) => messages);
  expect(second?.slice(0, first?.length)).toEqual(first);
  expect(second?.slice(first?.length)).toMatchObject([
    { role: "assistant", text: '{"count":"three"}' },
    { role: "user", text: expect.stringContaining("count") },
  ]);
});

test("OUT-5 without repairs left the last answer's issues are the error's, and it can be gone on from", async () => {
  for (const maxRepairs of [undefined, 0, 2]) {
    const model = scriptedModel(Array.from({ length: (maxRepairs ?? 0) + 1 }, () => wrong));
    const error = await rejection(modelAdapter(model, fakeEnvironment()).evaluate(prompt, { maxRepairs }));
    model.assertDone();
    expect(error).toMatchObject({ code: "output", rawText: '{"count":"three"}', issues: [{ path: "count" }] });
    const again = scriptedModel([right]);
    const { output } = await modelAdapter(again).evaluate(prompt, { messages: error["messages"] as never });
    expect(output).toEqual({ count: 3 });
  }
});

const entries = definePrompt({
  ns: "tests",
  key: "entries",
  output: z.record(z.string(), z.array(z.object({ n: z.number() }))),
  sections: [{ key: "ask", text: "List." }],
}).bind({});

test("OUT-5 a repair shows the first 20 issues, cuts what is long, and counts the others", async () => {
  const long = "k".repeat(200_000);
  const answer = { [long]: Array.from({ length: 3_000 }, () => ({ n: "x" })) };
  const model = scriptedModel([{ output: answer }, { output: answer }]);
  const error = await rejection(modelAdapter(model, fakeEnvironment()).evaluate(entries, { maxRepairs: 1 }));
  const request = model.requests[1]?.messages.at(-1)?.text ?? "";
  expect(request).toMatch(/; and 2,980 more\. Answer again/);
  expect(request.split(long.slice(0, 200))).toHaveLength(21);
  expect(request.length).toBeLessThan(10_000);
  expect(error.message.length).toBeLessThan(10_000);
  const issues = error["issues"] as readonly { readonly path: string }[];
  expect([issues.length, issues[0]?.path.length]).toEqual([100, 1_001]);
});

test("OUT-5 unknown keys and long messages of a schema are cut and counted as well", async () => {
  const output = z.object({ a: z.string().refine(() => false, { error: ({ input }) => String(input) }) });
  const one = definePrompt({ ns: "tests", key: "one", output, text: "Answer." }).bind({});
  const keys = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${"u".repeat(300)}${index}`, 1]));
  const model = scriptedModel([{ output: { a: "m".repeat(100_000), ...keys } }, { output: { a: "" } }]);
  await rejection(modelAdapter(model, fakeEnvironment()).evaluate(one, { maxRepairs: 1 }));
  const request = model.requests[1]?.messages.at(-1)?.text ?? "";
  expect(request).toContain(`a: ${"m".repeat(1_000)}…; ${"u".repeat(200)}…: unknown key; `);
  expect(request).toMatch(/; and 481 more\. Answer again/);
});

test("OUT-5 repairs count as turns and stay within the same limits", async () => {
  const adapter = () => modelAdapter(scriptedModel([wrong, wrong, wrong]), fakeEnvironment());
  expect(await rejection(adapter().evaluate(prompt, { maxRepairs: 9, maxTurns: 2 }))).toMatchObject({ code: "turns" });
  expect(await rejection(adapter().evaluate(prompt, { maxRepairs: 9, budget: { maxTotalTokens: 20 } }))).toMatchObject({
    code: "budget",
  });
});

test("OUT-5 asText leaves the answer unparsed, whatever it is", async () => {
  const model = scriptedModel([{ text: "not JSON" }]);
  const { output } = await modelAdapter(model).evaluate(prompt.asText());
  const text: string = output;
  expect(text).toBe("not JSON");
});
