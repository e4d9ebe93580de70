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

test("a circle of type imports is found", () => {
  const imports = new Map([
    ["a.ts", ["b.ts"]],
    ["b.ts", ["c.ts"]],
    ["c.ts", ["b.ts"]],
  ]);
  expect(inCircles(imports)).toEqual(["b.ts", "c.ts"]);
});
