import { defineConfig } from "vitest/config";
import { sourceConditions } from "../../../../vitest.workspace.ts";

/** For a vitest that a test starts: the suites beside this file, from the packages' sources. */
export default defineConfig({
  ssr: { resolve: { conditions: sourceConditions } },
  test: { root: import.meta.dirname, include: ["*.suite.ts"], reporters: ["json"], maxWorkers: 1 },
});
