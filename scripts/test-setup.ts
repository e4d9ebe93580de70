import { spawn } from "node:child_process";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { testBundles } from "./test-bundles.ts";

/** Runs before all tests. Nothing that they start lives longer than the run, even if the run is killed. */
export async function setup(project: TestProject): Promise<() => void> {
  project.provide("bundles", await testBundles());
  return startGuard();
}

/** Ends what this process has started when the process is gone; returns what ends the guard. */
export function startGuard(): () => void {
  const args = [join(import.meta.dirname, "test-guard.mjs"), String(process.pid)];
  const guard = spawn(process.execPath, args, { detached: true, stdio: ["pipe", "ignore", "inherit"] });
  guard.unref();
  (guard.stdin as typeof guard.stdin & { unref(): void }).unref();
  return () => void guard.stdin.end();
}
