import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { LongestFirst } from "./scripts/test-sequencer.ts";
import { sourceConditions, testFiles } from "./vitest.workspace.ts";

// .ci/run counts the tests from this file.
const jsonReport = process.env["VITEST_JSON_REPORT"];

/** `exhaustive`: only the files that ask for it, with every case of theirs; otherwise all files, with a slice of those. */
export function configOf({ exhaustive }: { readonly exhaustive: boolean }): ViteUserConfig {
  return defineConfig({
    ssr: { resolve: { conditions: sourceConditions } },
    test: {
      include: testFiles({ exhaustive }),
      // Tests that start processes run two at a time: there are tests about real time beside them.
      maxConcurrency: 2,
      provide: { exhaustive },
      globalSetup: join(import.meta.dirname, "scripts/test-setup.ts"),
      // Nothing waits for real time but the few tests that are about it: only a busy machine takes this long.
      testTimeout: exhaustive ? 1_800_000 : 300_000,
      hookTimeout: 300_000,
      // What is waited for comes at once, but on a busy machine.
      expect: { poll: { timeout: 120_000 } },
      // What one run has transformed is there for the next.
      fsModuleCache: true,
      // Files share their worker and what it has loaded, so a test leaves nothing behind: no variable, global or mock.
      isolate: false,
      unstubEnvs: true,
      unstubGlobals: true,
      restoreMocks: true,
      // Programs that tests start load the sources too: what one has compiled is there for the next.
      env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/node-compile") },
      // Workers wait for programs that their tests start, half of the time and more: two more than cores leave none idle.
      maxWorkers: availableParallelism() + 2,
      // Tests leave much behind at once: young objects are collected less often where there is room for them.
      execArgv: ["--min-semi-space-size=32", "--max-semi-space-size=64"],
      sequence: { sequencer: LongestFirst },
      reporters: jsonReport ? ["default", ["json", { outputFile: jsonReport }]] : ["default"],
    },
  });
}

export default configOf({ exhaustive: false });
