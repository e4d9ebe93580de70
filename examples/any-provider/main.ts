import assert from "node:assert/strict";
import { deadlineIn, isEvaluationFailure, ProvisoError } from "@proviso/core";
import { providerFor } from "./provider.ts";
import { wordCount, wordsOf } from "./word-count.ts";

const text = "Portable means that the same prompt behaves alike everywhere";

try {
  await using provider = await providerFor(process.env["PROVISO_MODEL"]);
  console.log(`Asking ${provider.about}.`);
  const limits = { deadline: deadlineIn(60_000), budget: { maxTotalTokens: 20_000 } };
  const { output, toolResults, turns, usage } = await provider.adapter.evaluate(wordCount.bind({ text }), limits);
  assert.equal(output.words, wordsOf(text).length);
  assert.ok(toolResults.some(({ name, result }) => name === "count_words" && result.success));
  console.log(`${output.words} words, the longest is "${output.longest}".`);
  console.log(`${turns} turns, ${usage.totalTokens} tokens.`);
} catch (error) {
  if (!isEvaluationFailure(error) && !(error instanceof ProvisoError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
