import { defineConfig } from "vitest/config";
import { projects, sourceConditions } from "./vitest.workspace.ts";

// .ci/run counts the tests from this file.
const jsonReport = process.env["VITEST_JSON_REPORT"];

export default defineConfig({
  ssr: { resolve: { conditions: sourceConditions } },
  test: {
    projects,
    reporters: jsonReport ? ["default", ["json", { outputFile: jsonReport }]] : ["default"],
  },
});
