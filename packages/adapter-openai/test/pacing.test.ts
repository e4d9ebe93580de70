import { definePrompt } from "@proviso/core";
import { openai } from "@proviso/adapter-openai";
import { paced, sharedPace } from "@proviso/runtime/routing";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "yes", text: "Say yes." }).bind();

test.each([
  ["responses", false],
  ["chat", false],
  ["responses", true],
  ["chat", true],
] as const)(
  "PAC-2 over api %s (streamed: %s) the limits of the headers become the pace, and no row is lost",
  async (api, isStreamed) => {
    // 50 a second, of which 10 may come at once.
    const rateLimit = { requestsPerMinute: 3_000, burst: 10 / 3_000 };
    await using simulator = await startSimulator({ rules: [() => ({ text: "yes" })], rateLimit });
    const pace = sharedPace();
    const adapter = paced(openai({ model: "m", api, apiKey: "key-12345678", baseURL: simulator.baseURL }), pace);
    const rows = Array.from({ length: 60 }, async () => {
      if (!isStreamed) return (await adapter.evaluate(prompt)).output;
      return (await adapter.stream(prompt).response).output;
    });
    expect(await Promise.all(rows)).toEqual(Array.from({ length: 60 }, () => "yes"));
    expect(pace.state()).toMatchObject({ requestsPerMinute: 3_000, inFlight: 0, queued: 0 });
    // Without a pace two of three are refused, and rows are lost.
    const refused = simulator.requests.filter(({ status }) => status === 429);
    expect(refused.length).toBeLessThanOrEqual(6);
  },
);
