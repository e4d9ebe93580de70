import {
  definePrompt,
  defineTool,
  overrideOf,
  trackBudget,
  type EvaluateOptions,
  type Prompt,
  type ProviderAdapter,
} from "@proviso/core";
import {
  defineEval,
  formatReport,
  improve,
  judgeWith,
  notWorse,
  runEval,
  type EvalReport,
  type RunOptions,
} from "@proviso/evals";
import { sqliteEvalStore } from "@proviso/evals/node";
import { memoryJournal } from "@proviso/journal";
import { memoryOverrides, modelAdapter } from "@proviso/runtime";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { attemptServer } from "../src/run/workers.ts";

const inside = definePrompt({ key: "inside", text: "Research it at length." });
const research = defineTool({
  name: "research",
  description: "Asks another model.",
  input: z.object({}),
  execute: async (_input, { evaluate }) => (await evaluate(inside.bind())).text,
});
const withAgent = definePrompt({
  key: "agent",
  params: z.object({ id: z.string() }),
  sections: [{ key: "task", text: "{{id}}: Answer with help.", tools: [research] }],
});
const plain = definePrompt({ key: "plain", params: z.object({ id: z.string() }), text: "{{id}}: Answer alone." });

/** US dollars of an answer of the model: 1,000 tokens each. */
const costs = { inside: 5, alone: 1, turn: 0.1 } as const;

/** It asks for research in its first turn; a request of the research costs most. */
function helped(fails: (text: string) => boolean = () => false): ProviderAdapter {
  return modelAdapter({
    name: "helped",
    model: "helped-1",
    capabilities: { tools: true, nativeOutput: true, reportsCost: true },
    async generate({ messages }) {
      const text = messages.map((message) => message.text).join("\n");
      if (fails(text)) return { failure: "provider", reason: "bad_request", message: "It is refused.", status: 400 };
      const isFirst = !messages.some(({ role }) => role === "tool") && text.includes("with help");
      const costUsd = text.includes("Research") ? costs.inside : text.includes("alone") ? costs.alone : costs.turn;
      return {
        message: {
          role: "assistant",
          text: "done",
          toolCalls: isFirst ? [{ id: "c1", name: "research", arguments: "{}" }] : [],
        },
        finishReason: isFirst ? "tool-calls" : "stop",
        usage: { inputTokens: costUsd * 1_000, outputTokens: 10, costUsd },
      };
    },
  });
}
const data = Array.from({ length: 20 }, (_, at) => ({ id: `r${at}` }));
type Row = (typeof data)[number];
const asking = (rows: readonly Row[] = data, adapter: ProviderAdapter = helped()) =>
  defineEval({
    name: "agents",
    data: rows,
    prompt: ({ id }: Row) => plain.bind({ id }),
    variants: { plain: { adapter }, agent: { adapter, prompt: ({ id }: Row) => withAgent.bind({ id }) } },
    scorers: { ok: () => true },
  });
const ofAgent = (rows: readonly Row[], adapter: ProviderAdapter = helped()) =>
  defineEval({
    name: "agent",
    data: rows,
    prompt: ({ id }: Row) => withAgent.bind({ id }),
    adapter,
    scorers: { ok: () => true },
  });
/** Two turns of the agent, and the research between them. */
const attemptTokens = 2 * 110 + 5_010;

function expectWholeCosts({ spent, variants, differences, attempts }: EvalReport): void {
  expect(spent).toMatchObject({ totalTokens: 20 * (1_010 + attemptTokens), costUsd: expect.closeTo(20 * 6.2) });
  expect(variants["plain"]?.measures.costUsd?.value).toBeCloseTo(1);
  expect(variants["agent"]?.measures.costUsd?.value).toBeCloseTo(5.2);
  expect(differences["agent"]?.["costUsd"]).toMatchObject({ value: expect.closeTo(4.2), wins: 0, losses: 20 });
  const usages = attempts.filter(({ variant }) => variant === "agent").map(({ usage }) => usage.totalTokens);
  expect(usages).toEqual(data.map(() => attemptTokens));
}

describe("evaluations inside the calls of an attempt", () => {
  it("EVL-7 what they spend is the attempt's: in the report, its measures, progress, the budget and the journal", async () => {
    const budget = trackBudget({ maxTotalTokens: 10_000_000, maxCostUsd: 1_000 });
    const journal = memoryJournal();
    const progress: number[] = [];
    const report = await runEval(asking(), {
      budget,
      journal,
      onProgress: ({ spent }) => progress.push(spent.totalTokens),
    });
    expectWholeCosts(report);
    expect(report.spent.totalTokens).toBe(budget.consumed.totalTokens);
    expect(report.spent.costUsd).toBeCloseTo(budget.consumed.costUsd ?? 0);
    expect(progress.at(-1)).toBe(report.spent.totalTokens);
    const runs = report.attempts.flatMap(({ runIds = [] }) => runIds);
    const recorded = await Promise.all(runs.map((id) => journal.describe(id)));
    expect(recorded.reduce((sum, run) => sum + (run?.usage.totalTokens ?? 0), 0)).toBe(report.spent.totalTokens);
    expect(formatReport(report)).toContain("spent        124,800 tokens, 124.0000 US dollars");
  });

  it("EVL-7 EVL-53 they count as much where workers make the attempts", async () => {
    const budget = trackBudget({ maxTotalTokens: 10_000_000 });
    const workers = { run: attemptServer([asking()], {}), close: async () => {} };
    const report = await runEval(asking(), { workers, budget });
    expectWholeCosts(report);
    expect(budget.consumed.totalTokens).toBe(report.spent.totalTokens);
  });

  it("EVL-7 EVL-23 a store keeps what they spent", async () => {
    const folder = await mkdtemp(join(tmpdir(), "nested-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "evals.sqlite");
    for (const isKept of [false, true]) {
      const store = sqliteEvalStore(file);
      const report = await runEval(asking(), { store });
      await store.close();
      if (!isKept) expectWholeCosts(report);
      expect(report.reused).toBe(isKept ? 40 : 0);
      expect(report.variants["agent"]?.measures.costUsd?.value).toBeCloseTo(5.2);
    }
  });

  it("EVL-7 they count where the attempt fails, and in a task with evaluations of its own", async () => {
    const failing = helped((text) => text.includes("done") && text.includes("with help"));
    const failed = await runEval(ofAgent(data.slice(0, 2), failing));
    expect(failed.attempts.map(({ status, usage }) => [status, usage.totalTokens])).toEqual([
      ["failed", 5_120],
      ["failed", 5_120],
    ]);
    const task = defineEval({
      name: "task",
      data: data.slice(0, 1),
      task: async ({ id }: Row, { evaluate }) => {
        await evaluate(plain.bind({ id }));
        return (await evaluate(withAgent.bind({ id }))).text;
      },
      adapter: helped(),
      scorers: { seen: ({ usage }) => usage.totalTokens === 1_010 + attemptTokens },
    });
    const report = await runEval(task);
    expect(report.spent.totalTokens).toBe(1_010 + attemptTokens);
    expect(report.variants["default"]?.scores["seen"]).toBeUndefined();
    expect(report.attempts[0]?.scores).toEqual({ seen: { value: 1 } });
  });

  it("EVL-7 EVL-22 an attempt begins only where the budget has room for what is spent inside, too", async () => {
    // Room for two attempts and a half: without what is inside, a third one would be begun, and cut short.
    const asked: string[] = [];
    const counting = helped((text) => {
      asked.push(text);
      return false;
    });
    const budget = { maxTotalTokens: Math.floor(attemptTokens * 2.5) };
    const report = await runEval(ofAgent(data, counting), { budget, concurrency: 1 });
    expect(report.ended).toEqual({
      why: "budget",
      message: "What is left of the budget does not pay for another attempt.",
    });
    expect([report.attempts.length, asked.length]).toEqual([2, 6]);
  });

  it("EVL-7 an attempt that the budget cuts short counts with what was spent inside", async () => {
    const budget = trackBudget({ maxTotalTokens: 5_125 });
    const report = await runEval(ofAgent(data.slice(0, 1)), { budget });
    expect([report.ended?.why, report.attempts.length]).toEqual(["budget", 0]);
    expect(report.spent.totalTokens).toBe(budget.consumed.totalTokens);
    expect(report.spent.totalTokens).toBeGreaterThan(5_000);
  });

  it("EVL-16 what is spent inside the calls of a judge is the judge's", async () => {
    const verdict = definePrompt({
      key: "verdict",
      output: z.object({ good: z.boolean() }),
      sections: [{ key: "task", text: "Judge with help.", tools: [research] }],
    });
    const referee = modelAdapter({
      name: "referee",
      model: "referee-1",
      capabilities: { tools: true, nativeOutput: true },
      async generate({ messages, tools }) {
        const isFirst = tools.length > 0 && !messages.some(({ role }) => role === "tool");
        const toolCalls = isFirst ? [{ id: "c1", name: "research", arguments: "{}" }] : [];
        const isInside = messages.some(({ text }) => text.includes("Research"));
        return {
          message: { role: "assistant", text: isFirst ? "" : '{"good":true}', toolCalls },
          finishReason: isFirst ? "tool-calls" : "stop",
          usage: { inputTokens: isInside ? 1_000 : 1, outputTokens: 0 },
        };
      },
    });
    const good = judgeWith({ adapter: referee, prompt: () => verdict.bind(), score: ({ good: is }) => is });
    const judged = defineEval({
      name: "judged",
      data: data.slice(0, 3),
      prompt: ({ id }: Row) => plain.bind({ id }),
      adapter: helped(),
      scorers: { good },
    });
    const report = await runEval(judged);
    expect(report.variants["default"]?.spent.judges.totalTokens).toBe(3 * 1_002);
  });

  it("EVL-7 EVL-40 EVL-41 the spending of notWorse and improve has them", async () => {
    const budgetOf = () => trackBudget({ maxTotalTokens: 10_000_000 });
    const seeded = overrideOf(withAgent, "latest");
    const task = { hash: seeded.sections["task"]?.hash ?? "", text: "{{id}}: Please answer with help." };
    const candidate = { tag: "latest", tools: {}, sections: { task } };
    const compared = budgetOf();
    const decide = notWorse(ofAgent(data.slice(0, 4)), { scorer: "ok", margin: 0.5, budget: compared });
    const { spent } = await decide(candidate, undefined);
    expect(spent.totalTokens).toBe(compared.consumed.totalTokens);
    expect(spent.totalTokens).toBe(8 * attemptTokens);
    const budget = budgetOf();
    const searched = await improve(ofAgent(data), {
      train: data.slice(0, 4),
      test: data.slice(4, 8),
      scorer: "ok",
      rounds: 1,
      budget,
      overrides: { store: memoryOverrides(), tag: "latest" },
      propose: async () => [candidate],
    });
    expect(searched.acceptance.spent.totalTokens).toBe(budget.consumed.totalTokens);
  });

  it("EVL-7 an adapter that shows no events is counted by its answers", async () => {
    const real = helped();
    const evaluate = <Output>(prompt: Prompt<Output>, { session: _, ...options }: EvaluateOptions = {}) =>
      real.evaluate(prompt, options);
    const quiet: ProviderAdapter = { ...real, evaluate: evaluate as ProviderAdapter["evaluate"] };
    const options: RunOptions = { concurrency: 1 };
    expect((await runEval(asking(data.slice(0, 2), quiet), options)).spent.totalTokens).toBe(2 * (1_010 + 220));
  });
});
