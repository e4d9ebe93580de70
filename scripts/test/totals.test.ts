import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const script = join(import.meta.dirname, "../../.ci/totals.mjs");

type Given = readonly [failedSteps: number, failedCommands: number, ...reports: readonly (object | undefined)[]];

/** The lines and the exit code for these reports. */
function totals([failedSteps, failedCommands, ...reports]: Given) {
  const folder = mkdtempSync(join(tmpdir(), "proviso-totals-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = reports.map((report, index) => {
    const file = join(folder, `${index}.json`);
    if (report !== undefined) writeFileSync(file, JSON.stringify(report));
    return file;
  });
  const args = [script, String(failedSteps), String(failedCommands), ...files];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { lines: stdout.trim().split("\n"), status };
}

const report = (numPassedTests: number, numFailedTests: number, testResults: readonly object[] = []) => ({
  numPassedTests,
  numFailedTests,
  testResults,
});
const unloaded = { name: "/a.test.ts", status: "failed", message: "It has a fault.", assertionResults: [] };

test.each([
  ["both runs are added up", [0, 0, report(5, 0), report(7, 0)], "12 passed, 0 failed"],
  [
    "failures of both count, and the command that failed for them does not",
    [0, 2, report(5, 1), report(7, 2)],
    "12 passed, 3 failed",
  ],
  ["a step that failed counts as one", [2, 0, report(5, 0), report(7, 0)], "12 passed, 2 failed"],
  [
    "a file that could not be loaded counts as one",
    [0, 1, report(5, 0, [unloaded]), report(7, 0)],
    "12 passed, 1 failed",
  ],
  [
    "a command that failed without a failed test counts as one",
    [0, 2, report(5, 1), report(7, 0)],
    "12 passed, 2 failed",
  ],
  ["a report that is lacking counts as one", [0, 1, report(5, 0), undefined], "5 passed, 1 failed"],
  ["after a failed installation there are no reports", [1, 0, undefined, undefined], "0 passed, 1 failed"],
] as const satisfies readonly (readonly [string, Given, string])[])("the last line of CI: %s", (_, given, expected) => {
  const { lines, status } = totals(given);
  expect(lines.at(-1)).toBe(expected);
  expect(status).toBe(expected.endsWith(" 0 failed") ? 0 : 1);
});

test("CI names each test that failed, and says why, right before its last line", () => {
  const failed = { status: "failed", fullName: "a wish comes true", failureMessages: ["Error: it did not"] };
  const passed = { status: "passed", fullName: "another", failureMessages: [] };
  const file = { name: "/b.test.ts", status: "failed", message: "", assertionResults: [failed, passed] };
  expect(totals([0, 1, report(5, 1, [file, unloaded])]).lines).toEqual([
    "FAILED /b.test.ts › a wish comes true",
    "Error: it did not",
    "FAILED /a.test.ts",
    "It has a fault.",
    "5 passed, 2 failed",
  ]);
});
