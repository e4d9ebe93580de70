import { definePrompt, trackBudget, type CompletionChecker } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const report = (completion: CompletionChecker<{ parts: string[] }>) =>
  definePrompt({ key: "report", output: z.object({ parts: z.array(z.string()) }), text: "Report.", completion }).bind();
const needs = (...parts: string[]): CompletionChecker<{ parts: string[] }> => ({
  name: "parts",
  check: async ({ output }) => {
    const missing = parts.filter((part) => !output.parts.includes(part));
    return missing.length === 0 ? undefined : `Still missing: ${missing.join(", ")}.`;
  },
});
const answers = (...all: readonly (readonly string[])[]) => scriptedModel(all.map((parts) => ({ output: { parts } })));

test("TOOL-12 a checker that misses something adds a user turn that says so", async () => {
  const model = answers(["a"], ["a", "b"]);
  const { output, turns } = await modelAdapter(model, fakeEnvironment()).evaluate(report(needs("a", "b")));
  expect([output, turns]).toEqual([{ parts: ["a", "b"] }, 2]);
  expect(model.requests[1]?.messages.at(-1)).toEqual({ role: "user", text: "Still missing: b." });
});

test("TOOL-12 at most 10 times: then the answer is taken as it is", async () => {
  const model = answers(...Array.from({ length: 11 }, () => []));
  const { output, turns } = await modelAdapter(model, fakeEnvironment()).evaluate(report(needs("a")));
  expect([output, turns]).toEqual([{ parts: [] }, 11]);
  model.assertDone();
});

test("TOOL-12 not when a limit is spent: the answer is worth more than an error", async () => {
  const usage = { inputTokens: 500, outputTokens: 500 };
  for (const options of [{ maxTurns: 1 }, { budget: { maxTotalTokens: 1_000 } }]) {
    const model = scriptedModel([{ output: { parts: ["x"] }, usage }]);
    const { output } = await modelAdapter(model, fakeEnvironment()).evaluate(report(needs("a")), options);
    expect(output).toEqual({ parts: ["x"] });
  }
});

test("TOOL-12 not when the check itself has spent the limit", async () => {
  const usage = { inputTokens: 500, outputTokens: 500 };
  const budget = trackBudget({ maxTotalTokens: 2_000 });
  const dear: CompletionChecker<{ parts: string[] }> = {
    name: "dear",
    async check() {
      await modelAdapter(scriptedModel([{ text: "No.", usage }])).evaluate("Is it complete?", { budget });
      return "Still missing: b.";
    },
  };
  const model = scriptedModel([{ output: { parts: ["a"] }, usage }]);
  const { output } = await modelAdapter(model, fakeEnvironment()).evaluate(report(dear), { budget });
  expect([output, budget.consumed.totalTokens]).toEqual([{ parts: ["a"] }, 2_000]);
});

test("TOOL-12 a checker that throws is logged, and the answer taken", async () => {
  const logged: string[] = [];
  const log = (_: object, message: string) => void logged.push(message);
  const logger = { debug() {}, info() {}, warn: log, error: log };
  const throws: CompletionChecker<{ parts: string[] }> = {
    name: "broken",
    check: () => {
      throw new Error("no");
    },
  };
  const { output } = await modelAdapter(answers(["x"]), { logger }).evaluate(report(throws));
  expect([output, logged]).toEqual([{ parts: ["x"] }, ["completion.failed"]]);
});

test("LIM-2 a checker that never answers is left behind at an abort", async () => {
  const environment = fakeEnvironment();
  const controller = new AbortController();
  const hangs: CompletionChecker<{ parts: string[] }> = { name: "hangs", check: () => new Promise(() => {}) };
  const evaluating = modelAdapter(answers(["x"]), environment)
    .evaluate(report(hangs), { signal: controller.signal, session: createSession() })
    .catch((error: { code?: string }) => error.code);
  await environment.clock.advance(1);
  controller.abort();
  await environment.clock.advance(1);
  expect(await evaluating).toBe("aborted");
});
