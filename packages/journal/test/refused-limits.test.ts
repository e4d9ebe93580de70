import { definePrompt, defineTool, type ModelFailure, type ModelProvider } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { expect, it } from "vitest";
import { z } from "zod";

const budget = { maxTotalTokens: 3_000 };

/** A prompt with a tool that counts its runs. */
function counting() {
  const runs = { count: 0 };
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    readOnly: true,
    execute: () => {
      runs.count += 1;
      return "seen";
    },
  });
  return { runs, prompt: definePrompt({ key: "p", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind() };
}

/** A model that refuses each limit; its first answer without one calls the tool; `second`: what it refuses the second with. */
function model(reason: "bad_request" | "context_length", second?: () => ModelFailure) {
  const requests: (number | undefined)[] = [];
  const provider: ModelProvider = {
    name: "m",
    model: "m-1",
    capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
    async generate({ maxOutputTokens, messages }) {
      requests.push(maxOutputTokens);
      if (maxOutputTokens !== undefined) return { failure: "provider", reason, message: "max_tokens is too large" };
      const isFirst = messages.at(-1)?.role !== "tool";
      if (!isFirst && second !== undefined) return second();
      const toolCalls = isFirst ? [{ id: "c1", name: "look", arguments: "{}" }] : [];
      const usage = { inputTokens: 10, outputTokens: 100 };
      return { message: { role: "assistant", text: isFirst ? "" : "end", toolCalls }, finishReason: "stop", usage };
    },
  };
  return { requests, adapter: modelAdapter(provider) };
}

/** A model that refuses each limit, and answers without one. */
function answeringModel() {
  const requests: (number | undefined)[] = [];
  const provider: ModelProvider = {
    name: "answering",
    model: "answering-1",
    capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
    async generate({ maxOutputTokens }) {
      requests.push(maxOutputTokens);
      if (maxOutputTokens !== undefined) return { failure: "provider", reason: "bad_request", message: "too large" };
      return { message: { role: "assistant", text: "yes", toolCalls: [] }, finishReason: "stop" };
    },
  };
  return { requests, adapter: modelAdapter(provider) };
}

for (const reason of ["bad_request", "context_length"] as const) {
  it(`LIM-10 RPL-1 a run whose limit was refused as ${reason} replays, also where its handlers run again`, async () => {
    await using journal = memoryJournal();
    const { runs, prompt } = counting();
    const { requests, adapter } = model(reason);
    const response = await adapter.evaluate(prompt, { run: journal.run("r"), budget });
    expect([response.text, requests]).toEqual(["end", [expect.any(Number), undefined, undefined]]);
    for (const tools of ["recorded", "run"] as const) {
      const again = await adapter.evaluate(prompt, { run: journal.replay("r", { tools }) });
      expect([again.text, again.usage]).toEqual(["end", response.usage]);
      expect(runs.count).toBe(tools === "run" ? 2 : 1);
    }
    expect(requests).toHaveLength(3);
  });

  it(`LIM-10 RSM-1 a run whose limit was refused as ${reason} goes on from what stands`, async () => {
    await using journal = memoryJournal();
    const { runs, prompt } = counting();
    const controller = new AbortController();
    const aborts = (): ModelFailure => {
      controller.abort();
      return { failure: "throttle", kind: "server_error", message: "busy" };
    };
    const { signal } = controller;
    const failing = model(reason, aborts).adapter.evaluate(prompt, { run: journal.run("r"), budget, signal });
    await expect(failing).rejects.toMatchObject({ code: "aborted" });
    const { requests, adapter } = model(reason);
    const response = await adapter.evaluate(prompt, { run: journal.run("r"), budget });
    expect([response.text, response.usage.totalTokens, runs.count]).toEqual(["end", 220, 1]);
    expect(requests).toEqual([expect.any(Number), undefined]);
    const again = await adapter.evaluate(prompt, { run: journal.replay("r") });
    expect([again.text, again.usage]).toEqual(["end", response.usage]);
  });
}

it("LIM-10 RPL-1 a refusal that was not for the limit replays as one", async () => {
  await using journal = memoryJournal();
  const { prompt } = counting();
  const refused: ModelFailure = { failure: "provider", reason: "bad_request", message: "no such setting" };
  for (const [id, make] of [
    ["alone", (adapter: ReturnType<typeof modelAdapter>) => adapter],
    ["chain", (adapter: ReturnType<typeof modelAdapter>) => fallback([adapter])],
  ] as const) {
    const adapter = make(model("bad_request", () => refused).adapter);
    const failure = { reason: "bad_request", message: expect.stringContaining("no such setting") as string };
    await expect(adapter.evaluate(prompt, { run: journal.run(id), budget })).rejects.toMatchObject(failure);
    await expect(adapter.evaluate(prompt, { run: journal.replay(id) })).rejects.toMatchObject(failure);
  }
});

it("LIM-10 RPL-1 a call whose own evaluation had its limit refused runs again in a replay", async () => {
  await using journal = memoryJournal();
  const inner = definePrompt({ key: "inner", text: "Say yes." }).bind();
  const { requests, adapter } = model("bad_request");
  const asks = defineTool({
    name: "look",
    description: "Asks.",
    input: z.object({}),
    readOnly: true,
    execute: async (_, { evaluate }) => (await evaluate(inner, { budget, adapter: answering.adapter })).text,
  });
  const answering = answeringModel();
  const prompt = definePrompt({ key: "p", sections: [{ key: "task", text: "Ask.", tools: [asks] }] }).bind();
  expect((await adapter.evaluate(prompt, { run: journal.run("r") })).text).toBe("end");
  expect(answering.requests).toEqual([expect.any(Number), undefined]);
  for (const tools of ["recorded", "run"] as const) {
    expect((await adapter.evaluate(prompt, { run: journal.replay("r", { tools }) })).text).toBe("end");
  }
  expect([requests.length, answering.requests.length]).toEqual([2, 2]);
});

const context = { window: 100_000 };
/** The model refuses what is longer, in characters. */
const longest = 16_000;
const read = defineTool({
  name: "read",
  description: "Reads a page.",
  input: z.object({ page: z.number() }),
  readOnly: true,
  execute: ({ page }) => `page ${page} `.padEnd(2_000, String(page % 10)),
});
const reading = definePrompt({ key: "reading", sections: [{ key: "task", text: "Read.", tools: [read] }] }).bind();

/**
 * A model that reads pages until it can read a shortened one again. In its ninth turn it refuses what is too long, and
 * before that, where there is a reason for it, a limit.
 */
function reader(reason?: "bad_request" | "context_length") {
  const limits: (number | undefined)[] = [];
  const provider: ModelProvider = {
    name: "reader",
    model: "reader-1",
    capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
    async generate({ messages, maxOutputTokens }) {
      limits.push(maxOutputTokens);
      const text = JSON.stringify(messages);
      const results = messages.filter((message) => message.role === "tool");
      if (results.length === 8) {
        const isRefused = reason !== undefined && maxOutputTokens !== undefined;
        if (isRefused && text.length > longest) return { failure: "provider", reason, message: "too large" };
        if (text.length > longest) return { failure: "provider", reason: "context_length", message: "too long" };
      }
      const ref = /ref\\": \\"([0-9a-f]{8,})/.exec(text)?.[1];
      const next =
        ref === undefined
          ? { name: "read", given: { page: results.length + 1 } }
          : { name: "read_result", given: { ref } };
      const isOver = results.some(({ name }) => name === "read_result");
      const call = { id: `c${results.length}`, name: next.name, arguments: JSON.stringify(next.given) };
      const usage = { inputTokens: 5, outputTokens: 5 };
      const message = { role: "assistant", text: isOver ? "read" : "", toolCalls: isOver ? [] : [call] } as const;
      return { message, finishReason: "stop", usage };
    },
  };
  return { limits, adapter: modelAdapter(provider) };
}

for (const reason of ["bad_request", "context_length"] as const) {
  it(`LIM-10 RPL-1 CTX-8 a turn whose limit was refused as ${reason}, and whose history was shortened then, replays`, async () => {
    await using journal = memoryJournal();
    const { limits, adapter } = reader(reason);
    const given = { context, budget: { maxTotalTokens: 60_000 } };
    expect((await adapter.evaluate(reading, { run: journal.run("r"), ...given })).text).toBe("read");
    expect(limits.slice(8, 11)).toEqual([expect.any(Number), undefined, undefined]);
    for (const tools of ["recorded", "run"] as const) {
      expect((await adapter.evaluate(reading, { run: journal.replay("r", { tools }), context })).text).toBe("read");
    }
  });
}

it("LIM-10 RPL-1 CTX-8 what an evaluation inside a call has shortened decides nothing of the outer one, nor of another inside", async () => {
  await using journal = memoryJournal();
  const inner = reader();
  const asks = defineTool({
    name: "look",
    description: "Asks.",
    input: z.object({ nests: z.boolean() }),
    readOnly: true,
    execute: async ({ nests }, { evaluate }) =>
      nests ? (await evaluate(reading, { adapter: inner.adapter, context })).text : "seen",
  });
  const outer: ModelProvider = {
    name: "outer",
    model: "outer-1",
    capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
    async generate({ messages, maxOutputTokens }) {
      const turn = messages.filter(({ role }) => role === "tool").length + 1;
      const isRefused = turn === 9 && maxOutputTokens !== undefined;
      if (isRefused) return { failure: "provider", reason: "bad_request", message: "too large" };
      const call = { id: `c${turn}`, name: "look", arguments: JSON.stringify({ nests: turn <= 2 }) };
      const message = { role: "assistant", text: "end", toolCalls: turn > 9 ? [] : [call] } as const;
      return { message, finishReason: "stop", usage: { inputTokens: 5, outputTokens: 5 } };
    },
  };
  const prompt = definePrompt({ key: "p", sections: [{ key: "task", text: "Ask.", tools: [asks] }] }).bind();
  const adapter = modelAdapter(outer);
  const response = await adapter.evaluate(prompt, { run: journal.run("r"), budget: { maxTotalTokens: 100_000 } });
  expect([response.text, inner.limits.length]).toEqual(["end", 24]);
  for (const tools of ["recorded", "run"] as const) {
    expect((await adapter.evaluate(prompt, { run: journal.replay("r", { tools }) })).text).toBe("end");
  }
});
