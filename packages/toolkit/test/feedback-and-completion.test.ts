import {
  deadlineIn,
  definePrompt,
  Filesystem,
  provide,
  provideFactory,
  type Budget,
  type FeedbackProvider,
} from "@proviso/core";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import {
  allOf,
  anyOf,
  budgetFeedback,
  deadlineFeedback,
  filesystemTools,
  planning,
  requireFiles,
  staticFeedback,
} from "@proviso/toolkit";
import { expect, test } from "vitest";
import { call } from "./support.ts";

const wholeBudget: Budget = { maxTotalTokens: 1_000, maxCostUsd: 2 };

async function said(feedback: FeedbackProvider, limited: boolean, budget = wholeBudget): Promise<string> {
  const environment = fakeEnvironment();
  const model = scriptedModel([{ toolCalls: [call("set_plan", { goal: "g", steps: ["s"] })] }, { text: "done" }]);
  const prompt = definePrompt({ key: "p", sections: [planning()], feedback: [feedback] }).bind();
  const limits = { deadline: deadlineIn(90_000, environment.clock), budget };
  const adapter = modelAdapter(model, { ...environment, pricing: { input: 0, output: 0 } });
  const { messages } = await adapter.evaluate(prompt, limited ? limits : {});
  const answer = messages.find(({ role }) => role === "tool")?.text ?? "";
  return /<feedback from="\w+">\n([\s\S]*)\n<\/feedback>/.exec(answer)?.[1] ?? "";
}

test("KIT-9 feedback shows the time and the budget that are left, or a text; nothing where there is no limit", async () => {
  const every = { calls: 1 };
  expect(await said(deadlineFeedback({ every }), true)).toBe("90 s are left. Leave time for the answer.");
  expect(await said(budgetFeedback({ every }), true)).toBe("Left of the budget: 985 tokens, 2.00 US dollars.");
  const parts = { maxInputTokens: 500, maxOutputTokens: 200 };
  expect(await said(budgetFeedback({ every }), true, parts)).toBe(
    "Left of the budget: 490 input tokens, 195 output tokens.",
  );
  expect(await said(staticFeedback("Be brief.", { every }), false)).toBe("Be brief.");
  expect(await said(deadlineFeedback({ every }), false)).toBe("");
  expect(await said(budgetFeedback({ every }), false)).toBe("");
});

test("KIT-11 ERR-3 requireFiles says that it was given no path, or what was none", () => {
  expect(() => requireFiles()).toThrow('requireFiles takes paths, requireFiles("a.md", "b.md"), and was given none.');
  expect(() => requireFiles("a", 1 as never)).toThrow('requireFiles takes paths, requireFiles("a.md", "b.md"), not 1.');
});

const ask = (checker: ReturnType<typeof requireFiles>, ...written: readonly string[]) => {
  const prompt = definePrompt({
    key: "files",
    sections: [{ key: "s", text: "Write.", tools: filesystemTools() }],
    completion: checker,
  }).bind();
  const model = scriptedModel([
    ...written.flatMap((path) => [{ text: "done" }, { toolCalls: [call("write_file", { path, text: "x" })] }]),
    { text: "done" },
  ]);
  const resources = [provide(Filesystem, memoryFilesystem({ "a.md": "a" }))];
  return modelAdapter(model, fakeEnvironment())
    .evaluate(prompt, { resources })
    .then(() => model.requests.flatMap(({ messages }) => messages.slice(-1).map(({ text }) => text)));
};

test("KIT-10 required files send the model back until they are there", async () => {
  const texts = await ask(requireFiles("a.md", "b.md"), "b.md");
  expect(texts).toEqual([
    "Write.",
    "These files are still missing: b.md. Write them.",
    expect.stringContaining("Wrote b.md"),
  ]);
});

test("KIT-10 all of several, or any one of them", async () => {
  expect(await ask(anyOf(requireFiles("b.md"), requireFiles("a.md")))).toEqual(["Write."]);
  const either = await ask(anyOf(requireFiles("b.md"), requireFiles("c.md")), "c.md");
  expect(either[1]).toContain("One of these is still needed:\n- These files are still missing: b.md.");
  const both = await ask(allOf(requireFiles("b.md"), requireFiles("c.md")), "b.md", "c.md");
  expect(both[1]).toContain("b.md");
  expect(both[1]).toContain("c.md");
  expect(both[3]).toBe("These files are still missing: c.md. Write them.");
});

test("KIT-10 required files are looked for where the filesystem is made asynchronously", async () => {
  const prompt = definePrompt({
    key: "files",
    sections: [{ key: "s", text: "Write.", tools: filesystemTools() }],
    completion: requireFiles("b.md"),
  }).bind();
  const writing = { toolCalls: [call("write_file", { path: "b.md", text: "x" })] };
  const model = scriptedModel([{ text: "done" }, writing, { text: "done" }]);
  const resources = [provideFactory(Filesystem, async () => memoryFilesystem({}))];
  await modelAdapter(model, fakeEnvironment()).evaluate(prompt, { resources });
  model.assertDone();
});

test("KIT-10 TOOL-12 without a filesystem the evaluation fails before its first request, alone and beside others", async () => {
  const looksAtNothing = { name: "any", check: () => undefined };
  for (const completion of [
    requireFiles("b.md"),
    allOf(looksAtNothing, requireFiles("b.md")),
    anyOf(requireFiles("b.md")),
  ]) {
    const model = scriptedModel([{ text: "done" }]);
    const prompt = definePrompt({ key: "files", text: "Write.", completion }).bind();
    const failed = modelAdapter(model, fakeEnvironment()).evaluate(prompt);
    await expect(failed).rejects.toMatchObject({
      code: "render",
      message: expect.stringMatching(/^The completion checker ".*" uses "Filesystem", which nothing binds/),
    });
    expect(model.callCount).toBe(0);
  }
});

test("KIT-10 files that cannot be looked for are missing, whatever the reason", async () => {
  const outside = await ask(requireFiles("../b.md"), ...Array.from({ length: 10 }, () => "c.md"));
  expect(outside[1]).toMatch(/^These files could not be looked for: \.\.\/b\.md\. /);
});
