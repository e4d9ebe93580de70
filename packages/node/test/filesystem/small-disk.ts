import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A disk of its own in memory, until the test has ended; undefined where this process may not mount one. */
export function smallDisk(options: string): string | undefined {
  const root = mkdtempSync(join(tmpdir(), "proviso-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", root], { stdio: "ignore" });
  } catch {
    rmdirSync(root);
    return undefined;
  }
  onTestFinished(() => {
    execFileSync("umount", ["-l", root]);
    rmdirSync(root);
  });
  return root;
}

/** Why a test is skipped then. */
export const noDisk = "this process may not mount a small disk";
