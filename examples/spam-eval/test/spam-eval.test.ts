import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

vi.setConfig({ testTimeout: 300_000 });

const home = join(import.meta.dirname, "..");
const root = join(home, "..", "..");
const run = promisify(execFile);
const readme = await readFile(join(home, "README.md"), "utf8");
const shown = [...readme.matchAll(/```text\n([^`]+)```/g)].map(([, text]) => text);

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "proviso-spam-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("EVL-50 EVL-51 STA-1 the command prints the table of the README, keeps attempts, and compares with the saved run", async () => {
  const store = join(await folder(), "evals.sqlite");
  const command = [...fromSources, join(root, "packages/cli/src/cli.ts"), "eval", join(home, "spam.eval.ts")];
  const first = await run(process.execPath, [...command, "--store", store]);
  expect(first.stdout).toBe(shown[0]);
  const saved = ["--compare", join(home, "baseline.json"), "--variant", "promoted words"];
  const second = await run(process.execPath, [...command, "--store", store, ...saved]);
  expect(second.stdout).toContain("less the saved run +0  −0.01 … 0.01   0 won, 0 lost");
  expect(second.stdout).toContain("kept         600 attempts of earlier runs\nspent        0 tokens");
});

test("EVL-41 the search promotes the words that are committed", async () => {
  const stored = await folder();
  const { stdout } = await run(process.execPath, [...fromSources, join(home, "promote.ts"), stored]);
  expect(stdout).toBe(shown[1]);
  const file = join("app", "triage", "promoted.json");
  const [committed, made] = await Promise.all(
    [home, stored].map((of, at) => readFile(join(of, at === 0 ? "overrides" : "", file), "utf8")),
  );
  expect(made).toBe(committed);
});

test("EVL-4 the mails are those that the drawing takes: in the order of their hashes", async () => {
  const lines = (await readFile(join(home, "mails.jsonl"), "utf8")).trim().split("\n");
  const rows = lines.map((line) => JSON.parse(line) as { id: string; label: string; text: string });
  const hashes = rows.map(({ id }) => createHash("sha256").update(id).digest("hex"));
  expect(hashes).toEqual(hashes.toSorted());
  expect(rows).toHaveLength(600);
  expect(rows.filter(({ id, label }) => id.startsWith("spam") === (label === "spam"))).toHaveLength(600);
  expect(rows.filter(({ text }) => /[\w.+-]@/.test(text))).toEqual([]);
});
