import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { responses } from "./support.ts";

/** Time that goes on when somebody sleeps. */
function steppedClock(startedAt: number) {
  let now = startedAt;
  const slept: number[] = [];
  const sleep = (ms: number): Promise<void> => {
    slept.push(ms);
    now += ms;
    return Promise.resolve();
  };
  return { now: () => now, sleep, slept };
}

const startedAt = Date.parse("2001-02-03T04:05:06Z");

test("SIM-11 latencies, paces and dates go by the given clock", async () => {
  const clock = steppedClock(startedAt);
  const steps = [{ text: "a".repeat(20), afterMs: 5_000 }];
  await using simulator = await startSimulator({ clock, latencyMs: 60_000, eventMs: 1_000, steps });
  const { headers } = await fetch(`${simulator.baseURL}/responses`, {
    method: "POST",
    headers: { authorization: "Bearer key" },
    body: JSON.stringify({ model: "m", input: "a", stream: true }),
  }).then(async (response) => ({ headers: response.headers, text: await response.text() }));
  expect(clock.slept[0]).toBe(65_000);
  expect(clock.slept.slice(1)).toEqual(Array.from({ length: clock.slept.length - 1 }, () => 1_000));
  expect(clock.slept.length).toBeGreaterThan(5);
  expect(headers.get("date")).toBe("Sat, 03 Feb 2001 04:06:11 GMT");
  expect(headers.get("openai-processing-ms")).toBe("65000");
  expect(simulator.requests[0]).toMatchObject({ atMs: 0, durationMs: 65_000 });
});

test("SIM-16 a bucket fills by the given clock", async () => {
  const clock = steppedClock(startedAt);
  await using simulator = await startSimulator({ clock, rateLimit: { requestsPerMinute: 1 } });
  expect((await responses(simulator, { input: "a" })).status).toBe(200);
  const refused = await responses(simulator, { input: "a" });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
  await clock.sleep(60_000);
  expect((await responses(simulator, { input: "a" })).status).toBe(200);
});

test("SIM-9 a clock of fractions leaves whole milliseconds in the headers", async () => {
  let now = startedAt;
  const clock = { now: () => (now += 0.25), sleep: () => Promise.resolve() };
  await using simulator = await startSimulator({ clock });
  const { headers, body } = await responses(simulator, { input: "a" });
  expect(headers.get("openai-processing-ms")).toMatch(/^\d+$/);
  expect(Number.isInteger(body["created_at"])).toBe(true);
});
