import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

const run = promisify(execFile);

test("OVR-2 OVR-4 seeded, edited, evaluated; and skipped when the prompt has changed", async () => {
  const program = new URL("../main.ts", import.meta.url).pathname;
  const { stdout } = await run(process.execPath, [...fromSources, program]);
  expect(stdout.trim().split("\n")).toEqual([
    "Be brief.",
    "Be warm.",
    "Be brief, and name the order. (stale and skipped: tone)",
  ]);
});
