import { globSync, readdirSync, readFileSync } from "node:fs";
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

const tests = "test/**/*.test.ts";

/** All projects; `exhaustive`: those with files that ask `inject("exhaustive")`, and of them these files. */
export function projectsWith({ exhaustive }: { readonly exhaustive: boolean }): TestProjectInlineConfiguration[] {
  const all = [...foldersIn("packages"), ...foldersIn("examples"), "scripts", "simulation"];
  return all.flatMap((root) => {
    const include = exhaustive ? filesThatAsk(root) : [tests];
    // Tests that start processes run two at a time: there are tests about real time beside them.
    const test = { name: root.replace(/^.*\//, ""), include, maxConcurrency: 2 };
    return include.length === 0 ? [] : [{ extends: true as const, root, test }];
  });
}

function filesThatAsk(root: string): string[] {
  const cwd = join(import.meta.dirname, root);
  return globSync(tests, { cwd }).filter((file) =>
    readFileSync(join(cwd, file), "utf8").includes('inject("exhaustive")'),
  );
}

function foldersIn(folder: string): string[] {
  return readdirSync(join(import.meta.dirname, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${folder}/${name}`);
}
