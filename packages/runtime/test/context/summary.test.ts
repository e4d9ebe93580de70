import { deadlineIn, definePrompt, trackBudget, type HistoryCompacted } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { promptWith, rejection } from "../support.ts";
import { calls, chat, context, modelOf, reader } from "./support.ts";

const summaries = (answer = "They talked about letters.", fields = {}) =>
  modelOf(() => ({ text: answer }), { name: "summariser", model: "summariser-1", ...fields });

function watched() {
  const session = createSession();
  const compacted: HistoryCompacted[] = [];
  session.on("history.compacted", (event) => void compacted.push(event));
  return { session, compacted };
}

test("CTX-9 the oldest turns give way to a summary, which is a nested evaluation in the same budget", async () => {
  const { session, compacted } = watched();
  const writer = summaries(undefined, { contextWindow: 200_000 });
  const { adapter, requests } = modelOf(() => ({ text: "Yes." }));
  const budget = trackBudget({ maxTotalTokens: 1_000_000 });
  const parents: unknown[] = [];
  session.on("prompt.executed", ({ promptName, parent }) => void parents.push([promptName, parent !== undefined]));
  const policy = { ...context, summary: { adapter: writer.adapter } };
  const response = await adapter.evaluate("And now?", { context: policy, session, messages: chat(20), budget });
  expect(requests[0]?.messages[0]).toEqual({
    role: "user",
    text: "[32 earlier messages were left out here. A summary of them:]\nThey talked about letters.",
  });
  expect(compacted[0]).toMatchObject({ replaced: 32, summarised: true });
  expect(parents).toEqual([
    ["proviso/history-summary", true],
    ["app/text", false],
  ]);
  // The summary is paid for by the budget, and is no turn of the evaluation.
  expect(budget.consumed.totalTokens).toBeGreaterThan(response.usage.totalTokens);
  expect(response.turns).toBe(1);
});

test("CTX-9 it is made by the evaluation's own adapter where none is given", async () => {
  const { adapter, requests } = modelOf((request) =>
    request.messages[0]?.role === "system" ? { text: "A summary." } : { text: "Yes." },
  );
  await adapter.evaluate("And now?", { context: { ...context, summary: {} }, messages: chat(20) });
  expect(requests.length).toBeGreaterThan(1);
  expect(requests.at(-1)?.messages[0]?.text).toContain("A summary.");
});

test("CTX-9 it reads whole texts and not stubs, of each result 4,000 characters from both ends", async () => {
  const writer = summaries(undefined, { contextWindow: 200_000 });
  const whole = (page: number): string => `first of ${page} ${"m".repeat(9_000)} last of ${page}`;
  const tool = { ...reader(1), execute: ({ page }: { page: number }) => whole(page) };
  const { adapter } = modelOf((_, turn) => (turn <= 24 ? calls(turn) : { text: "Done." }), { contextWindow: 40_000 });
  const policy = { window: 40_000, keepTurns: 1, summary: { adapter: writer.adapter, maxTokens: 200 } };
  const { session, compacted } = watched();
  await adapter.evaluate(promptWith(tool as never), { context: { ...policy, compactTo: 0.05 }, session, maxTurns: 30 });
  expect(compacted.some(({ replaced }) => replaced > 0)).toBe(true);
  const conversation = writer.requests[0]?.messages.at(-1)?.text ?? "";
  const result = /Result of read: ([^]*?)\n\n(?:Assistant|Result|User|<)/.exec(conversation)?.[1] ?? "";
  expect(result.startsWith("first of 1 mmm")).toBe(true);
  expect(result.endsWith("mmm last of 1")).toBe(true);
  expect(result.length).toBeLessThanOrEqual(4_000);
  expect(result.length).toBeGreaterThan(3_900);
});

test("CTX-9 it is made in pieces that fit its own model's window", async () => {
  const writer = summaries(undefined, { contextWindow: 6_000, maxOutputTokens: 1_000 });
  const { adapter } = modelOf(() => ({ text: "Yes." }));
  const policy = { window: 8_000, summary: { adapter: writer.adapter, maxTokens: 300 } };
  await adapter.evaluate("And now?", { context: policy, messages: chat(40) });
  expect(writer.requests.length).toBeGreaterThan(3);
  for (const { messages } of writer.requests) {
    const characters = messages.reduce((sum, { text }) => sum + text.length, 0);
    expect(characters / 3).toBeLessThan(5_000);
  }
  // Each piece is read with the summary of those before it.
  expect(writer.requests[1]?.messages.at(-1)?.text).toContain(
    "<earlier-summary>\nThey talked about letters.\n</earlier-summary>",
  );
});

test("CTX-9 where it fails a note takes its place and the evaluation goes on", async () => {
  const { session, compacted } = watched();
  const writer = modelOf(() => ({ failure: "provider", reason: "auth", message: "No key." }) as never, {
    name: "summariser",
  });
  const { adapter, requests } = modelOf(() => ({ text: "Yes." }));
  const policy = { ...context, summary: { adapter: writer.adapter } };
  const { text } = await adapter.evaluate("And now?", { context: policy, session, messages: chat(20) });
  expect(text).toBe("Yes.");
  expect(compacted[0]).toMatchObject({ summarised: false });
  expect(requests[0]?.messages[0]?.text).toMatch(/^\[\d+ earlier messages were left out here\.\]$/);
});

test("CTX-9 a limit that is spent meanwhile ends the evaluation", async () => {
  const writer = summaries();
  const { adapter, requests } = modelOf(() => ({ text: "Yes." }));
  const policy = { ...context, summary: { adapter: writer.adapter } };
  const tiny = { maxTotalTokens: 500 };
  const spent = await rejection(adapter.evaluate("And now?", { context: policy, messages: chat(20), budget: tiny }));
  expect(spent).toMatchObject({ code: "budget", phase: "request" });
  expect(requests).toHaveLength(0);

  const controller = new AbortController();
  const aborting = modelOf(() => {
    controller.abort(new Error("enough"));
    return { text: "Too late." };
  });
  const aborted = await rejection(
    adapter.evaluate("And now?", {
      context: { ...context, summary: { adapter: aborting.adapter } },
      messages: chat(20),
      signal: controller.signal,
    }),
  );
  expect(aborted).toMatchObject({ code: "aborted", phase: "request" });
  // The history is as it was.
  expect(aborted["messages"]).toHaveLength(41);
  expect(requests).toHaveLength(0);
});

test("CTX-9 the deadline of the evaluation is the summary's", async () => {
  const hanging = modelOf(() => new Promise(() => {}));
  const { adapter } = modelOf(() => ({ text: "Yes." }));
  const error = await rejection(
    adapter.evaluate("And now?", {
      context: { ...context, summary: { adapter: hanging.adapter } },
      messages: chat(20),
      deadline: deadlineIn(30),
    }),
  );
  expect(error).toMatchObject({ code: "deadline" });
});

test("CTX-9 maxDepth counts the evaluations of tools, not a summary", async () => {
  const { session, compacted } = watched();
  const { adapter } = modelOf(() => ({ text: "Yes." }));
  const policy = { ...context, summary: { adapter: summaries().adapter } };
  await adapter.evaluate("And now?", { context: policy, session, messages: chat(20), maxDepth: 0 });
  expect(compacted[0]).toMatchObject({ summarised: true });
});

test("CTX-10 there is one summary: the next is given it and replaces it", async () => {
  let made = 0;
  const writer = modelOf(() => ({ text: `Summary ${(made += 1)}.` }), { name: "summariser", contextWindow: 200_000 });
  const { adapter, requests } = modelOf(() => ({ text: "a".repeat(1_000) }));
  const policy = { ...context, summary: { adapter: writer.adapter } };
  let messages = chat(3);
  for (let said = 0; said < 40; said++) {
    const response = await adapter.evaluate(`Question ${said} `.padEnd(1_000, "q"), { context: policy, messages });
    messages = [...response.messages];
  }
  expect(made).toBeGreaterThan(2);
  const standIns = messages.filter(({ text }) => text.includes("earlier messages were left out here"));
  expect(standIns).toHaveLength(1);
  expect(standIns[0]?.text).toContain(`Summary ${made}.`);
  expect(writer.requests.at(-1)?.messages.at(-1)?.text).toContain(`<earlier-summary>\nSummary ${made - 1}.`);
  // The count goes on.
  const count = Number(/^\[(\d+) /.exec(standIns[0]?.text ?? "")?.[1]);
  expect(count + messages.length - 1).toBe(6 + 40 * 2);
  expect(requests).toHaveLength(40);
});

test("CTX-10 a note keeps the summary before it", async () => {
  let made = 0;
  const writer = modelOf(
    () =>
      (made += 1) === 1
        ? { text: "The first summary." }
        : ({ failure: "provider", reason: "auth", message: "No." } as never),
    { name: "summariser", contextWindow: 200_000 },
  );
  const { adapter } = modelOf(() => ({ text: "a".repeat(1_000) }));
  const policy = { ...context, summary: { adapter: writer.adapter } };
  let messages = chat(3);
  for (let said = 0; said < 30; said++) {
    messages = [...(await adapter.evaluate("q".repeat(1_000), { context: policy, messages })).messages];
  }
  expect(made).toBeGreaterThan(1);
  const standIn = messages.find(({ text }) => text.includes("earlier messages were left out here"));
  expect(standIn?.text).toMatch(
    /^\[\d+ earlier messages were left out here\. A summary of the first \d+:\]\nThe first summary\.$/,
  );
});

test("CTX-10 a summary has at most maxTokens tokens: what is longer is cut", async () => {
  const writer = summaries("s".repeat(50_000));
  const { adapter, requests } = modelOf(() => ({ text: "Yes." }));
  await adapter.evaluate("And now?", {
    context: { ...context, summary: { adapter: writer.adapter, maxTokens: 100 } },
    messages: chat(20),
  });
  const summary = requests[0]?.messages[0]?.text.split("\n")[1] ?? "";
  expect(summary.length).toBeGreaterThan(200);
  expect(summary.length).toBeLessThanOrEqual(300);
});

test("CTX-10 a summary is cut between characters, also where blanks stand before it", async () => {
  for (const blanks of ["", "\n", "\n\n"]) {
    for (const first of ["", "s"]) {
      const writer = summaries(`${blanks}${first}${"😀".repeat(5_000)}`);
      const { adapter, requests } = modelOf(() => ({ text: "Yes." }));
      await adapter.evaluate("And now?", {
        context: { ...context, summary: { adapter: writer.adapter, maxTokens: 100 } },
        messages: chat(20),
      });
      const summary = requests[0]?.messages[0]?.text.split("\n")[1] ?? "";
      expect(summary).toMatch(/^s?(?:😀)+$/u);
    }
  }
});

test("CTX-9 a prompt of one's own is bound to the conversation and the summary before", async () => {
  const prompt = definePrompt({
    key: "own",
    params: z.object({ conversation: z.string(), earlier: z.string() }),
    text: "Before: {{earlier}} Now: {{conversation}}",
  });
  const writer = summaries();
  const { adapter } = modelOf(() => ({ text: "Yes." }));
  const policy = { ...context, summary: { adapter: writer.adapter, prompt } };
  await adapter.evaluate("And now?", { context: policy, messages: chat(20) });
  expect(writer.requests[0]?.messages.at(-1)?.text).toMatch(/^Before:\s+Now: User: Question 0: q/);
});
