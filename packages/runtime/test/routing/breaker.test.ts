import { definePrompt, type ModelFailure, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
const busy: ModelFailure = { failure: "throttle", kind: "server_error", message: "busy" };

/** A model that answers its n-th request as `generate` says: undefined is an answer. */
function model(name: string, generate: (request: number) => Promise<ModelFailure | undefined>) {
  let requests = 0;
  const provider: ModelProvider = {
    ...scriptedModel([]),
    name,
    async generate() {
      const failure = await generate(++requests);
      return failure ?? { message: { role: "assistant", text: name, toolCalls: [] }, finishReason: "stop" };
    },
  };
  return { provider, requests: () => requests };
}

test("RTE-7 an answer to a request that was sent before the breaker opened does not close it", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const slow = Promise.withResolvers<undefined>();
  const a = model("a", (request) => (request === 1 ? slow.promise : Promise.resolve(request === 2 ? busy : undefined)));
  const b = model("b", () => Promise.resolve(undefined));
  const adapters = [a, b].map(({ provider }) => modelAdapter(provider, environment));
  const chain = fallback(adapters, { ...environment, breaker: { failures: 1, openMs: 1_000 } });
  const first = chain.evaluate(prompt);
  expect((await chain.evaluate(prompt)).provider).toBe("b");
  slow.resolve(undefined);
  expect((await first).provider).toBe("a");
  expect((await chain.evaluate(prompt)).provider).toBe("b");
  expect(a.requests()).toBe(2);
  await clock.advance(1_000);
  expect((await chain.evaluate(prompt)).provider).toBe("a");
});

test.each<readonly [how: string, earlyMs: number, provider: string | undefined]>([
  ["2 ms early, the service that a request waited for is asked", 2, "a"],
  ["3 ms early, it is not asked yet", 3, undefined],
])("RTE-7 where the timer rings %s", async (_, earlyMs, provider) => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const early = { now: () => clock.now(), sleep: (ms: number) => clock.advance(Math.max(0, ms - earlyMs)) };
  const a = model("a", (request) => Promise.resolve(request === 1 ? busy : undefined));
  const throttle = { maxAttempts: 3, baseDelayMs: 0 };
  const adapter = modelAdapter(a.provider, { ...environment, clock: early, throttle });
  const chain = fallback([adapter], { ...environment, clock: early, breaker: { failures: 1, openMs: 1_000 } });
  const response = await chain.evaluate(prompt).catch(() => undefined);
  expect(response?.provider).toBe(provider);
});
