import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defaultServerConditions } from "vite";

declare module "vitest" {
  interface ProvidedContext {
    /** `pnpm test:exhaustive` runs: a test with very many cases takes all of them, otherwise a slice. */
    exhaustive: boolean;
    /** What a program that a test starts imports first: then all that it imports comes from bundles. */
    bundles: string;
  }
}

/** Resolves `@proviso/*` to the packages' TypeScript sources, so that tests need no build. */
export const sourceConditions = ["@proviso/source", ...defaultServerConditions];

/** One project: what its files share is loaded once in each worker, and no worker waits while another project ends. */
const tests = [
  "packages/*/test/**/*.test.ts",
  "examples/*/test/**/*.test.ts",
  "scripts/test/**/*.test.ts",
  "simulation/test/**/*.test.ts",
];

/** The files of tests; `exhaustive`: those that ask `inject("exhaustive")`. */
export function testFiles({ exhaustive }: { readonly exhaustive: boolean }): string[] {
  if (!exhaustive) return tests;
  return globSync(tests, { cwd: import.meta.dirname }).filter((file) =>
    readFileSync(join(import.meta.dirname, file), "utf8").includes('inject("exhaustive")'),
  );
}
