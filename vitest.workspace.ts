import { defaultServerConditions } from "vite";
import type { TestProjectInlineConfiguration } from "vitest/config";

// vitest 5 no longer reads this file by itself: vitest.config.ts passes the list on.

/** Resolves `@proviso/*` to the packages' TypeScript sources, so that tests need no build. */
export const sourceConditions = ["@proviso/source", ...defaultServerConditions];

function project(name: string, root: string): TestProjectInlineConfiguration {
  return {
    extends: true,
    root,
    test: { name, include: ["test/**/*.test.ts"] },
  };
}

export const projects = [
  project("core", "packages/core"),
  project("runtime", "packages/runtime"),
  project("adapter-openai", "packages/adapter-openai"),
  project("simulator", "packages/simulator"),
  project("code-review", "examples/code-review"),
  project("scripts", "scripts"),
];
