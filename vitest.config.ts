import { defineConfig } from "vitest/config";
import { projects, sourceConditions } from "./vitest.workspace.ts";

// .ci/run counts the tests from this file.
const jsonReport = process.env["VITEST_JSON_REPORT"];

export default defineConfig({
  ssr: { resolve: { conditions: sourceConditions } },
  test: {
    projects,
    // Nothing waits for real time but the few tests that are about it: only a busy machine takes this long.
    testTimeout: 30_000,
    reporters: jsonReport ? ["default", ["json", { outputFile: jsonReport }]] : ["default"],
  },
});
