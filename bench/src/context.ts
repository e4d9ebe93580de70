import { definePrompt, defineTool, type Message, type ModelProvider, type ModelRequest } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { z } from "zod";
import { planShortening, type Measured } from "../../packages/runtime/src/context/plan.ts";
import { sizeOf } from "../../packages/runtime/src/context/size.ts";
import { race, row, type Row } from "./measure.ts";

const window = 100_000;
const maxOutputTokens = 16_000;
/** Where a history is shortened, in tokens of input. */
const trigger = 0.8 * (window - maxOutputTokens);
const turns = 240;

/** What a long history costs a service with a cache of prompts, and how long it takes to plan a shortening. */
export async function context(quick: boolean): Promise<readonly Row[]> {
  return [...(await freshTokens()), await planning(quick), ...(await without(quick))];
}

const read = defineTool({
  name: "read",
  description: "Reads a page.",
  input: z.object({ page: z.number() }),
  readOnly: true,
  execute: ({ page }) => `page ${page} `.repeat(1 + (page % 7) * 110),
});
const prompt = definePrompt({
  key: "pages",
  sections: [
    { key: "guide", text: "Read all pages.", tools: [read] },
    { key: "request", text: "Begin.", role: "user" },
  ],
}).bind();

/** A model that reads one page after the other, and counts a token for four characters of its requests. */
function reader(pages: number) {
  const requests: (readonly Message[])[] = [];
  const model: ModelProvider = {
    name: "reader",
    model: "constant-1",
    contextWindow: window,
    maxOutputTokens,
    capabilities: { tools: true, nativeOutput: true },
    async generate({ messages }: ModelRequest) {
      requests.push(messages);
      const page = requests.length;
      const isDone = page > pages;
      const call = { id: `call_${page}`, name: "read", arguments: JSON.stringify({ page }) };
      return {
        message: { role: "assistant", text: isDone ? "Read." : `Now page ${page}.`, toolCalls: isDone ? [] : [call] },
        finishReason: isDone ? "stop" : "tool-calls",
        usage: { inputTokens: tokensOf(messages), outputTokens: 20 },
      };
    },
  };
  return { adapter: modelAdapter(model), requests };
}

function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + Math.ceil(JSON.stringify(message).length / 4), 0);
}

/** Tokens that are not in the prefix that a request shares with the one before it. */
function freshIn(requests: readonly (readonly Message[])[]): number {
  let before: readonly string[] = [];
  let fresh = 0;
  for (const messages of requests) {
    const texts = messages.map((message) => JSON.stringify(message));
    const different = texts.findIndex((text, place) => text !== before[place]);
    if (different !== -1) fresh += tokensOf(messages.slice(different));
    before = texts;
  }
  return fresh;
}

/** A copy of a history in which results are cleared, the oldest first, until `isEnough`; the newest four stay. */
function cleared(messages: readonly Message[], isEnough: (tokens: number) => boolean): readonly Message[] {
  let tokens = tokensOf(messages);
  if (tokens <= trigger) return messages;
  const results = messages.flatMap(({ role }, place) => (role === "tool" ? [place] : [])).slice(0, -4);
  const edited = [...messages];
  for (const place of results) {
    if (isEnough(tokens)) break;
    const before = edited[place] as Message;
    const after = { ...before, text: "[cleared]" };
    tokens -= tokensOf([before]) - tokensOf([after]);
    edited[place] = after;
  }
  return edited;
}

async function freshTokens(): Promise<readonly Row[]> {
  const kept = reader(turns);
  await kept.adapter.evaluate(prompt, { context: {}, maxTurns: turns + 1 });
  const whole = reader(turns);
  await whole.adapter.evaluate(prompt, { maxTurns: turns + 1 });
  const fresh = freshIn(kept.requests);
  const tillItFits = freshIn(whole.requests.map((messages) => cleared(messages, (tokens) => tokens <= trigger)));
  const allButFour = freshIn(whole.requests.map((messages) => cleared(messages, () => false)));
  const [longest, all] = [Math.max(...kept.requests.map(tokensOf)), freshIn(whole.requests)];
  const what = `prompt tokens outside the cached prefix, ${turns} tool turns in ${window} tokens: proviso / clearing results each turn`;
  return [
    row(
      `${what}, the oldest, until it fits`,
      fresh / tillItFits,
      `${fresh} · ${tillItFits}, longest request ${longest}`,
      "≤ 0.15",
    ),
    row(`${what}, all but the newest four`, fresh / allButFour, `${fresh} · ${allButFour}, without a window ${all}`),
  ];
}

/** A history of so many messages: a question, and calls with their results. */
function history(messages: number): Measured {
  const all: Message[] = [{ role: "user", text: "Begin." }];
  for (let call = 0; all.length < messages; call++) {
    const id = `call_${call}`;
    all.push({ role: "assistant", text: "", toolCalls: [{ id, name: "read", arguments: "{}" }] });
    all.push({ role: "tool", callId: id, name: "read", text: "x".repeat(2_000 + (call % 5) * 500), isError: false });
  }
  const sizes = all.map((message) => sizeOf(message));
  const stubSizes = all.map(({ role }, place) => (role === "tool" ? 100 : (sizes[place] as number)));
  return {
    messages: all,
    question: 0,
    sizes,
    stubSizes,
    beside: 1_000,
    standIn: (replaced) => Math.min(200, replaced / 2),
  };
}

async function planning(quick: boolean): Promise<Row> {
  const measured = history(1_001);
  const goal = { target: 20_000, most: 40_000, room: 50_000, keepTurns: 4 };
  const { plan } = await race({ plan: () => planShortening(measured, goal) }, { times: quick ? 10 : 50 });
  const { stubs, replaced } = planShortening(measured, goal);
  return row(
    "planning the shortening of 1,001 messages, ms of CPU",
    plan / 1_000,
    `${replaced.length} give way, ${stubs.length} stubs`,
    "≤ 5",
  );
}

/** What an evaluation pays that has a policy and never needs it. */
async function without(quick: boolean): Promise<readonly Row[]> {
  const play = (options: object) => () => reader(20).adapter.evaluate(prompt, { ...options, maxTurns: 21 });
  const { plain, watched } = await race(
    { plain: play({}), watched: play({ context: {} }) },
    { times: quick ? 20 : 200 },
  );
  const detail = `${plain.toFixed(0)} µs without, ${watched.toFixed(0)} µs with a policy that never shortens`;
  return [row("20 tool turns with a context policy / without", watched / plain, detail)];
}
