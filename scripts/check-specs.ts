/**
 * Holds specs/ and the tests together: `node scripts/check-specs.ts [root]` prints one line per fault and a summary, and
 * exits 1 when there is a fault.
 *
 * - A rule is a line `- **TX-1** text. Owner: \`path\`.` in specs/ (not in specs/seeds/); `- **TX-1** (open) text` is not built yet.
 * - A test carries the ids in its title: `test("TX-1 a failed tool leaves no trace", …)`. Skipped tests do not count.
 * - In specs/seeds/, each table row begins with an id of its own (`adapters-12`); its last column names a rule that has a
 *   test, or says `open` or `not carried over`.
 * - A row and the rules that it names are tied from both sides: the file of the rule says `- TX-1: adapters-12, …`.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const prefixes =
  "PRM VIS OVR FILE BLOB TOOL TX LOOP SET CCH CTX RSN SRC PTL OUT THR PAC RTE LIM STR BAT EVT LOG OBS OTEL SES CNV JST JRN RPL RSM EFF SUS FRK FLT RES FS ERR PRO SEC OPT SIM OAI KIT MCP SRV SKL AIS CMD CLI EST BLK LLC DEMO DOC AGT CHT RSH RFD STA EVL VIEW".split(
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
  /** The ids of the seed rows that rest on it. */
  seeds: string[];
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
  const rows = readSeeds(root, faults);

  for (const row of rows.values()) checkRow(row, rules, tested, faults);
  for (const rule of rules.values()) {
    checkRule(root, rule, tested, faults);
    checkTies(rule, rows, faults);
  }
  for (const [id, places] of tested) {
    if (!rules.has(id)) faults.push(`${places[0]}: a test cites ${id}, which no spec has`);
  }
  if (rules.size === 0) faults.push("specs/: no rule found");

  const open = [...rules.values()].filter((rule) => rule.open).length;
  const summary = `specs: ${rules.size} rules (${open} open), ${rows.size} seed rows, ${faults.length} faults`;
  return { faults, summary };
}

function checkRule(root: string, rule: Rule, tested: Map<string, string[]>, faults: string[]): void {
  if (rule.open) return;
  if (!tested.has(rule.id)) faults.push(`${rule.place}: ${rule.id} has no test that carries its id`);
  if (rule.owners.length === 0) faults.push(`${rule.place}: ${rule.id} names no owner file`);
  for (const [place, owner] of rule.owners.entries()) {
    if (rule.owners.indexOf(owner) < place) faults.push(`${rule.place}: ${rule.id} names ${owner} twice`);
    if (!existsSync(join(root, owner)))
      faults.push(`${rule.place}: ${rule.id} is owned by ${owner}, which does not exist`);
  }
}

function readRules(root: string, faults: string[]): Map<string, Rule> {
  const rules = new Map<string, Rule>();
  for (const file of globSync("specs/**/*.md", { cwd: root }).toSorted()) {
    if (isSeed(file)) continue;
    const text = readFileSync(join(root, file), "utf8");
    const own = rulesOf(file, text);
    for (const { id, line } of tiesOf(text)) {
      if (own.every((rule) => rule.id !== id))
        faults.push(`${file}:${line}: rows are named for ${id}, which is no rule of this file`);
    }
    for (const rule of own) {
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
  const ties = tiesOf(text);
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
      seeds: ties.flatMap((tie) => (tie.id === match[1] ? tie.rows : [])),
      place: `${file}:${index + 1}`,
    });
  }
  return rules;
}

/** The lines `- TX-1: adapters-12, reference-3`: the seed rows that rest on a rule of the file. */
function tiesOf(text: string): { id: string; rows: string[]; line: number }[] {
  return text.split("\n").flatMap((line, index) => {
    const [, id, rows = ""] = /^- ([A-Z]{2,4}-\d+): (.*)$/.exec(line) ?? [];
    return id === undefined ? [] : [{ id, rows: rows.split(",").map((row) => row.trim()), line: index + 1 }];
  });
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

interface Row {
  id: string;
  /** What its last column says, and the rules that it names. */
  last: string;
  cites: string[];
  /** `specs/seeds/file.md:12` */
  place: string;
}

function readSeeds(root: string, faults: string[]): Map<string, Row> {
  const rows = new Map<string, Row>();
  for (const file of globSync("specs/seeds/*.md", { cwd: root }).toSorted()) {
    for (const { cells, line } of rowsOf(readFileSync(join(root, file), "utf8"))) {
      const id = cells.at(0) ?? "";
      const last = cells.at(-1) ?? "";
      const row = { id, last, cites: [...new Set(last.match(idPattern))], place: `${file}:${line}` };
      const first = rows.get(id);
      if (!/^[a-z]+-\d+$/.test(id)) faults.push(`${row.place}: the row does not begin with an id of its own`);
      else if (first) faults.push(`${row.place}: ${id} is a row before, at ${first.place}`);
      rows.set(first ? row.place : id, row);
    }
  }
  return rows;
}

function checkRow(
  { id, last, cites, place }: Row,
  rules: Map<string, Rule>,
  tested: Map<string, string[]>,
  faults: string[],
): void {
  for (const cited of cites) {
    const rule = rules.get(cited);
    if (!rule) faults.push(`${place}: the row cites ${cited}, which no spec has`);
    else if (!rule.seeds.includes(id)) faults.push(`${rule.place}: ${cited} does not name ${id}, which cites it`);
  }
  const answered =
    /\bopen\b/.test(last) || last.includes("not carried over") || cites.some((cited) => tested.has(cited));
  if (!answered) faults.push(`${place}: the last column has no id with a test, nor "open" or "not carried over"`);
}

function checkTies({ id, seeds, place }: Rule, rows: Map<string, Row>, faults: string[]): void {
  for (const seed of seeds) {
    const row = rows.get(seed);
    if (!row) faults.push(`${place}: ${id} names ${seed}, which is no row of specs/seeds`);
    else if (!row.cites.includes(id)) faults.push(`${row.place}: ${seed} does not cite ${id}, which names it`);
  }
}

/** The body rows of all tables: a row is what follows a separator row without a gap. */
function rowsOf(text: string): { cells: string[]; line: number }[] {
  const rows: { cells: string[]; line: number }[] = [];
  let inBody = false;
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trimStart().startsWith("|")) inBody = false;
    else if (/^\s*\|[\s:|-]+$/.test(line)) inBody = true;
    else if (inBody) rows.push({ cells: cellsOf(line), line: index + 1 });
  }
  return rows;
}

function cellsOf(row: string): string[] {
  const withoutCode = row.trim().replaceAll(/`[^`]*`/g, (code) => code.replaceAll("|", "\\|"));
  const cells = withoutCode
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim());
}

if (process.argv[1] === import.meta.filename) {
  const { faults, summary } = checkSpecs(resolve(process.argv[2] ?? join(import.meta.dirname, "..")));
  for (const fault of faults) console.error(fault);
  console.log(summary);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
