import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = new URL("../../../", import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** The texts between double quotes in a declaration of a source. */
function literalsOf(source: string, declaration: string): readonly string[] {
  const [, body = ""] = new RegExp(`${declaration} =([^;]*);`).exec(source) ?? [];
  return [...body.matchAll(/"(\w+)"/g)].map(([, literal = ""]) => literal);
}

test("DOC-20 docs/errors.md has a row for each code, kind and reason, and names each label", () => {
  const page = read("docs/errors.md");
  const rows = new Set([...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, first]) => first));
  const sources = globSync("packages/*/src/**/*.ts", { cwd: root }).map(read);
  const codes = sources.flatMap((text) => [...text.matchAll(/readonly code = "(\w+)"/g)].map(([, code]) => code));
  const errors = read("packages/core/src/failure-kinds.ts");
  const kinds = literalsOf(errors, "type ThrottleKind");
  const reasons = literalsOf(errors, "type ProviderErrorReason");
  const labels = literalsOf(read("packages/core/src/error-reason.ts"), "type ErrorReason");
  for (const found of [codes, kinds, reasons, labels]) expect(found.length).toBeGreaterThan(5);
  expect([...codes, ...kinds, ...reasons].filter((name) => !rows.has(name))).toEqual([]);
  expect(labels.filter((label) => !page.includes(`\`${label}\``))).toEqual([]);
});

test("DOC-21 the files that docs/architecture.md names are there", () => {
  const page = read("docs/architecture.md");
  const folders = "{packages/*/{src,test},simulation/src,examples/code-review,examples/docs,scripts}/**/*.ts";
  const found = globSync(folders, { cwd: root, exclude: (name) => name.endsWith("node_modules") });
  const paths = found.map((path) => path.replace("/src/", "/"));
  const named = [...page.matchAll(/[\w.-]+(?:\/[\w.-]+)*\.ts\b/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !paths.some((path) => `/${path}`.endsWith(`/${name}`)))).toEqual([]);
});

test("DOC-22 llms.txt has a title, a summary, and a link with a line of text for each guide; its links exist", () => {
  const page = read("llms.txt");
  expect(page).toMatch(/^# Proviso\n\n> .+\n/);
  const links = page.split("\n").filter((line) => line.startsWith("- "));
  const targets = links.map((line) => /^- \[[^\]]+\]\(([^)]+)\): \S/.exec(line)?.[1] ?? line);
  expect(targets.filter((target) => !existsSync(join(root, target)))).toEqual([]);
  const guides = globSync("docs/*.md", { cwd: root }).filter((path) => path !== "docs/README.md");
  expect(targets.filter((target) => target.startsWith("docs/")).toSorted()).toEqual(guides.toSorted());
});

test("DOC-22 the links of README and of the demo's README exist", () => {
  for (const [page, folder] of [
    ["README.md", ""],
    ["examples/code-review/README.md", "examples/code-review"],
  ] as const) {
    const targets = [...read(page).matchAll(/\]\(([^)#]+)/g)].map(([, target = ""]) => target);
    expect(targets.length).toBeGreaterThan(0);
    expect(targets.filter((target) => !existsSync(join(root, folder, target)))).toEqual([]);
  }
});

test("LOG-2 docs/logs.md lists each record that the code makes, and no other", () => {
  const named = /(?:\blog|\blogSafely|\.warn)\([^;]*?"([a-z]+(?:\.[a-z_]+)+)",?(?:\s|error)*\)/g;
  const isName = (name: string): boolean => !/\.(?:txt|json|md|ts)$/.test(name);
  const sources = globSync("packages/{runtime,adapter-*,mcp}/src/**/*.ts", { cwd: root }).map(read);
  const made = new Set(
    sources.flatMap((text) => [...text.matchAll(named)].map(([, name = ""]) => name)).filter(isName),
  );
  const listed = [...read("docs/logs.md").matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name = ""]) => name);
  expect(made.size).toBeGreaterThan(20);
  expect(listed.toSorted()).toEqual([...made].toSorted());
});
