import { globSync, readFileSync } from "node:fs";
import { join, posix, resolve, sep } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/** Files by path, each with the files that it imports values or types of. */
type Imports = ReadonlyMap<string, readonly string[]>;

function importsOf(folder: string): Imports {
  const pattern = /^\s*(?:import|export)\b[^;"']*?\bfrom\s*["'](\.[^"']+)["']|\bimport\s*\(?\s*["'](\.[^"']+)["']/gm;
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
 * Folders and files whose types may need each other.
 * core: errors name messages, events and schemas, and all of these throw errors; prompts hold tools, whose context
 * evaluates prompts; slices are changed by events, which are made by tools, which dispatch to sessions of slices.
 * runtime: a run holds its transaction, resources and nesting, and these hold the run: not separated yet.
 */
const allowed: Record<string, RegExp> = {
  "packages/core":
    /^src\/(?:(?:limits|prompt|provider|resources|state|tool)\/[\w-]+|[\w-]*errors?|option-names|schema-faults|schema|sent-schema|thenable|types|well-formed-schema)\.ts$/,
  "packages/runtime":
    /^src\/(?:(?:tools|transactions)\/[\w-]+|resources\/(?:asker|asking|call-resources|context|guard|making|store)|adapter-internals|nesting|rendering|request\/wanted|run)\.ts$/,
};

test.each(Object.entries(allowed))(
  "imports of %s make no circle, types included, beside the listed ones",
  (folder, known) => {
    expect(inCircles(importsOf(folder)).filter((path) => !known.test(path))).toEqual([]);
  },
);

test("a circle of type imports is found", () => {
  const imports = new Map([
    ["a.ts", ["b.ts"]],
    ["b.ts", ["c.ts"]],
    ["c.ts", ["b.ts"]],
  ]);
  expect(inCircles(imports)).toEqual(["b.ts", "c.ts"]);
});
