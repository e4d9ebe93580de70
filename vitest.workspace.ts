import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defaultServerConditions } from "vite";
import type { TestProjectInlineConfiguration } from "vitest/config";

// vitest 5 no longer reads this file by itself: vitest.config.ts passes the list on.

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

/** What each project's files share is loaded once in each worker; a project for each package loaded it fifteen times. */
const projects = [
  { root: "packages", tests: "*/test/**/*.test.ts" },
  { root: "examples", tests: "*/test/**/*.test.ts" },
  { root: "scripts", tests: "test/**/*.test.ts" },
  { root: "simulation", tests: "test/**/*.test.ts" },
] as const;

/** All projects; `exhaustive`: those with files that ask `inject("exhaustive")`, and of them these files. */
export function projectsWith({ exhaustive }: { readonly exhaustive: boolean }): TestProjectInlineConfiguration[] {
  return projects.flatMap(({ root, tests }) => {
    const include = exhaustive ? filesThatAsk(root, tests) : [tests];
    // Tests that start processes run two at a time: there are tests about real time beside them.
    const test = { name: root, include, maxConcurrency: 2 };
    return include.length === 0 ? [] : [{ extends: true as const, root, test }];
  });
}

function filesThatAsk(root: string, tests: string): string[] {
  const cwd = join(import.meta.dirname, root);
  return globSync(tests, { cwd }).filter((file) =>
    readFileSync(join(cwd, file), "utf8").includes('inject("exhaustive")'),
  );
}
