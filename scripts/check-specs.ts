/**
 * Holds specs/ and the tests together: `node scripts/check-specs.ts [root]` prints one line per fault and a summary, and
 * exits 1 when there is a fault.
 *
 * - A rule is a line `- **TX-1** text. Owner: \`path\`.` in specs/ (not in specs/seeds/); `- **TX-1** (open) text` is not built yet.
 * - A test carries the ids in its title: `test("TX-1 a failed tool leaves no trace", …)`. Skipped tests do not count.
 * - In specs/seeds/, the last column of each table row names an id that has a test, or says `open` or `not carried over`.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const prefixes =
  "PRM VIS OVR TOOL TX LOOP OUT THR LIM STR EVT SES RES FS ERR PRO SEC OPT SIM OAI KIT AIS CMD EST BLK LLC DEMO DOC AGT".split(
    " ",
  );
const idPattern = new RegExp(`\\b(?:${prefixes.join("|")})-\\d+\\b`, "g");
// The test of this script cites rules of the trees that it makes up.
const testFiles = ["packages/*/test/**/*.ts", "examples/*/test/**/*.ts", "scripts/test/!(check-specs).test.ts"];

interface Rule {
  id: string;
  open: boolean;
  /** Paths from the root. */
  owners: string[];
  /** `specs/file.md:12` */
  place: string;
}

export interface SpecsReport {
  faults: string[];
  summary: string;
}

export function checkSpecs(root: string): SpecsReport {
  const faults: string[] = [];
  const rules = readRules(root, faults);
  const tested = readTests(root);
  const rows = checkSeeds(root, rules, tested, faults);

  for (const rule of rules.values()) checkRule(root, rule, tested, faults);
  for (const [id, places] of tested) {
    if (!rules.has(id)) faults.push(`${places[0]}: a test cites ${id}, which no spec has`);
  }
  if (rules.size === 0) faults.push("specs/: no rule found");

  const open = [...rules.values()].filter((rule) => rule.open).length;
  const summary = `specs: ${rules.size} rules (${open} open), ${rows} seed rows, ${faults.length} faults`;
  return { faults, summary };
}

function checkRule(root: string, rule: Rule, tested: Map<string, string[]>, faults: string[]): void {
  if (rule.open) return;
  if (!tested.has(rule.id)) faults.push(`${rule.place}: ${rule.id} has no test that carries its id`);
  if (rule.owners.length === 0) faults.push(`${rule.place}: ${rule.id} names no owner file`);
  for (const owner of rule.owners) {
    if (!existsSync(join(root, owner)))
      faults.push(`${rule.place}: ${rule.id} is owned by ${owner}, which does not exist`);
  }
}

function readRules(root: string, faults: string[]): Map<string, Rule> {
  const rules = new Map<string, Rule>();
  for (const file of globSync("specs/**/*.md", { cwd: root }).toSorted()) {
    if (isSeed(file)) continue;
    for (const rule of rulesOf(file, readFileSync(join(root, file), "utf8"))) {
      const first = rules.get(rule.id);
      if (first) faults.push(`${rule.place}: ${rule.id} is defined before, at ${first.place}`);
      else rules.set(rule.id, rule);
      if (!rule.id.match(idPattern)) faults.push(`${rule.place}: ${rule.id} has an unknown prefix`);
    }
  }
  return rules;
}

function rulesOf(file: string, text: string): Rule[] {
  const rules: Rule[] = [];
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    const match = /^- \*\*([A-Z]{2,4}-\d+)\*\*\s*(\(open\))?/.exec(line);
    if (!match) continue;
    const end = lines.findIndex((next, at) => at > index && !/^\s+\S/.test(next));
    const body = lines.slice(index, end === -1 ? undefined : end).join(" ");
    const owners = /Owners?:\s*((?:`[^`]+`(?:\s*(?:,|and)\s*)*)+)/.exec(body)?.[1] ?? "";
    rules.push({
      id: match[1] ?? "",
      open: match[2] !== undefined,
      owners: [...owners.matchAll(/`([^`]+)`/g)].map(([, path]) => path ?? ""),
      place: `${file}:${index + 1}`,
    });
  }
  return rules;
}

/** @returns the places of the tests that carry each id. */
function readTests(root: string): Map<string, string[]> {
  const tested = new Map<string, string[]>();
  for (const file of globSync(testFiles, { cwd: root }).toSorted()) {
    const text = readFileSync(join(root, file), "utf8");
    for (const { title, offset } of titlesOf(text)) {
      const place = `${file}:${text.slice(0, offset).split("\n").length}`;
      for (const [id] of title.matchAll(idPattern)) tested.set(id, [...(tested.get(id) ?? []), place]);
    }
  }
  return tested;
}

/** Titles of `test("…")`, `it.only("…")`, `describe("…")` and `test.each(table)("…")`. */
function titlesOf(text: string): { title: string; offset: number }[] {
  const call = /(?:\b(?:test|it|describe)((?:\.\w+)*)|[)`])\s*\(\s*(["'`])((?:\\.|(?!\2)[^\\])*)\2/g;
  return [...text.matchAll(call)]
    .filter(([, modifiers]) => !/\.(?:skip|todo)\b/.test(modifiers ?? ""))
    .map((match) => ({ title: match[3] ?? "", offset: match.index }));
}

function isSeed(file: string): boolean {
  return /^specs[\\/]seeds[\\/]/.test(file);
}

/** @returns the number of rows seen. */
function checkSeeds(root: string, rules: Map<string, Rule>, tested: Map<string, string[]>, faults: string[]): number {
  let rows = 0;
  for (const file of globSync("specs/seeds/*.md", { cwd: root }).toSorted()) {
    for (const { last, line } of rowsOf(readFileSync(join(root, file), "utf8"))) {
      rows++;
      const ids = last.match(idPattern) ?? [];
      for (const id of ids) if (!rules.has(id)) faults.push(`${file}:${line}: the row cites ${id}, which no spec has`);
      const answered = /\bopen\b/.test(last) || last.includes("not carried over") || ids.some((id) => tested.has(id));
      if (!answered)
        faults.push(`${file}:${line}: the last column has no id with a test, nor "open" or "not carried over"`);
    }
  }
  return rows;
}

/** The body rows of all tables: a row is what follows a separator row without a gap. */
function rowsOf(text: string): { last: string; line: number }[] {
  const rows: { last: string; line: number }[] = [];
  let inBody = false;
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trimStart().startsWith("|")) inBody = false;
    else if (/^\s*\|[\s:|-]+$/.test(line)) inBody = true;
    else if (inBody) rows.push({ last: lastCell(line), line: index + 1 });
  }
  return rows;
}

function lastCell(row: string): string {
  const withoutCode = row.trim().replaceAll(/`[^`]*`/g, (code) => code.replaceAll("|", "\\|"));
  return (
    withoutCode
      .replace(/\|$/, "")
      .split(/(?<!\\)\|/)
      .at(-1) ?? ""
  );
}

if (process.argv[1] === import.meta.filename) {
  const { faults, summary } = checkSpecs(resolve(process.argv[2] ?? join(import.meta.dirname, "..")));
  for (const fault of faults) console.error(fault);
  console.log(summary);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
