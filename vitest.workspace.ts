import { readdirSync } from "node:fs";
import { join } from "node:path";
import { defaultServerConditions } from "vite";
import type { TestProjectInlineConfiguration } from "vitest/config";

// vitest 5 no longer reads this file by itself: vitest.config.ts passes the list on.

/** Resolves `@proviso/*` to the packages' TypeScript sources, so that tests need no build. */
export const sourceConditions = ["@proviso/source", ...defaultServerConditions];

function project(name: string, root: string): TestProjectInlineConfiguration {
  return {
    extends: true,
    root,
    // Tests that start processes run two at a time: there are tests about real time beside them.
    test: { name, include: ["test/**/*.test.ts"], maxConcurrency: 2 },
  };
}

function projectsIn(folder: string): TestProjectInlineConfiguration[] {
  return readdirSync(join(import.meta.dirname, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => project(name, `${folder}/${name}`));
}

export const projects = [
  ...projectsIn("packages"),
  ...projectsIn("examples"),
  project("scripts", "scripts"),
  project("simulation", "simulation"),
];
