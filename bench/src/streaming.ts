import type { LanguageModelV4 } from "@ai-sdk/provider";
import { openai as proviso } from "@proviso/adapter-openai";
import { definePrompt } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { createOpenAI } from "@ai-sdk/openai";
import { streamText } from "ai";
import { OpenAI } from "openai";
import { median, micros, row, type Row } from "./measure.ts";

const deltas = 2_000;
const prompt = definePrompt({ key: "tell", text: "Tell me." }).bind();

/** CPU time of one delta, the same stream of bytes for everybody: no network in between. */
export async function streaming(quick: boolean): Promise<readonly Row[]> {
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const text = [
    chunk({ role: "assistant", content: "" }),
    ...Array.from({ length: deltas }, () => chunk({ content: "word " })),
    chunk({}, "stop"),
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage })}\n\n`,
    "data: [DONE]\n\n",
  ];
  const encoder = new TextEncoder();
  // As a network gives them: some events together.
  const pieces = Array.from({ length: Math.ceil(text.length / 8) }, (_, at) =>
    encoder.encode(text.slice(at * 8, at * 8 + 8).join("")),
  );
  const fetch = async (): Promise<Response> => {
    const body = new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const client = new OpenAI({ apiKey: "x", maxRetries: 0, fetch: fetch as never });
  const adapter = proviso({ model: "m", api: "chat", apiKey: "x", fetch: fetch as never });
  const model = createOpenAI({ apiKey: "x", fetch: fetch as never }).chat("m") as unknown as LanguageModelV4;
  const contenders: Readonly<Record<string, () => Promise<number>>> = {
    async sdk() {
      let count = 0;
      const stream = await client.chat.completions.create({ model: "m", messages: [], stream: true });
      for await (const event of stream) if (event.choices[0]?.delta.content !== undefined) count += 1;
      return count;
    },
    async proviso() {
      let count = 0;
      const session = createSession();
      session.on("text.delta", () => {});
      for await (const event of adapter.stream(prompt, { session })) if (event.type === "text.delta") count += 1;
      return count;
    },
    async streamText() {
      let count = 0;
      for await (const part of streamText({ model, prompt: "Tell me." }).textStream) if (part !== "") count += 1;
      return count;
    },
  };
  const samples = new Map(Object.keys(contenders).map((name) => [name, [] as number[]]));
  for (let round = -2; round < (quick ? 5 : 11); round++) {
    for (const [name, work] of Object.entries(contenders)) {
      const before = process.cpuUsage();
      const count = await work();
      if (count < deltas) throw new Error(`${name} told ${count} deltas of ${deltas}.`);
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) samples.get(name)?.push((user + system) / deltas);
    }
  }
  const cost = (name: string): number => median(samples.get(name) ?? []);
  const detail = [...samples.keys()].map((name) => `${name} ${micros(cost(name))}`).join(" · ");
  return [
    row(
      "CPU of a streamed delta, events included: proviso / streamText",
      cost("proviso") / cost("streamText"),
      detail,
      "≤ 0.5",
    ),
  ];
}
