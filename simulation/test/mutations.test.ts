import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { mutations } from "../src/mutations.ts";

const source = join(import.meta.dirname, "..", "src");
const run = promisify(execFile);
/** Within so many runs a bug has to be found. */
const seeds = 2_000;

async function simulated(mutation: string): Promise<{ readonly code: number; readonly said: string }> {
  const args = [
    "--conditions=@proviso/source",
    "--import",
    join(source, "mutate.ts"),
    join(source, "main.ts"),
    "--seeds",
    String(seeds),
  ];
  try {
    const { stdout } = await run(process.execPath, args, {
      env: { ...process.env, MUTATION: mutation },
      timeout: 60_000,
    });
    return { code: 0, said: stdout };
  } catch (error) {
    const { code, stderr } = error as { readonly code?: number; readonly stderr?: string };
    return { code: code ?? -1, said: stderr ?? String(error) };
  }
}

test("at least 15 bugs are planted, each where its text stands exactly once", async () => {
  expect(mutations.length).toBeGreaterThanOrEqual(15);
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length);
  for (const { name, file, find } of mutations) {
    const text = await readFile(join(source, "../../packages", file), "utf8");
    expect(text.split(find).length - 1, `${name}: ${find}`).toBe(1);
  }
});

describe("TX-1 the simulation finds each planted bug", () => {
  test.concurrent.each(mutations.map(({ name }) => [name] as const))("%s", { timeout: 90_000 }, async (name) => {
    const { code, said } = await simulated(name);
    expect(said).toMatch(/simulate: seed \d+: |an unhandled rejection/);
    expect(code).toBe(1);
  });
});
