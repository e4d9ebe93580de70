import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

// pnpm adapters:table: runs the conformance suite for every adapter, and writes the results into docs/adapters.md.
interface Report {
  readonly testResults: readonly {
    /** The file. */
    readonly name: string;
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

const root = resolve(import.meta.dirname, "..");
const marker = "<!-- adapters -->";

const folder = mkdtempSync(join(tmpdir(), "adapters-"));
const vitest = join(root, "node_modules/vitest/vitest.mjs");

/** `test:exhaustive` has every adapter of the packages that make several, `test` all others. */
function resultsOf(config: string): Report["testResults"] {
  const report = join(folder, `${config}.json`);
  const output = ["--reporter=json", `--outputFile=${report}`];
  const suites = ["conformance/suite.test.ts", "conformance/dialects-suite.test.ts"];
  execFileSync(process.execPath, [vitest, "run", ...suites, "--config", config, ...output], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return (JSON.parse(readFileSync(report, "utf8")) as Report).testResults;
}

const exhaustive = resultsOf("vitest.exhaustive.config.ts");
const named = new Set(exhaustive.map(({ name }) => name));
const results = [...exhaustive, ...resultsOf("vitest.config.ts").filter(({ name }) => !named.has(name))];

const rows = new Map<string, { readonly passed: Map<string, number>; readonly skipped: Map<string, Set<string>> }>();
for (const { ancestorTitles, title, status } of results.flatMap(({ assertionResults }) => assertionResults)) {
  const [suite = "", how = ""] = ancestorTitles;
  const name = suite.replace(/ keeps the rules$/, "");
  if (name === suite || name.startsWith("toy")) continue;
  const row = rows.get(name) ?? { passed: new Map(), skipped: new Map() };
  rows.set(name, row);
  if (status === "passed") row.passed.set(how, (row.passed.get(how) ?? 0) + 1);
  else {
    const why = /\(([^()]*)\)$/.exec(title)?.[1] ?? status;
    row.skipped.set(why, (row.skipped.get(why) ?? new Set()).add(title));
  }
}

const lines = [...rows].map(([name, { passed, skipped }]) => {
  const left = [...skipped].map(([why, titles]) => `${titles.size}: ${why}`).join("; ");
  return `| ${name} | ${passed.get("evaluate") ?? 0} | ${passed.get("stream") ?? 0} | ${left || "none"} |`;
});
const table = ["| adapter | cases passed | streamed | cases skipped |", "|---|---|---|---|", ...lines].join("\n");
const file = join(root, "docs/adapters.md");
const [before = "", , after = ""] = readFileSync(file, "utf8").split(marker);
writeFileSync(file, `${before}${marker}\n\n${table}\n\n${marker}${after}`);
console.log(table);
