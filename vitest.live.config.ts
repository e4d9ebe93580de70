import { defineConfig } from "vitest/config";
import { sourceConditions } from "./vitest.workspace.ts";

// `pnpm test:live`: what needs a key and the network; skipped, visibly, without one.
export default defineConfig({
  ssr: { resolve: { conditions: sourceConditions } },
  test: { include: ["packages/*/live/**/*.test.ts", "examples/*/live/**/*.test.ts"] },
});
