import { startSimulator, type SimulatorOptions } from "@proviso/simulator";
import { expect, onTestFinished, test } from "vitest";
import { errorOf, responses } from "./support.ts";

const wrong: readonly [unknown, RegExp][] = [
  [{ latency: 5 }, /there is no "latency".*latencyMs/],
  [{ latencyMs: -1 }, /latencyMs must be a number of milliseconds/],
  [{ latencyMs: "5" }, /latencyMs must be a number of milliseconds/],
  [{ chunkCharacters: 0 }, /chunkCharacters must be a positive whole number/],
  [{ eventMs: Number.NaN }, /eventMs must be/],
  [{ port: 65_536 }, /port must be a whole number from 0 to 65535/],
  [{ steps: {} }, /steps must be a list/],
  [{ steps: ["Hello."] }, /steps\[0\] must be an object/],
  [{ steps: [{ txt: "Hello." }] }, /steps\[0\]: there is no "txt"/],
  [{ steps: [{ text: 5 }] }, /steps\[0\]\.text must be a text/],
  [{ steps: [{ text: "a", finishReason: "tool_calls" }] }, /steps\[0\]\.finishReason must be/],
  [{ steps: [{ toolCalls: [{ tool: "a" }] }] }, /steps\[0\]\.toolCalls\[0\]: there is no "tool"/],
  [{ steps: [{ text: "a", usage: 5 }] }, /steps\[0\]\.usage must be an object/],
  [{ steps: [{ status: 99 }] }, /steps\[0\]\.status must be a whole number from 200 to 599/],
  [{ steps: [{ status: 200, fault: "hang" }] }, /takes no fault/],
  [{ rules: [{ text: "a" }] }, /rules\[0\] must be a function/],
  [{ faults: [{ fault: "hang", at: -1 }] }, /faults\[0\]\.at must be the number of a request/],
  [{ port: "8080" }, /port must be a whole number from 0 to 65535, not "8080"\.$/],
  [{ faults: [{ name: "hang" }] }, /faults\[0\]: there is no "name"/],
  [{ chaos: { seed: 1.5, rate: 1 } }, /seed of chaos must be a whole number/],
  [{ chaos: { seed: 1, rate: 1, faults: [] } }, /empty list/],
  [{ chaos: { seed: 1, rate: 1, by: "time" } }, /"request" or "conversation"/],
  [{ chaos: { seed: 1, rate: 1, fault: "hang" } }, /chaos: there is no "fault"/],
  [{ rateLimit: { requestsPerMinute: 1, rpm: 1 } }, /rateLimit: there is no "rpm"/],
  [{ apiKey: "" }, /apiKey must be a text/],
  [{ onRequest: [] }, /onRequest must be a function/],
  [{ keepRequests: "no" }, /keepRequests must be true or false/],
  [{ clock: { now: () => 0 } }, /clock must have now and sleep/],
  [{ steps: [{ text: "a", output: {} }] }, /steps\[0\] has a text and an output/],
  [{ steps: [{ status: 429, headers: { "retry-after": 5 } }] }, /steps\[0\]\.headers\["retry-after"\] must be a text/],
  [{ steps: [{ status: 200, headers: { "x-a": "1\n2" } }] }, /steps\[0\]\.headers: .*x-a/],
  [{ steps: [{ status: 204, body: {} }] }, /steps\[0\]\.status 204 has no body/],
];

test.each(wrong)("SIM-17 %j is refused at the start", async (options, message) => {
  const starting = startSimulator(options as SimulatorOptions);
  await expect(starting).rejects.toThrow(TypeError);
  await expect(starting).rejects.toThrow(message);
});

test("SIM-17 a rule that gives a promise is a 500 that says so, and nothing is left unhandled", async () => {
  const unhandled: unknown[] = [];
  const hear = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", hear);
  onTestFinished(() => void process.off("unhandledRejection", hear));
  for (const late of [() => Promise.resolve({ text: "late" }), () => Promise.reject(new Error("late"))]) {
    await using simulator = await startSimulator({ rules: [late as never] });
    const answer = await responses(simulator, { input: "a" });
    expect([answer.status, errorOf(answer).message]).toEqual([500, expect.stringContaining("promise")]);
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});
