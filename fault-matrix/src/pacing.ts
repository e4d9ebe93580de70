import { definePrompt, systemClock, type Clock, type ProviderAdapter } from "@proviso/core";
import { fakeClock } from "@proviso/runtime/testing";
import { paced, sharedPace } from "@proviso/runtime/routing";
import { startSimulator } from "@proviso/simulator";
import { expect } from "vitest";

const prompt = definePrompt({ key: "yes", text: "Say yes." }).bind();
const rows = 60;
/** 50 a second, of which 10 may come at once. */
const rateLimit = { requestsPerMinute: 3_000, burst: 10 / 3_000 };

/**
 * Sixty rows go at once through one pace to a service that limits them, by one clock that stands still while a request
 * is under way: however slow the machine is, the service is as fast as its limit.
 */
export async function expectTheLimitToBecomeThePace(
  make: (connection: { readonly baseURL: string; readonly clock: Clock }) => ProviderAdapter,
  isStreamed: boolean,
): Promise<void> {
  const clock = fakeClock();
  const startedAt = clock.now();
  await using simulator = await startSimulator({ rules: [() => ({ text: "yes" })], rateLimit, clock });
  const pace = sharedPace({ clock });
  const adapter = paced(make({ baseURL: simulator.baseURL, clock }), pace);
  const asked = Array.from({ length: rows }, async () =>
    isStreamed ? (await adapter.stream(prompt).response).output : (await adapter.evaluate(prompt)).output,
  );
  let settled = false;
  const answers = Promise.all(asked).finally(() => (settled = true));
  while (!settled) {
    if (pace.state().inFlight > 0) await systemClock.sleep(1);
    else await clock.advance(1);
  }
  expect(await answers).toEqual(Array.from({ length: rows }, () => "yes"));
  expect(pace.state()).toMatchObject({ requestsPerMinute: rateLimit.requestsPerMinute, inFlight: 0, queued: 0 });
  // Without a pace two of three are refused, and rows are lost.
  expect(simulator.requests.filter(({ status }) => status === 429)).toEqual([]);
  // Ten at once, and the others at the limit's own speed.
  const elapsedMs = clock.now() - startedAt;
  expect(elapsedMs).toBeGreaterThanOrEqual(980);
  expect(elapsedMs).toBeLessThan(1_100);
}

/** Tokens; of a request, what the simulator counts for its answer. */
const longestAnswer = 500;

/**
 * A service counts the longest answer that each request allows, and reports the few tokens that it answered: what it states
 * to be left is followed, so that it refuses nothing.
 */
export async function expectCountedBoundsToBePaced(
  make: (connection: { readonly baseURL: string; readonly clock: Clock }) => ProviderAdapter,
): Promise<void> {
  const clock = fakeClock();
  const limited = { requestsPerMinute: 60_000, tokensPerMinute: 60_000 };
  await using simulator = await startSimulator({ rules: [() => ({ text: "yes" })], rateLimit: limited, clock });
  const pace = sharedPace({ clock });
  const adapter = paced(make({ baseURL: simulator.baseURL, clock }), pace);
  const settings = { maxOutputTokens: longestAnswer };
  // Twice what a minute allows.
  const count = Math.ceil((2 * limited.tokensPerMinute) / longestAnswer);
  const asked = Array.from({ length: count }, async () => (await adapter.evaluate(prompt, { settings })).output);
  let settled = false;
  const answers = Promise.all(asked).finally(() => (settled = true));
  while (!settled) {
    if (pace.state().inFlight > 0) await systemClock.sleep(1);
    else await clock.advance(20);
  }
  expect(await answers).toEqual(Array.from({ length: count }, () => "yes"));
  expect(simulator.requests.filter(({ status }) => status === 429)).toEqual([]);
}
