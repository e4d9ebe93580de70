import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { browserBundle, importOf, sizeBounds, sizeFaults } from "../browser-size.ts";
import { root } from "../packages.ts";

/** A module in a folder of its own, as an import statement names it. */
function moduleOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "proviso-size-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "module.js"), text);
  return JSON.stringify(join(folder, "module.js"));
}

test("DOC-23 a size counts what is imported, and no other package", async () => {
  const file = moduleOf(`
    import { z } from "zod";
    export const used = () => z.string();
    export const other = (${"x".repeat(50)}) => "${"some text ".repeat(20)}";
  `);
  const whole = await browserBundle(`export * from ${file};`);
  const part = await browserBundle(`export { used } from ${file};`);
  expect(part.minified).toBeLessThan(100);
  expect(whole.minified).toBeGreaterThan(part.minified + 200);
  expect(whole.gzipped).toBeGreaterThan(part.gzipped);
});

test("DOC-23 a call at the top of a module counts where nothing of it is imported", async () => {
  const kept = moduleOf(`
    const make = () => globalThis.made.push("${"a long text ".repeat(20)}");
    const made = make();
    export const all = () => made;
    export const small = 1;
  `);
  const { minified } = await browserBundle(`export { small } from ${kept};`);
  expect(minified).toBeGreaterThan(240);
});

test("DOC-23 a size over its bound is a fault, with both numbers", async () => {
  const [first] = sizeBounds;
  expect(await sizeFaults("src", [{ ...first!, most: 10 }])).toEqual([
    expect.stringMatching(/^\* of core has \d{5} bytes, minified and gzipped: at most 10 are allowed$/),
  ]);
  expect(await sizeFaults("src", [{ ...first!, most: 100_000 }])).toEqual([]);
});

test("DOC-23 what is only loaded on demand is counted apart", async () => {
  const lazy = moduleOf(`export const late = "${"a late text ".repeat(20)}";`);
  const file = moduleOf(`export const load = () => import(${lazy});`);
  const { minified, later } = await browserBundle(`export * from ${file};`);
  expect(minified).toBeLessThan(150);
  expect(later).toBeGreaterThan(30);
  const [, runtime] = sizeBounds;
  expect(await sizeFaults("src", [{ ...runtime!, later: 10 }])).toEqual([
    expect.stringMatching(
      /^What \* of runtime loads later has \d{5} bytes, minified and gzipped: at most 10 are allowed$/,
    ),
  ]);
});

test("DOC-23 the sources are within the bounds", async () => {
  expect(await sizeFaults("src")).toEqual([]);
});

test("DOC-23 the guide of runtimes names the sizes that are measured", async () => {
  const page = readFileSync(join(root, "docs/runtimes.md"), "utf8");
  const named = /everything that `core` exports weighs (\d+) KB, everything of `runtime` (\d+) KB/.exec(page);
  const [core, runtime] = await Promise.all(sizeBounds.slice(0, 2).map((one) => browserBundle(importOf(one, "src"))));
  for (const [place, size] of [core, runtime].entries()) {
    expect(Math.abs(Number(named?.[place + 1]) - (size?.gzipped ?? 0) / 1024)).toBeLessThan(1);
  }
});
