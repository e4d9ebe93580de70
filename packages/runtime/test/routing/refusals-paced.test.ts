// What the refusals of a service do to all that share a pace.
import { definePrompt, type ModelFailure, type ModelProvider, type ModelResponse } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { paced, sharedPace } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
const yes: ModelResponse = {
  message: { role: "assistant", text: "yes", toolCalls: [] },
  finishReason: "stop",
  usage: { inputTokens: 10, outputTokens: 5 },
};

test.each([
  ["rate_limit", 4_000, 4_000, 0.995 * 0.85],
  ["rate_limit", undefined, 0, 0.995 * 0.85],
  ["server_error", 4_000, 4_000, 0.995],
  ["server_error", undefined, 0, 0.995],
] as const)(
  "PAC-5 what a refusal of kind %s with a Retry-After of %s does to the others: a wait of %d ms, a share of %d",
  async (kind, retryAfterMs, waitMs, share) => {
    const environment = fakeEnvironment();
    const { clock } = environment;
    const refusal: ModelFailure = { failure: "throttle", kind, message: "later", retry: false, retryAfterMs };
    let answered = 0;
    const askedAt: number[] = [];
    const provider: ModelProvider = {
      ...scriptedModel([]),
      async generate() {
        askedAt.push(clock.now());
        return answered++ === 1 ? refusal : yes;
      },
    };
    const pace = sharedPace({ clock, requestsPerMinute: 6_000_000 });
    const adapter = paced(modelAdapter(provider, environment), pace);
    await adapter.evaluate(prompt);
    await expect(adapter.evaluate(prompt)).rejects.toMatchObject({ code: "throttled", kind });
    expect(pace.state().share).toBeCloseTo(share, 9);
    const others = Promise.all([adapter.evaluate(prompt), adapter.evaluate(prompt)]);
    await clock.advance(10_000);
    await others;
    expect(askedAt).toHaveLength(4);
    for (const at of askedAt.slice(2)) {
      expect(at - (askedAt[1] ?? 0)).toBeGreaterThanOrEqual(waitMs);
      expect(at - (askedAt[1] ?? 0)).toBeLessThan(waitMs + 100);
    }
  },
);
