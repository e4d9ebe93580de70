import { definePrompt, parseMessages, type FrameworkEvent, type HistoryCompacted } from "@proviso/core";
import { createSession, openFile } from "@proviso/runtime";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { charactersIn } from "../../src/context/size.ts";
import { promptWith, rejection } from "../support.ts";
import { calls, chat, context, isPrefix, modelOf, reader, tokensOf, tooLong } from "./support.ts";

const room = 8_000 - 1_000;

function watched() {
  const session = createSession();
  const compacted: HistoryCompacted[] = [];
  session.on("history.compacted", (event) => void compacted.push(event));
  return { session, compacted };
}

describe("a history of tool turns", () => {
  const run = async (turns: number, policy = context) => {
    const { session, compacted } = watched();
    const { adapter, requests } = modelOf((_, turn) => (turn <= turns ? calls(turn) : { text: "Done." }));
    const prompt = promptWith(reader(1_500));
    const response = await adapter.evaluate(prompt, { context: policy, session, maxTurns: turns + 1 });
    return { requests, compacted, response };
  };

  test("CTX-1 no request passes the room that the window leaves beside an answer", async () => {
    const { requests } = await run(60);
    expect(requests).toHaveLength(61);
    expect(Math.max(...requests.map(tokensOf))).toBeLessThanOrEqual(room);
  });

  test("CTX-6 it is shortened seldom, and between two times each request goes on from the one before", async () => {
    const { requests, compacted, response } = await run(60);
    const breaks = requests
      .slice(1)
      .filter((request, index) => !isPrefix(requests[index]?.messages ?? [], request.messages));
    expect(breaks).toHaveLength(compacted.length);
    expect(compacted.length).toBeGreaterThan(2);
    expect(compacted.length).toBeLessThan(15);
    for (const { after } of compacted) expect(after).toBeLessThanOrEqual(Math.ceil(0.5 * room));
    // For good: the history that is handed on is the one that was sent last.
    expect(isPrefix(requests.at(-1)?.messages.slice(1) ?? [], response.messages)).toBe(true);
  });

  test("CTX-5 the history that is handed on is one that parseMessages accepts, and goes on", async () => {
    const { response } = await run(60);
    expect(parseMessages(JSON.parse(JSON.stringify(response.messages)))).toEqual(response.messages);
  });

  test("CTX-4 results of older turns are stubs first, those of the newest four and the prompt's message are whole", async () => {
    const { requests, compacted } = await run(20);
    const [first] = compacted;
    const after = requests[(first?.turn ?? 0) - 1]?.messages ?? [];
    const results = after.filter((message) => message.role === "tool");
    expect(first).toMatchObject({ why: "threshold", replaced: 0, summarised: false });
    expect(
      results
        .filter(({ text }) => text.startsWith("[Left out: a result of 1500 characters."))
        .map(({ callId }) => callId),
    ).toEqual(first?.elided);
    expect(results.slice(-4).map(({ text }) => text.length)).toEqual([1_500, 1_500, 1_500, 1_500]);
    expect(after[1]).toEqual({ role: "user", text: "## Request\n\nBegin.".split("\n\n").at(-1) });
  });

  test("CTX-4 when stubs do not do, the oldest turns give way to a note that counts their messages", async () => {
    const { requests, compacted } = await run(120);
    expect(compacted.some(({ replaced }) => replaced > 0)).toBe(true);
    const texts = requests.at(-1)?.messages.map(({ text }) => text) ?? [];
    expect(texts.filter((text) => /^\[\d+ earlier messages were left out here\.\]$/.test(text))).toHaveLength(1);
  });

  test("CTX-4 a result that the model has not seen yet stays whole where it fits", async () => {
    const { session, compacted } = watched();
    const { adapter, requests } = modelOf((_, turn) => (turn <= 3 ? calls(turn) : { text: "Done." }));
    const sizes = [6_000, 6_000, 18_000];
    const tool = { ...reader(1), execute: ({ page }: { page: number }) => "r".repeat(sizes[page - 1] ?? 0) };
    await adapter.evaluate(promptWith(tool as never), { context, session });
    expect(compacted).toHaveLength(1);
    const results = requests[3]?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(results.map(({ text }) => text.length > 5_000)).toEqual([false, false, true]);
  });

  test("CTX-4 one that does not fit becomes a stub, which the model can read", async () => {
    const { adapter, requests } = modelOf((_, turn) => (turn <= 1 ? calls(turn) : { text: "Done." }));
    await adapter.evaluate(promptWith(reader(60_000)), { context });
    expect(requests[1]?.messages.at(-1)?.text).toMatch(/^\[Left out: a result of 60000 characters\. read_result/);
  });

  test("CTX-11 history.compacted has the tokens before and after, and is emitted before the turn's request", async () => {
    const { session } = watched();
    const events: FrameworkEvent[] = [];
    session.on("*", (event) => void events.push(event as FrameworkEvent));
    const { adapter, requests } = modelOf((_, turn) => (turn <= 20 ? calls(turn) : { text: "Done." }));
    await adapter.evaluate(promptWith(reader(1_500)), { context, session });
    const place = events.findIndex(({ type }) => type === "history.compacted");
    const event = events[place] as HistoryCompacted;
    expect(event.before).toBeGreaterThan(0.8 * room);
    expect(event.after).toBeLessThanOrEqual(0.5 * room);
    expect(event.elided.length).toBeGreaterThan(0);
    expect(event.transcript).toMatchObject({ kind: "stored", mediaType: "application/json" });
    const before = requests[event.turn - 2]?.messages.slice(1) ?? [];
    const transcript = JSON.parse(await (await openFile(event.transcript)).text()) as unknown[];
    expect(transcript.slice(0, before.length)).toEqual(before);
    expect(transcript).toHaveLength(before.length + 2);
    expect(events[place + 1]).toMatchObject({ type: "provider.requested", turn: event.turn, attempt: 1 });
  });
});

describe("the estimate", () => {
  test("CTX-2 before anything was reported a token is three characters, times 1.1", async () => {
    const { session, compacted } = watched();
    const { adapter } = modelOf(() => ({ text: "Yes." }));
    await adapter.evaluate("And now?", { context, session, messages: chat(12, 1_000) });
    // 24 messages of 1,000 characters and the question, each with 24 around it.
    expect(compacted[0]?.before).toBe(Math.ceil(((24_000 + 8 + 25 * 24) / 3) * 1.1));
  });

  test("CTX-2 what was reported counts for what it covered, and its rate for the rest", async () => {
    const { session, compacted } = watched();
    const usage = { inputTokens: 6_000, outputTokens: 20 };
    const { adapter, requests } = modelOf((_, turn) => (turn === 1 ? { ...calls(1), usage } : { text: "Yes." }));
    const prompt = promptWith(reader(1_500));
    await adapter.evaluate(prompt, { context: { window: 8_000, keepTurns: 0 }, session, messages: chat(2, 3_400) });
    const [event] = compacted;
    expect(event?.turn).toBe(2);
    // 6,020 tokens for the first request and its answer, and the result at their rate, times 1.1.
    const [first] = requests;
    const answer = { role: "assistant", text: "", toolCalls: calls(1).toolCalls ?? [] } as const;
    const covered = charactersIn({ ...first!, messages: [...first!.messages, answer] });
    expect(event?.before).toBe(6_020 + Math.ceil((((1_500 + 24) * 6_020) / covered) * 1.1));
  });

  test("CTX-2 the tools and the output's schema count", async () => {
    const { session, compacted } = watched();
    const { adapter } = modelOf(() => ({ text: "Yes." }));
    const long = { ...reader(10), description: "d".repeat(9_000) };
    await adapter.evaluate(promptWith(long), { context, session, messages: chat(5, 1_000) });
    expect(compacted).toHaveLength(1);
    const answering = modelOf(() => ({ text: '{"sum":1}' }), { capabilities: { tools: true, nativeOutput: true } });
    const output = (description: string) => z.strictObject({ sum: z.number().describe(description) });
    for (const [length, times] of [
      [10, 1],
      [9_000, 2],
    ] as const) {
      const prompt = definePrompt({ ns: "tests", key: "sum", output: output("d".repeat(length)), text: "Add." }).bind();
      await answering.adapter.evaluate(prompt, { context, session, messages: chat(5, 1_000) });
      expect(compacted).toHaveLength(times);
    }
  });

  test("CTX-2 a report of less than a token for 16 characters is not believed", async () => {
    const { session, compacted } = watched();
    const usage = { inputTokens: 10, outputTokens: 5 };
    const { adapter } = modelOf((_, turn) => ({ ...(turn <= 20 ? calls(turn) : { text: "Done." }), usage }));
    await adapter.evaluate(promptWith(reader(1_500)), { context, session });
    expect(compacted.length).toBeGreaterThan(0);
  });

  test("CTX-2 the rate goes with the messages to the next evaluation", async () => {
    const before = watched();
    const { adapter } = modelOf(() => ({ text: "Yes." }));
    const messages = chat(6, 1_500);
    const first = await adapter.evaluate("And now?", { context, messages, session: before.session });
    const { session, compacted } = watched();
    // A third of a token for each character would be too much; a quarter, as was reported, is not.
    await adapter.evaluate("And then?", {
      context: { window: 8_000, compactAt: 0.85 },
      messages: first.messages,
      session,
    });
    expect(before.compacted).toHaveLength(1);
    expect(compacted).toHaveLength(0);
  });
});

describe("the window", () => {
  test("CTX-3 it is the policy's, else the provider's", async () => {
    const told = async (window: number | undefined, contextWindow: number) => {
      const { session, compacted } = watched();
      const { adapter } = modelOf(() => ({ text: "Yes." }), { contextWindow });
      await adapter.evaluate("And now?", { context: { window }, session, messages: chat(10) });
      return compacted.length;
    };
    expect(await told(100_000, 5_000)).toBe(0);
    expect(await told(undefined, 5_000)).toBe(1);
    expect(await told(undefined, 100_000)).toBe(0);
    expect(await told(5_000, 100_000)).toBe(1);
  });

  test("CTX-3 else that of the catalog, by the model's name", async () => {
    const { session, compacted } = watched();
    const fields = { name: "openai", model: "gpt-4", contextWindow: undefined };
    const { adapter } = modelOf(() => ({ text: "Yes." }), fields);
    await adapter.evaluate("And now?", { context: {}, session, messages: chat(12) });
    expect(compacted).toHaveLength(1);
  });

  test("CTX-3 where it is not known the evaluation ends before anything is sent, naming context.window", async () => {
    const { adapter, requests } = modelOf(() => ({ text: "Yes." }), { contextWindow: undefined });
    const error = await rejection(adapter.evaluate("And now?", { context: {} }));
    expect(error).toMatchObject({ code: "render" });
    expect(error.message).toContain("context.window");
    expect(requests).toHaveLength(0);
  });

  test.each([
    [{ window: 0 }, "context.window"],
    [{ compactAt: 1.2 }, "context.compactAt"],
    [{ compactAt: 0.5, compactTo: 0.5 }, "context.compactTo"],
    [{ keepTurns: 1.5 }, "context.keepTurns"],
    [{ toolResultCharacters: 10 }, "context.toolResultCharacters"],
    [{ summary: { maxTokens: 0 } }, "context.summary.maxTokens"],
    [{ summary: { adapter: {} } }, "context.summary.adapter"],
    [{ windows: 8_000 }, "Did you mean window?"],
    [{ window: 1_000 }, "leaves no room beside an answer"],
  ])("CTX-3 a policy that cannot be is refused as the option context: %j", async (given, says) => {
    const { adapter, requests } = modelOf(() => ({ text: "Yes." }));
    const error = await rejection(adapter.evaluate("And now?", { context: given as never }));
    expect(error).toMatchObject({ code: "option", option: "context" });
    expect(error.message).toContain(says);
    expect(requests).toHaveLength(0);
  });
});

test("CTX-1 an answer's share is what the evaluation sets, else the adapter's, else a quarter of the window", async () => {
  const roomOf = async (maxOutputTokens: number | undefined, settings: { readonly maxOutputTokens?: number }) => {
    const capabilities = { tools: true, nativeOutput: false, settings: ["maxOutputTokens"] as const };
    const { adapter } = modelOf(() => ({ text: "Yes." }), { maxOutputTokens, capabilities });
    const error = await rejection(adapter.evaluate("x".repeat(40_000), { context, settings }));
    return Number(/more than the (\d+) that/.exec(error.message)?.[1]);
  };
  expect(await roomOf(1_000, { maxOutputTokens: 500 })).toBe(7_500);
  expect(await roomOf(1_000, {})).toBe(7_000);
  expect(await roomOf(undefined, {})).toBe(6_000);
});

describe("what does not fit", () => {
  test("CTX-7 what cannot be shortened is refused here, with estimate and window, and nothing is sent", async () => {
    const { session, compacted } = watched();
    const { adapter, requests } = modelOf(() => ({ text: "Yes." }));
    const error = await rejection(adapter.evaluate("x".repeat(40_000), { context, session, messages: chat(2) }));
    expect(error).toMatchObject({ code: "provider", reason: "context_length", phase: "request" });
    expect(error.message).toMatch(/about \d+ tokens.*window of 8000 tokens/s);
    expect(requests).toHaveLength(0);
    expect(compacted).toHaveLength(0);
  });

  test("CTX-8 a refused request is sent again with a history of half of compactTo", async () => {
    const { session, compacted } = watched();
    const { adapter, requests } = modelOf((request) => (tokensOf(request) > 2_500 ? tooLong() : { text: "Yes." }));
    const events: FrameworkEvent[] = [];
    session.on("*", (event) => void events.push(event as FrameworkEvent));
    const response = await adapter.evaluate("And now?", { context: { window: 100_000 }, session, messages: chat(12) });
    expect(response.text).toBe("Yes.");
    expect(compacted.map(({ why }) => why)).toEqual(["refused"]);
    expect(compacted[0]?.after).toBeLessThanOrEqual(Math.ceil((compacted[0]?.before ?? 0) * 0.25));
    expect(requests).toHaveLength(2);
    const attempts = events.flatMap((event) => (event.type === "provider.requested" ? [event.attempt] : []));
    expect(attempts).toEqual([1, 2]);
    expect(response.turns).toBe(1);
  });

  test("CTX-8 it is asked again twice in an evaluation, and then the provider's own refusal stands", async () => {
    const { session, compacted } = watched();
    const { adapter, requests } = modelOf(() => tooLong());
    const messages = chat(40);
    const error = await rejection(adapter.evaluate("And now?", { context: { window: 100_000 }, session, messages }));
    expect(error).toMatchObject({ code: "provider", reason: "context_length", status: 400 });
    expect(requests).toHaveLength(3);
    expect(compacted).toHaveLength(2);
  });

  test("CTX-8 a history that cannot be shortened is not asked again", async () => {
    const { adapter, requests } = modelOf(() => tooLong());
    const error = await rejection(adapter.evaluate("And now?", { context }));
    expect(error).toMatchObject({ code: "provider", reason: "context_length", status: 400 });
    expect(requests).toHaveLength(1);
  });

  test("CTX-8 after a refusal later turns keep below what was refused", async () => {
    const { session, compacted } = watched();
    const { adapter } = modelOf((request, turn) =>
      tokensOf(request) > 4_000 ? tooLong() : turn <= 40 ? calls(turn) : { text: "Done." },
    );
    await adapter.evaluate(promptWith(reader(1_500)), { context: { window: 100_000 }, session });
    expect(compacted.map(({ why }) => why).filter((why) => why === "refused")).toHaveLength(1);
    expect(compacted.length).toBeGreaterThan(1);
  });
});

test("CTX-2 CTX-8 what was reported of a history counts no more once it is shortened", async () => {
  const { session, compacted } = watched();
  let isRefused = false;
  const { adapter } = modelOf((_, turn) => {
    if (compacted.length === 1 && !isRefused) {
      isRefused = true;
      return tooLong();
    }
    return turn <= 30 && !isRefused ? calls(turn) : { text: "Done." };
  });
  await adapter.evaluate(promptWith(reader(1_500)), { context, session });
  const [first, second] = compacted;
  expect(compacted.map(({ why }) => why)).toEqual(["threshold", "refused"]);
  // The request that was refused is the one that the first shortening has made, by characters alone, times 1.1.
  expect(second?.before).toBeLessThanOrEqual(Math.ceil((first?.after ?? 0) * 1.1));
  expect(second?.after).toBeLessThan(first?.after ?? 0);
});

test("CTX-6 without context nothing is looked at, and the model's refusal ends the evaluation", async () => {
  const { session, compacted } = watched();
  const { adapter, requests } = modelOf(() => tooLong());
  const error = await rejection(adapter.evaluate("And now?", { session, messages: chat(40) }));
  expect(error).toMatchObject({ reason: "context_length" });
  expect(requests.map(({ messages }) => messages.length)).toEqual([81]);
  expect(compacted).toHaveLength(0);
});
