import { globSync, readFileSync } from "node:fs";
import { join, posix, resolve, sep } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/** Files or folders by path, each with those that it imports. */
type Imports = ReadonlyMap<string, readonly string[]>;

/** The files of a package, each with the files that it imports values or types of. */
const importsOf = (folder: string): Imports =>
  readImports(
    folder,
    /^\s*(?:import|export)\b[^;"']*?\bfrom\s*["'](\.[^"']+)["']|\bimport\s*\(?\s*["'](\.[^"']+)["']/gm,
  );

/** The files of a package, each with the files that are loaded with it. */
const loadedBy = (folder: string): Imports =>
  readImports(
    folder,
    /^\s*(?:import|export)\b(?! type\b)(?!\s*\{\s*(?:type [^,}]*,?\s*)*\}\s*from)[^;"']*?\bfrom\s*["'](\.[^"']+)["']|^import\s*["'](\.[^"']+)["']/gm,
  );

function readImports(folder: string, pattern: RegExp): Imports {
  const paths = globSync("src/**/*.ts", { cwd: join(root, folder) }).map((path) => path.split(sep).join("/"));
  const read = (path: string): string[] => {
    const code = readFileSync(join(root, folder, path), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
    const names = [...code.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? "");
    return names.map((name) => posix.join(posix.dirname(path), name));
  };
  return new Map(paths.map((path) => [path, read(path)]));
}

/** The files that import themselves by way of others. */
function inCircles(imports: Imports): readonly string[] {
  const reaches = (from: string): boolean => {
    const seen = new Set<string>();
    const left = [...(imports.get(from) ?? [])];
    for (let path = left.pop(); path !== undefined; path = left.pop()) {
      if (path === from) return true;
      if (!seen.has(path)) left.push(...(imports.get(path) ?? []));
      seen.add(path);
    }
    return false;
  };
  return [...imports.keys()].filter(reaches).toSorted();
}

/**
 * The files whose types need each other, so far: a file that leaves its circle is taken out here.
 * core: failures hold responses and events, and an event holds why an evaluation failed; prompts hold tools, whose context
 * evaluates prompts; a context policy names the adapter and the prompt that summarise; slices are changed by events, which are made by tools, which dispatch to sessions of slices.
 */
const allowed: Record<string, string> = {
  "packages/core": `
    budget-error evaluation-errors internal-error listener-error process-error prompt/cache-marks prompt/check-names prompt/compile prompt/compiled-template
    prompt/descriptor prompt/disclosure/disclosure-tools prompt/disclosure/visibility
    prompt/disclosure/visibility-error prompt/examples prompt/file-params prompt/open-tools prompt/overrides prompt/placed-params prompt/render prompt/rendered-sections prompt/section
    prompt/template provider/adapter provider/context run-error state/event state/events state/prompt-rendered state/provider-events
    state/session state/slice tool/check-tool tool/completion tool/feedback tool/policy tool/tool transaction-errors
    types
  `,
  "packages/runtime": "",
};

test.each(Object.entries(allowed))(
  "imports of %s make the listed circles and no other, types included",
  (folder, files) => {
    const listed = files.split(/\s+/).filter((name) => name !== "");
    expect(inCircles(importsOf(folder))).toEqual(listed.map((name) => `src/${name}.ts`).toSorted());
  },
);

/** The folder of a file in `src`, with those of other files of the package that are loaded with its files. */
function foldersOf(loaded: Imports): Imports {
  const folders = new Map<string, string[]>();
  for (const [path, imported] of loaded) {
    const folder = folderOf(path);
    if (folder === undefined) continue;
    const others = imported.map(folderOf).filter((other) => other !== undefined && other !== folder);
    folders.set(folder, [...(folders.get(folder) ?? []), ...(others as string[])]);
  }
  return folders;
}

const folderOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1];

const packages = globSync("packages/*", { cwd: root }).map((path) => path.split(sep).join("/"));

test.each(packages)("the folders of %s point one way: none is loaded with one that is loaded with it", (folder) => {
  expect(inCircles(foldersOf(loadedBy(folder)))).toEqual([]);
});

/** What docs/architecture.md says is loaded when an evaluation needs it, and the doors of it that the runtime has at once. */
const later = ["context", "observing", "recording", "routing"];
const doors = ["src/observing/observers.ts", "src/recording/run-value.ts"];

test("what only some evaluations need is loaded with the runtime by its doors alone", () => {
  const loaded = loadedBy("packages/runtime");
  const seen = new Set(["src/index.ts"]);
  for (const path of seen) for (const imported of loaded.get(path) ?? []) seen.add(imported);
  expect([...seen].filter((path) => later.includes(folderOf(path) ?? "")).toSorted()).toEqual(doors);
});

test("a circle of type imports is found", () => {
  const imports = new Map([
    ["a.ts", ["b.ts"]],
    ["b.ts", ["c.ts"]],
    ["c.ts", ["b.ts"]],
  ]);
  expect(inCircles(imports)).toEqual(["b.ts", "c.ts"]);
});

test("a circle of folders is found, and files beside them make none", () => {
  const loaded = new Map([
    ["src/low/a.ts", ["src/high/b.ts", "src/run.ts"]],
    ["src/high/b.ts", ["src/low/c.ts"]],
    ["src/run.ts", ["src/low/a.ts"]],
    ["src/apart/d.ts", ["src/low/a.ts"]],
  ]);
  expect(inCircles(foldersOf(loaded))).toEqual(["high", "low"]);
});
