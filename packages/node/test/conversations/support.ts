import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder that is gone when the test is over. */
export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "proviso-conversations-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
