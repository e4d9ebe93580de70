// Prints the closing line of .ci/run: node .ci/totals.mjs <vitest's json report> <failed steps> <1 when the tests' command failed>.
// Must run on the machine's own Node, also when the installation failed.
import { readFileSync } from "node:fs";

const [, , report, failedSteps, testsFailed] = process.argv;
let passed = 0;
let failed = 0;

try {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
  passed = numPassedTests;
  failed = numFailedTests;
  for (const file of testResults) {
    // A file that could not be loaded has no failed test of its own.
    if (file.status === "failed" && !file.assertionResults.some(({ status }) => status === "failed")) failed++;
  }
} catch {
  console.error("No test report.");
  if (failedSteps === "0") failed = 1;
}

if (testsFailed === "1" && failed === 0) failed = 1;
failed += Number(failedSteps);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
