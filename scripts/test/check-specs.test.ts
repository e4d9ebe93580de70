import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { checkSpecs } from "../check-specs.ts";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function check(files: Record<string, string>): ReturnType<typeof checkSpecs> {
  const root = mkdtempSync(join(tmpdir(), "proviso-specs-"));
  folders.push(root);
  for (const [name, text] of Object.entries({ ...good, ...files })) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return checkSpecs(root);
}

const good: Record<string, string> = {
  "specs/transactions.md":
    "# Transactions\n\n- **TX-1** A failed tool leaves no trace.\n  Owner: `packages/a/src/tx.ts`.\n- **TX-2** (open) Later.\n\n- TX-1: one-1\n- TX-2: one-2\n",
  "packages/a/src/tx.ts": "",
  "packages/a/test/tx.test.ts": 'test("TX-1 a failed tool leaves no trace", () => {});\n',
  "specs/seeds/one.md":
    "| row | what | where |\n|---|---|---|\n| one-1 | `a|b` | TX-1 |\n| one-2 | later | open: TX-2 |\n| one-3 | no | not carried over: old |\n",
};

test("a tree in which every rule has its owner and its test has no faults", () => {
  expect(check({})).toEqual({ faults: [], summary: "specs: 2 rules (1 open), 3 seed rows, 0 faults" });
});

test("an owner that is named twice is a fault", () => {
  const text = (good["specs/transactions.md"] ?? "").replace("Owner: `", "Owners: `packages/a/src/tx.ts`, `");
  expect(check({ "specs/transactions.md": text }).faults).toEqual([
    "specs/transactions.md:3: TX-1 names packages/a/src/tx.ts twice",
  ]);
});

test("a rule without a test is a fault", () => {
  expect(check({ "packages/a/test/tx.test.ts": "" }).faults).toContain(
    "specs/transactions.md:3: TX-1 has no test that carries its id",
  );
});

test("a skipped test and a comment do not count as tests", () => {
  const text = '// test TX-1\ntest.skip("TX-1 later", () => {});\ntest.todo("TX-1 later");\n';
  expect(check({ "packages/a/test/tx.test.ts": text }).faults).toContain(
    "specs/transactions.md:3: TX-1 has no test that carries its id",
  );
});

test.each([
  ["describe", 'describe("TX-1: no trace", () => {});'],
  ["each", 'test.each([\n  [1],\n  [2],\n])("TX-1 holds for %s", () => {});'],
  ["only", "it.only('no trace (TX-1)', () => {});"],
  ["a title on a line of its own", "test(\n  `TX-1 no trace`,\n  () => {},\n);"],
])("a title counts in %s", (_, text) => {
  expect(check({ "packages/a/test/tx.test.ts": text }).faults).toEqual([]);
});

test("a test in an example counts", () => {
  const files = { "packages/a/test/tx.test.ts": "", "examples/b/test/b.test.ts": 'test("TX-1", () => {});' };
  expect(check(files).faults).toEqual([]);
});

test("a test of the scripts counts, but not the one of this check", () => {
  const files = { "packages/a/test/tx.test.ts": "", "scripts/test/a.test.ts": 'test("TX-1", () => {});' };
  expect(check(files).faults).toEqual([]);
  expect(check({ "scripts/test/check-specs.test.ts": 'test("TX-9", () => {});' }).faults).toEqual([]);
});

test("a test that cites an id that no spec has is a fault", () => {
  expect(check({ "packages/a/test/b.test.ts": '\ntest("TX-9 x, and UTF-8", () => {});' }).faults).toEqual([
    "packages/a/test/b.test.ts:2: a test cites TX-9, which no spec has",
  ]);
});

test("a rule whose owner file does not exist, or that names none, is a fault", () => {
  const ties = "- TX-1: one-1\n- TX-2: one-2\n";
  const specs = "- **TX-1** Text. Owner: `packages/a/src/tx.ts`, `packages/a/src/gone.ts`.\n- **TX-2** Text.\n";
  const faults = check({
    "specs/transactions.md": specs + ties,
    "packages/a/test/b.test.ts": 'test("TX-2", () => {});',
  }).faults;
  expect(faults).toEqual([
    "specs/transactions.md:1: TX-1 is owned by packages/a/src/gone.ts, which does not exist",
    "specs/transactions.md:2: TX-2 names no owner file",
  ]);
});

test("an id that is defined twice is a fault", () => {
  expect(check({ "specs/z.md": "- **TX-2** (open) Again.\n" }).faults).toEqual([
    "specs/z.md:1: TX-2 is defined before, at specs/transactions.md:5",
  ]);
});

test("an unknown prefix is a fault", () => {
  expect(check({ "specs/z.md": "- **ZZZ-1** (open) What.\n" }).faults).toEqual([
    "specs/z.md:1: ZZZ-1 has an unknown prefix",
  ]);
});

test("a seed row that names no test and is not marked is a fault", () => {
  const table =
    "| row | where |\n| --- | --- |\n| one-0 | done |\n| one-1 | TX-1 |\n| one-3 | TX-7 |\n| one-2 | TX-2 |\n";
  expect(check({ "specs/seeds/one.md": table }).faults).toEqual([
    'specs/seeds/one.md:3: the last column has no id with a test, nor "open" or "not carried over"',
    "specs/seeds/one.md:5: the row cites TX-7, which no spec has",
    'specs/seeds/one.md:5: the last column has no id with a test, nor "open" or "not carried over"',
    'specs/seeds/one.md:6: the last column has no id with a test, nor "open" or "not carried over"',
  ]);
});

test("a row is tied to the rules it names from both sides", () => {
  const row = (...rows: string[]) => ({
    "specs/seeds/one.md": ["| row | where |", "|---|---|", ...rows, ""].join("\n"),
  });
  const two = "| one-2 | open: TX-2 |";
  expect(check(row("| one-1 | TX-1 |", two)).faults).toEqual([]);
  expect(check(row("| one-1 | TX-1 |", two, "| one-3 | TX-1 |")).faults).toEqual([
    "specs/transactions.md:3: TX-1 does not name one-3, which cites it",
  ]);
  expect(check(row("| one-1 | TX-1, TX-2 |", two)).faults).toEqual([
    "specs/transactions.md:5: TX-2 does not name one-1, which cites it",
  ]);
  expect(check(row("| one-1 | not carried over |", two)).faults).toEqual([
    "specs/seeds/one.md:3: one-1 does not cite TX-1, which names it",
  ]);
  expect(check(row("| one-7 | not carried over |", two)).faults).toEqual([
    "specs/transactions.md:3: TX-1 names one-1, which is no row of specs/seeds",
  ]);
});

test("a row whose rule is gone is a fault, and so is a tie of a rule that is gone", () => {
  const specs = "- **TX-2** (open) Later.\n- TX-1: one-1\n- TX-2: one-2\n";
  expect(check({ "specs/transactions.md": specs, "packages/a/test/tx.test.ts": "" }).faults).toEqual([
    "specs/transactions.md:2: rows are named for TX-1, which is no rule of this file",
    "specs/seeds/one.md:3: the row cites TX-1, which no spec has",
    'specs/seeds/one.md:3: the last column has no id with a test, nor "open" or "not carried over"',
  ]);
});

test("a row without an id of its own is a fault", () => {
  const table =
    "| row | where |\n|---|---|\n| one-1 | TX-1 |\n| one-2 | TX-2: open |\n| one-1 | TX-1 |\n| `x` | open |\n";
  expect(check({ "specs/seeds/one.md": table }).faults).toEqual([
    "specs/seeds/one.md:5: one-1 is a row before, at specs/seeds/one.md:3",
    "specs/seeds/one.md:6: the row does not begin with an id of its own",
  ]);
});

test("a tree without specs is a fault", () => {
  expect(check({ "specs/transactions.md": "", "specs/seeds/one.md": "" }).faults).toContain("specs/: no rule found");
});
