// FINDING (small). LIM-10 "Asked one after another, each carries what those before have left … Where nothing is left none is asked";
// LIM-4 "checked before each request (with nothing left none begins)".
// In a chain, a try that is refused as bad_request while it carries the budget's limit goes out once more without the limit
// WITHOUT looking at the budget again, although the refused request has cost something (it reported usage, or had streamed).
// With one adapter the same repeat goes through limits → reservation and is refused.
// Expected: both end with "budget" after ONE request. Happens: the chain sends a second one, unlimited, and spends 2x the limit.
// Likely: rare (a 400 that costs). Cause: packages/runtime/src/routing/try-under-way.ts `#sentWithin` (lift → `#send(undefined)`).
import { definePrompt, isEvaluationFailure, trackBudget, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
const prompt = definePrompt({ key: "a", sections: [{ key: "a", text: "Hi." }] }).bind();
async function run(chain: boolean) {
  let asked = 0;
  const model: ModelProvider = {
    name: "m", model: "m", capabilities: { tools: true, nativeOutput: true, outputLimit: { least: 1 } },
    async generate() { asked++; return { failure: "provider", reason: "bad_request", message: "no", usage: { inputTokens: 450, outputTokens: 50 } }; },
  };
  const one = modelAdapter(model);
  const budget = trackBudget({ maxTotalTokens: 500 });
  const error = await (chain ? fallback([one]) : one).evaluate(prompt, { budget }).catch((e: unknown) => e);
  return { asked, spent: budget.consumed.totalTokens, code: isEvaluationFailure(error) ? error.code : error };
}
const alone = await run(false), chain = await run(true);
console.log("alone", alone, "chain", chain);
if (chain.asked !== alone.asked || chain.spent > 500) { console.error("FAILS: the chain asked again with nothing left"); process.exit(1); }
