import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { mutations } from "../src/mutations.ts";
import { runMutations } from "../src/run-mutations.ts";
import { scarceMutations } from "../src/scarce-mutations.ts";
import { simulated } from "./run.ts";

/** Within so many runs a bug has to be found. */
const seeds = 2_000;

test("at least 15 bugs are planted, each where its text stands exactly once", async () => {
  const all = [...mutations, ...runMutations, ...scarceMutations];
  expect(all.length).toBeGreaterThanOrEqual(15);
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  for (const { name, file, find } of all) {
    const text = await readFile(join(import.meta.dirname, "../../packages", file), "utf8");
    expect(text.split(find).length - 1, `${name}: ${find}`).toBe(1);
  }
});

/** Hundreds of seeds do not meet them. */
const rare: readonly string[] = [
  "a late write to a filesystem is accepted",
  "a section's resources are waited for past the limits",
];
/** All of them, or the first of each folder: budgets, requests, tools, transactions, and so on. */
const planted = mutations.filter(
  ({ name, file }, index) =>
    inject("exhaustive") ||
    (index === mutations.findIndex((other) => dirname(other.file) === dirname(file)) && !rare.includes(name)),
);

describe("TX-1 the simulation finds each planted bug", () => {
  test.concurrent.each(planted.map(({ name }) => [name] as const))("%s", { timeout: 900_000 }, async (name) => {
    const { code, said } = await simulated(1, seeds, name);
    expect(said).toMatch(/simulate: seed \d+: |an unhandled rejection/);
    expect(code).toBe(1);
  });
});

describe("RPL-3 recorded runs from a seed find each planted bug", () => {
  const some = inject("exhaustive") ? runMutations : runMutations.slice(0, 1);
  test.each(some.map(({ name }) => [name] as const))("%s", { timeout: 900_000 }, async (name) => {
    const { code, said } = await simulated(1, 400, name, "runs/main.ts");
    expect(said).toMatch(/simulate:runs: seed \d+: /);
    expect(code).toBe(1);
  });
});

describe("FS-3 the simulation of a scarce system finds each planted bug", () => {
  const some = inject("exhaustive") ? scarceMutations : scarceMutations.slice(-1);
  test.each(some.map(({ name }) => [name] as const))("%s", { timeout: 900_000 }, async (name) => {
    const { code, said } = await simulated(1, 400, name, "scarce.ts");
    expect(said).toMatch(/simulate: seed \d+: FS-3 /);
    expect(code).toBe(1);
  });
});
