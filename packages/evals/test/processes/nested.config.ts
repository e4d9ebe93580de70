import { defineConfig } from "vitest/config";
import { sourceConditions } from "../../../../vitest.workspace.ts";

/** For a vitest that a test starts: the suites beside this file. Node itself loads the packages, from their bundles. */
export default defineConfig({
  ssr: { resolve: { conditions: sourceConditions } },
  test: {
    root: import.meta.dirname,
    include: ["*.suite.ts"],
    reporters: ["json"],
    maxWorkers: 1,
    execArgv: JSON.parse(process.env["FROM_SOURCES"] ?? "[]") as string[],
    server: { deps: { external: [/@proviso/, /\/packages\/[a-z-]+\/src\//] } },
  },
});
