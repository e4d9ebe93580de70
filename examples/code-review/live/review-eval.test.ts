import { openai } from "@proviso/adapter-openai";
import { formatReport, runEval } from "@proviso/evals";
import { expect, test } from "vitest";
import { reviewEval } from "../review.eval.ts";

// `pnpm test:live` with OPENAI_API_KEY: twelve small reviews, some ten thousand tokens each at most.
const hasKey = (process.env["OPENAI_API_KEY"] ?? "") !== "";

test.skipIf(!hasKey)("a real reviewer of the demo's prompt keeps the gates", { timeout: 600_000 }, async () => {
  const adapter = openai({ model: process.env["PROVISO_MODEL"] ?? "gpt-5.4" });
  const report = await runEval(reviewEval(adapter), { budget: { maxTotalTokens: 400_000 } });
  console.log(formatReport(report));
  expect({ ended: report.ended, passes: report.passes }).toEqual({ ended: undefined, passes: true });
});
