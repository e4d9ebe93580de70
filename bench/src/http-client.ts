import { openai as proviso } from "@proviso/adapter-openai";
import { leanFetch } from "@proviso/adapter-openai/node";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, tool } from "ai";
import { OpenAI } from "openai";
import { evaluating, sdkLoop, type Work } from "./contenders.ts";
import { add, inputSchema, instructions, question } from "./scenarios.ts";

// One contender in a process of its own: so many evaluations at once, for so long; prints what came of it.
const [name = "", baseURL = "", concurrencyText = "1", secondsText = "3"] = process.argv.slice(2);
const concurrency = Number(concurrencyText);
const work = contender();

let done = 0;
let counting = false;
let over = false;
const worker = async (): Promise<void> => {
  while (!over) {
    await work();
    if (counting) done += 1;
  }
};
const workers = Array.from({ length: concurrency }, worker);
await new Promise((resolve) => setTimeout(resolve, 1_500));
counting = true;
const startedAt = performance.now();
await new Promise((resolve) => setTimeout(resolve, Number(secondsText) * 1_000));
counting = false;
const perSecond = (done * 1_000) / (performance.now() - startedAt);
const rssMB = process.memoryUsage().rss / 1024 / 1024;
over = true;
await Promise.all(workers);
process.stdout.write(JSON.stringify({ perSecond, rssMB }));
process.exit(0);

function contender(): Work {
  switch (name) {
    case "proviso":
      return evaluating(proviso({ model: "m", api: "chat", apiKey: "x", baseURL }), { structured: false });
    case "proviso lean":
      return evaluating(proviso({ model: "m", api: "chat", apiKey: "x", baseURL, fetch: leanFetch() }), {
        structured: false,
      });
    case "sdk":
      return sdkLoop(new OpenAI({ apiKey: "x", baseURL, maxRetries: 0 }));
    case "ai": {
      const model = createOpenAI({ apiKey: "x", baseURL }).chat("m");
      const tools = { add: tool({ description: "Adds.", inputSchema, execute: async (input) => add(input) }) };
      return () =>
        generateText({ model, instructions, prompt: question, tools, stopWhen: isStepCount(5), maxRetries: 0 });
    }
    default:
      throw new Error(`There is no contender ${name}.`);
  }
}
