import { definePrompt, defineTool } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { defineRun } from "@proviso/worker";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { attemptRun } from "../src/attempt.ts";
import type { RunProgress } from "../src/progress.ts";

const usage = { inputTokens: 100, outputTokens: 10, costUsd: 1 };
const inside = definePrompt({ key: "inside", text: "Ask." }).bind();
const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  uses: [],
  idempotent: true,
  execute: async (_, context) => (await context.evaluate(inside)).text ?? "",
});
const prompt = definePrompt({ key: "outer", sections: [{ key: "task", text: "Look.", tools: [look] }] });
const looking: ScriptedStep = { toolCalls: [{ name: "look" }], usage };

/** Evaluates the run until it is over, and returns what was reported last of each attempt, and what the journal says. */
async function spentBy(...steps: readonly ScriptedStep[]): Promise<readonly unknown[]> {
  const journal = memoryJournal();
  const kind = defineRun({ prompt, adapter: modelAdapter(scriptedModel(steps), { throttle: { maxAttempts: 1 } }) });
  const spent: unknown[] = [];
  for (let again = true; again;) {
    let last: RunProgress | undefined;
    const report = (progress: RunProgress): void => void (last = progress);
    const signal = new AbortController().signal;
    const end = await attemptRun(kind, { id: "r", params: {} }, { journal, signal, report });
    again = end.kind === "again";
    spent.push([last?.state, last?.usage.totalTokens, last?.usage.costUsd]);
  }
  const described = await journal.describe("r");
  spent.push([described?.usage.totalTokens, described?.usage.costUsd]);
  for await (const { usage: listed } of journal.list()) spent.push([listed.totalTokens, listed.costUsd]);
  return spent;
}

test("FLT-5 VIEW-13 what a run has spent counts evaluations inside its calls: in progress, description and list", async () => {
  const all = [330, 3];
  expect(await spentBy(looking, { text: "Inside.", usage }, { text: "Done.", usage })).toEqual([
    ["executed", ...all],
    all,
    all,
  ]);
});

test("FLT-5 VIEW-13 it counts a request that has a cost and no answer", async () => {
  const cut = { failure: "provider", reason: "invalid_response", message: "Cut.", usage } as const;
  expect(await spentBy(looking, { text: "Inside.", usage }, cut)).toEqual([
    ["failed", 330, 3],
    [330, 3],
    [330, 3],
  ]);
});

test("FLT-5 VIEW-13 it counts earlier attempts once", async () => {
  const busy = { failure: "throttle", kind: "network", message: "The line is cut." } as const;
  expect(await spentBy(looking, { text: "Inside.", usage }, busy, { text: "Done.", usage })).toEqual([
    ["open", 220, 2],
    ["executed", 330, 3],
    [330, 3],
    [330, 3],
  ]);
});

test("FLT-5 VIEW-13 TX-5 a call that a listener vetoed is one step", async () => {
  const session = createSession();
  session.on("tool.invoked", ({ result }) => {
    if (result.success) throw new Error("The audit refuses.");
  });
  let last: RunProgress | undefined;
  const report = (progress: RunProgress): void => void (last = progress);
  const model = scriptedModel([looking, { text: "Inside." }, { text: "Done." }]);
  const journal = memoryJournal();
  const kind = defineRun({ prompt, adapter: modelAdapter(model), options: () => ({ session }) });
  const signal = new AbortController().signal;
  await attemptRun(kind, { id: "r", params: {} }, { journal, signal, report });
  expect([last?.steps, (await journal.describe("r"))?.steps]).toEqual([3, 3]);
});

/** Reports the progress of a run through `note` calls, of which the first attempt is stopped in the first. */
async function interrupted() {
  const journal = memoryJournal();
  const reports: RunProgress[] = [];
  let onCall: (() => Promise<void>) | undefined;
  const note = defineTool({
    name: "note",
    description: "Notes.",
    input: z.object({}),
    uses: [],
    idempotent: true,
    execute: async () => {
      await onCall?.();
      return "Noted.";
    },
  });
  const noting = definePrompt({ key: "noting", sections: [{ key: "task", text: "Note.", tools: [note] }] });
  const model = scriptedModel([
    { toolCalls: [{ name: "note" }], usage },
    { toolCalls: [{ name: "note" }], usage },
    { text: "Done.", usage },
  ]);
  const kind = defineRun({ prompt: noting, adapter: modelAdapter(model) });
  const attempt = (signal: AbortSignal) =>
    attemptRun(kind, { id: "r", params: {} }, { journal, signal, report: (progress) => void reports.push(progress) });
  const stop = new AbortController();
  onCall = async () => {
    stop.abort();
    await new Promise((resolve) => setImmediate(resolve));
  };
  expect((await attempt(stop.signal)).kind).toBe("stopped");
  const said = async () => {
    const described = await journal.describe("r");
    const last = reports.at(-1);
    return {
      progress: [last?.attempt, last?.steps, last?.usage.totalTokens],
      journal: [described?.attempts, described?.steps, described?.usage.totalTokens],
    };
  };
  const goOn = (during: () => Promise<void>) => {
    onCall = during;
    return attempt(new AbortController().signal);
  };
  return { said, goOn, reports };
}

test("FLT-5 VIEW-13 the answer before an interrupted call is counted once, also while its run goes on", async () => {
  const { said, goOn, reports } = await interrupted();
  const seen: unknown[] = [];
  await goOn(async () => {
    const before = reports.length;
    await vi.waitFor(() => expect(reports.length).toBeGreaterThan(before), { timeout: 120_000 });
    seen.push(await said());
  });
  seen.push(await said());
  const alike = (...numbers: readonly number[]) => ({ progress: numbers, journal: numbers });
  expect(seen).toEqual([alike(2, 1, 110), alike(2, 3, 220), alike(2, 5, 330)]);
});

test("FLT-5 VIEW-13 a run that has ended and is handed out again has its steps", async () => {
  const { said, goOn } = await interrupted();
  await goOn(async () => {});
  expect((await goOn(async () => {})).kind).toBe("executed");
  expect(await said()).toEqual({ progress: [2, 5, 330], journal: [2, 5, 330] });
});

test("FLT-5 an attempt that begins again, as another worker began the run meanwhile, leaves nothing that counts", async () => {
  const inner = memoryJournal();
  const adapter = modelAdapter(scriptedModel([{ text: "Done." }, { text: "Another." }]));
  const { signal } = new AbortController();
  await attemptRun(defineRun({ prompt, adapter }), { id: "r", params: {} }, { journal: inner, signal });
  let isLooking = true;
  const describe = (id: string): ReturnType<Journal["describe"]> => {
    if (!isLooking) return inner.describe(id);
    isLooking = false;
    return Promise.resolve(undefined);
  };
  const journal: Journal = { ...inner, describe };
  const session = createSession();
  const kind = defineRun({ prompt, adapter, options: () => ({ session }) });
  const report = vi.fn();
  const end = await attemptRun(kind, { id: "r", params: {} }, { journal, signal, report });
  expect(end).toMatchObject({ kind: "failed", error: { code: "option", option: "session" } });
  expect(isLooking).toBe(false);
  expect(report).toHaveBeenCalledTimes(1);
  await adapter.evaluate("Another one.", { session });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(report).toHaveBeenCalledTimes(1);
});
