// Prints the tests that failed and the closing line of .ci/run: node .ci/totals.mjs <failed steps> <failed commands of tests> <vitest's json report>...
// Must run on the machine's own Node, also when the installation failed.
import { readFileSync } from "node:fs";

const [, , failedSteps, failedCommands, ...reports] = process.argv;
let passed = 0;
let failed = 0;
/** Reports in which something failed. */
let red = 0;

/** Printed last, because a long log may be shown without its beginning. */
function printFailure(name, messages) {
  console.log(`FAILED ${name}\n${messages.join("\n").slice(0, 2_000)}`);
}

for (const report of reports) {
  const before = failed;
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
    passed += numPassedTests;
    failed += numFailedTests;
    for (const file of testResults) {
      const failedTests = file.assertionResults.filter(({ status }) => status === "failed");
      // A file that could not be loaded has no failed test of its own.
      if (file.status === "failed" && failedTests.length === 0) {
        failed++;
        printFailure(file.name, [file.message]);
      }
      for (const { fullName, failureMessages } of failedTests)
        printFailure(`${file.name} › ${fullName}`, failureMessages);
    }
  } catch {
    console.error(`No test report ${report}.`);
    if (failedSteps === "0") failed++;
  }
  if (failed > before) red++;
}

// A command that failed although its report names nothing: an unhandled rejection, say.
failed += Math.max(0, Number(failedCommands) - red) + Number(failedSteps);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
