import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { testBundles } from "./test-bundles.ts";

/** Before all tests of a run. */
export async function setup(project: TestProject): Promise<void> {
  startGuard();
  project.provide("bundles", await testBundles());
}

/**
 * Nothing that this process starts lives longer than it, even if it is killed. There is nothing to tear down: vitest tears
 * down while its workers still end, and waits a minute for one that is killed meanwhile.
 */
export function startGuard(): ChildProcess {
  const args = [join(import.meta.dirname, "test-guard.mjs"), String(process.pid)];
  const guard = spawn(process.execPath, args, { detached: true, stdio: ["pipe", "ignore", "inherit"] });
  guard.unref();
  (guard.stdin as typeof guard.stdin & { unref(): void }).unref();
  return guard;
}
