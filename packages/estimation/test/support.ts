import type { UsageSample } from "@proviso/estimation";

export const sampleOf = (values: Partial<UsageSample> = {}): UsageSample => ({
  prompt: "tests/ask",
  model: "gpt-4o-mini",
  characters: 100,
  inputTokens: 50,
  cachedInputTokens: 0,
  outputTokens: 20,
  largestOutputTokens: 20,
  turns: 1,
  durationMs: 1_000,
  ...values,
});
