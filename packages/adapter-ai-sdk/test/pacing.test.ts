import { createOpenAI } from "@ai-sdk/openai";
import { definePrompt } from "@proviso/core";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { paced, sharedPace } from "@proviso/runtime/routing";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "yes", text: "Say yes." }).bind();

test.each([false, true])(
  "PAC-2 over the ai ecosystem (streamed: %s) the limits of the headers become the pace",
  async (isStreamed) => {
    const rateLimit = { requestsPerMinute: 3_000, burst: 10 / 3_000 };
    await using simulator = await startSimulator({ rules: [() => ({ text: "yes" })], rateLimit });
    const { chat } = createOpenAI({ apiKey: "key-12345678", baseURL: simulator.baseURL });
    const pace = sharedPace();
    const adapter = paced(aiSdk({ model: chat("m") }), pace);
    const rows = Array.from({ length: 40 }, async () => {
      if (!isStreamed) return (await adapter.evaluate(prompt)).output;
      return (await adapter.stream(prompt).response).output;
    });
    expect(await Promise.all(rows)).toEqual(Array.from({ length: 40 }, () => "yes"));
    expect(pace.state()).toMatchObject({ requestsPerMinute: 3_000, inFlight: 0 });
    expect(simulator.requests.filter(({ status }) => status === 429).length).toBeLessThanOrEqual(4);
  },
);
