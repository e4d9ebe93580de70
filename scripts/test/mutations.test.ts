import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mutations, plantedFor } from "../mutations.ts";

const root = join(import.meta.dirname, "../..");

test("each mutation is another", () => {
  expect(new Set(mutations.map(({ rule, breaks }) => `${rule} ${breaks}`)).size).toBe(mutations.length);
});

test("a rule that no bug is planted for is named", () => {
  expect(plantedFor([])).toEqual({ asked: mutations, without: [] });
  const { asked, without } = plantedFor(["TX-7", "NON-1", "NON-2"]);
  expect(asked).toEqual(mutations.filter(({ rule }) => rule === "TX-7"));
  expect(asked).not.toEqual([]);
  expect(without).toEqual(["NON-1", "NON-2"]);
});

const specs = globSync("specs/*.md", { cwd: root }).map((file) => readFileSync(join(root, file), "utf8"));

/** What the line of a rule says behind its text. */
const ownersOf = (rule: string): string => /Owners?: .*$/.exec(lineOf(rule))?.[0] ?? "";
const lineOf = (rule: string): string =>
  specs.flatMap((text) => text.split("\n")).find((line) => line.startsWith(`- **${rule}**`)) ?? "";

describe("what `pnpm mutations:check` plants can be planted, and its rule has tests in the file it names", () => {
  test.each(mutations)("$rule: $breaks", ({ rule, file, find, replace, test: path }) => {
    const source = readFileSync(join(root, "packages", file), "utf8");
    expect(source.split(find).length - 1, `${file}: ${find}`).toBe(1);
    expect(replace).not.toBe(find);
    expect(ownersOf(rule), "a file in which the rule can be broken is one of its owners").toContain(
      `\`packages/${file}\``,
    );
    expect(existsSync(join(root, path))).toBe(true);
    expect(readFileSync(join(root, path), "utf8")).toMatch(new RegExp(`"[^"\\n]*\\b${rule}\\b`));
  });
});
