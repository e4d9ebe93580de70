import { startSimulator, type SimulatorOptions } from "@proviso/simulator";
import { expect, test } from "vitest";

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
  [{ faults: [{ name: "hang" }] }, /faults\[0\]: there is no "name"/],
  [{ chaos: { seed: 1.5, rate: 1 } }, /seed of chaos must be a whole number/],
  [{ chaos: { seed: 1, rate: 1, faults: [] } }, /empty list/],
  [{ chaos: { seed: 1, rate: 1, by: "time" } }, /"request" or "conversation"/],
];

test.each(wrong)("SIM-17 %j is refused at the start", async (options, message) => {
  const starting = startSimulator(options as SimulatorOptions);
  await expect(starting).rejects.toThrow(TypeError);
  await expect(starting).rejects.toThrow(message);
});
