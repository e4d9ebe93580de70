import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mutations } from "../mutations.ts";

const root = join(import.meta.dirname, "../..");

test("each mutation is another", () => {
  expect(new Set(mutations.map(({ rule, breaks }) => `${rule} ${breaks}`)).size).toBe(mutations.length);
});

describe("what `pnpm mutations:check` plants can be planted, and its rule has tests in the file it names", () => {
  test.each(mutations)("$rule: $breaks", ({ rule, file, find, replace, test: path }) => {
    const source = readFileSync(join(root, "packages", file), "utf8");
    expect(source.split(find).length - 1, `${file}: ${find}`).toBe(1);
    expect(replace).not.toBe(find);
    expect(existsSync(join(root, path))).toBe(true);
    expect(readFileSync(join(root, path), "utf8")).toMatch(new RegExp(`"[^"\\n]*\\b${rule}\\b`));
  });
});
