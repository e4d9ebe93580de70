import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, inject, test } from "vitest";
import { fromSources } from "../../scripts/from-sources.ts";

const script = join(import.meta.dirname, "../src/growth.ts");
const all = [
  ["FS-4", "a glob's stars"],
  ["FS-4", "a glob's braces"],
  ["TOOL-2", "unknown keys of items"],
  ["TOOL-2", "issues and unknown keys of items"],
  ["TOOL-2", "unknown keys of an intersection"],
  ["TOOL-2", "levels of a recursive union"],
  ["OUT-1", "fences of an answer"],
  ["OUT-1", "brackets of an answer"],
  ["OUT-1", "brackets and quotes of an answer"],
  ["STR-4", "wrong values of a streamed answer"],
  ["STR-4", "values of a streamed answer"],
  ["OUT-5", "a repair request"],
  ["RES-4", "a trigger's semicolons"],
  ["RES-4", "quotes of a script"],
  ["PRM-3", "placeholders"],
  ["FS-4", "a search for a text that repeats itself"],
  ["KIT-4", "an edit of a text that repeats itself"],
  ["CMD-4", "what a command prints"],
  ["OAI-10", "calls of a streamed answer"],
] as const;
/** All, or each sixth. */
const readers = all.filter((_, index) => inject("exhaustive") || index % 6 === 0);
const measured = new Map<string, readonly number[]>();

beforeAll(async () => {
  const said = await promisify(execFile)(
    process.execPath,
    [...fromSources, script, ...readers.map(([, name]) => name)],
    {
      timeout: 300_000,
    },
  ).catch((error: { readonly stdout: string }) => error);
  for (const line of said.stdout.split("\n").filter(Boolean)) {
    const { name, times } = JSON.parse(line) as { readonly name: string; readonly times: readonly number[] };
    measured.set(name, times);
  }
}, 900_000);

/** What a busy machine, the collector and the compiler may add, in ms. */
const floor = 200;

test.each(readers)("LIM-9 %s the work grows with the text, and not faster: %s", (_, name) => {
  const [once = Infinity, , four = Infinity] = measured.get(name) ?? [];
  expect(four).toBeLessThanOrEqual(5 * once + floor);
});
