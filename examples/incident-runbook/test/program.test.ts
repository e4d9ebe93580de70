import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

const run = promisify(execFile);

test("VIS-2 KIT-6 KIT-8 two of twelve sections open, and a third of the tokens is not reached", async () => {
  const program = new URL("../main.ts", import.meta.url).pathname;
  // The program asserts for itself; a failed assertion is an exit code.
  const { stdout, stderr } = await run(process.execPath, [...fromSources, program]);
  expect(stderr).toBe("");
  expect(stdout).toContain("2 of 12 sections");
  expect(stdout).toContain("rotate_logs: denied: Call disk_usage first");
  expect(stdout).toContain('Approved: restart_replica {"host":"db-2"}.');
  expect(Number(/so (\d+) %/.exec(stdout)?.[1])).toBeLessThanOrEqual(33);
});
