import { openai } from "@proviso/adapter-openai";
import { formatReport, runEval } from "@proviso/evals";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { folders } from "../labelled.ts";
import { reviewEval } from "../review.eval.ts";
import { simulatedReviewer } from "../simulated-reviewer.ts";

/** What a rule can see; the others want understanding, which the simulated reviewer has none of. */
const byRule = ["swallowed error", "any", "double cast", "silenced type error", "open work", "bare except"];

test("EVL-6 EVL-15 the demo's prompt is an eval of itself: the simulated reviewer finds what its rules see, and no more", async () => {
  expect(folders.flatMap(({ faults }) => faults)).toHaveLength(10);
  expect(JSON.stringify(folders.map(({ files }) => files))).not.toContain("//!");
  await using simulator = await startSimulator({ rules: [simulatedReviewer] });
  const adapter = openai({ model: "gpt-5.4", apiKey: "none", baseURL: simulator.baseURL });
  const report = await runEval(reviewEval(adapter), { pacing: "off", budget: { maxTotalTokens: 1_000_000 } });
  expect(report.variants["default"]?.counts).toMatchObject({ planned: 12, answered: 12, unscored: 0 });
  const found = report.attempts.filter(({ scores }) => "found" in scores);
  const all = found.filter(
    ({ scores }) => scores["found"] && "value" in scores["found"] && scores["found"].value === 1,
  );
  expect(all.map(({ rowId }) => rowId).toSorted()).toEqual(byRule.toSorted());
  expect(report.variants["default"]?.scores).toMatchObject({
    found: { value: 0.6, rows: 10 },
    precise: { value: 1, rows: 12 },
    looked: { value: 1 },
    honest: { value: 1 },
  });
  expect(report.gates.map(({ verdict }) => verdict)).toEqual(["passed", "passed"]);
  expect(formatReport(report)).toContain("code-review   12 rows · 1 variant");
});
