import { modelFailureFrom, rateLimitFrom } from "@proviso/adapter-kit";
import fc from "fast-check";
import { expect, test } from "vitest";

const stated = (headers: Record<string, string>) => rateLimitFrom(new Headers(headers));

test.each([
  ["none", {}, undefined],
  [
    "OpenAI's",
    { "x-ratelimit-limit-requests": "60", "x-ratelimit-limit-tokens": "150000" },
    { requests: 60, tokens: 150_000 },
  ],
  [
    "OpenAI's with what is left of them",
    {
      "x-ratelimit-limit-requests": "60",
      "x-ratelimit-remaining-requests": "59",
      "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-limit-tokens": "150000",
      "x-ratelimit-remaining-tokens": "149984",
      "x-ratelimit-reset-tokens": "6ms",
    },
    { requests: 60, tokens: 150_000, tokensLeft: { left: 149_984, size: 149_999 } },
  ],
  [
    "OpenAI's with what is left of a limit, and not when it is full again",
    { "x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "0" },
    { tokens: 150_000, tokensLeft: { left: 0, size: 150_000 } },
  ],
  [
    "those of a second, of which one request is used",
    {
      "x-ratelimit-limit-requests": "5",
      "x-ratelimit-remaining-requests": "4",
      "x-ratelimit-reset-requests": "200ms",
      "x-ratelimit-limit-tokens": "150000",
    },
    { tokens: 150_000 },
  ],
  [
    "those whose reset is rounded to nothing",
    {
      "x-ratelimit-limit-requests": "30000",
      "x-ratelimit-remaining-requests": "29999",
      "x-ratelimit-reset-requests": "0s",
    },
    { requests: 30_000 },
  ],
  ["what is left of a limit that is not stated", { "x-ratelimit-remaining-tokens": "10" }, undefined],
  [
    "Groq's, whose requests are those of a day",
    {
      "x-ratelimit-limit-requests": "14400",
      "x-ratelimit-remaining-requests": "14370",
      "x-ratelimit-reset-requests": "2m59.56s",
      "x-ratelimit-limit-tokens": "18000",
      "x-ratelimit-remaining-tokens": "17997",
      "x-ratelimit-reset-tokens": "7.66ms",
    },
    { tokens: 18_000, tokensLeft: { left: 17_997, size: 17_999.298 } },
  ],
  [
    "Anthropic's",
    {
      "anthropic-ratelimit-requests-limit": "50",
      "anthropic-ratelimit-tokens-limit": "90000",
      "anthropic-ratelimit-input-tokens-limit": "50000",
      "anthropic-ratelimit-output-tokens-limit": "10000",
      "anthropic-ratelimit-tokens-remaining": "80000",
      "anthropic-ratelimit-output-tokens-remaining": "9000",
      "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:00Z",
    },
    {
      requests: 50,
      tokens: 90_000,
      inputTokens: 50_000,
      outputTokens: 10_000,
      tokensLeft: { left: 80_000, size: 90_000 },
      outputTokensLeft: { left: 9_000, size: 10_000 },
    },
  ],
  ["the IETF draft's", { "ratelimit-policy": '"burst";q=100;w=60,"fine";q=5;w=1' }, { requests: 100 }],
  ["an older draft's", { "ratelimit-policy": "10;w=1" }, { requests: 600 }],
  ["the IETF draft's of a day", { "ratelimit-policy": '"daily";q=1000;w=86400' }, undefined],
  ["the IETF draft's of bytes", { "ratelimit-policy": '"bytes";q=1000;w=60;qu="content-bytes"' }, undefined],
  [
    "what cannot be read",
    { "x-ratelimit-limit-requests": "many", "anthropic-ratelimit-tokens-limit": "-1" },
    undefined,
  ],
  ["a limit of nothing", { "x-ratelimit-limit-requests": "0" }, undefined],
  ["a number too long", { "x-ratelimit-limit-tokens": "9".repeat(400) }, undefined],
])("PAC-2 the limits that headers state: %s", (_, headers, expected) => {
  expect(stated(headers as Record<string, string>)).toEqual(expected);
});

test("PAC-2 whatever headers hold, a limit is a positive number, or left out", () => {
  const names = [
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-tokens-remaining",
    "ratelimit-policy",
  ];
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9";=,.qwsmh]{0,40}$/));
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), text), (headers) => {
      const rateLimit = rateLimitFrom({ get: (name) => headers[name] ?? null });
      const { tokensLeft, outputTokensLeft, ...limits } = rateLimit ?? {};
      for (const limit of Object.values(limits)) expect(limit).toSatisfy((n: number) => Number.isFinite(n) && n > 0);
      for (const { left, size } of [tokensLeft, outputTokensLeft].filter((stated) => stated !== undefined)) {
        expect(left).toBeGreaterThanOrEqual(0);
        expect(Number.isFinite(size) && size >= left).toBe(true);
      }
    }),
  );
});

test("PAC-2 a refusal carries the limits that its headers state", () => {
  const headers = new Headers({ "x-ratelimit-limit-requests": "60", "retry-after": "2" });
  expect(modelFailureFrom({ status: 429, headers })).toMatchObject({
    retryAfterMs: 2_000,
    rateLimit: { requests: 60 },
  });
  expect(modelFailureFrom({ status: 429, headers: new Headers() })).not.toHaveProperty("rateLimit");
});
