/**
 * What a request costs above `doGenerate` by hand, over loopback: `node --conditions=@proviso/source
 * packages/adapter-ai-sdk/bench/per-call.ts [requests]`. Both take turns, so that a busy machine slows both.
 */
import { createOpenAI } from "@ai-sdk/openai";
import { aiSdkModel } from "@proviso/adapter-ai-sdk";
import type { Message } from "@proviso/core";
import { startSimulator } from "@proviso/simulator";

const requests = Number(process.argv[2] ?? 2_000);
const rounds = 20;

await using simulator = await startSimulator({ rules: [() => ({ text: "Hello." })] });
const model = createOpenAI({ baseURL: simulator.baseURL, apiKey: "none" }).chat("gpt-test");
const provider = aiSdkModel({ model });
const { signal } = new AbortController();
const turns = Array.from({ length: 20 }, (_, at): Message => ({ role: "user", text: `Message ${at}.` }));
const prompt = turns.map(({ text }) => ({ role: "user" as const, content: [{ type: "text" as const, text }] }));

const ways: Readonly<Record<string, () => PromiseLike<unknown>>> = {
  byHand: () => model.doGenerate({ prompt, abortSignal: signal }),
  adapter: () => provider.generate({ messages: turns, tools: [], toolChoice: undefined, output: undefined, signal }),
};

const times: Record<string, number[]> = { byHand: [], adapter: [] };
for (let round = 0; round <= rounds; round++) {
  for (const [name, ask] of Object.entries(ways)) {
    const began = performance.now();
    for (let i = 0; i < requests / rounds; i++) await ask();
    // The first round warms up.
    if (round > 0) times[name]?.push(((performance.now() - began) * 1_000 * rounds) / requests);
  }
}
const median = (name: string): number => times[name]?.toSorted((a, b) => a - b)[rounds / 2] ?? Number.NaN;
const [byHand, adapter] = [median("byHand"), median("adapter")];
const ratio = (adapter / byHand).toFixed(2);
console.log(`doGenerate by hand ${byHand.toFixed(0)} µs, the adapter ${adapter.toFixed(0)} µs: ${ratio} ×`);
