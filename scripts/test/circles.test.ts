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
 * core: errors name messages, events and schemas, and all of these throw errors; prompts hold tools, whose context
 * evaluates prompts; slices are changed by events, which are made by tools, which dispatch to sessions of slices.
 * runtime: a run holds its transaction, resources and nesting, and these hold the run: not separated yet.
 */
const allowed: Record<string, string> = {
  "packages/core": `
    budget-error errors internal-error limits/budget limits/deadline limits/saved-usage listener-error
    option-names process-error prompt/compile prompt/descriptor prompt/disclosure prompt/examples
    prompt/output prompt/overrides prompt/params prompt/placeholders prompt/plain-schema prompt/render
    prompt/section prompt/template prompt/visibility provider/adapter provider/message provider/model
    resources/binding schema-faults schema sent-schema state/event state/events state/frozen
    state/session state/slice thenable tool/completion tool/feedback tool/policy tool/result tool/tool
    transaction-errors types well-formed-schema
  `,
  "packages/runtime": `
    nested/adapter-internals nested/nested-evaluations nested/nesting rendering request/wanted
    resources/asker resources/asking resources/call-resources resources/context resources/guard
    resources/making resources/store run tools/call-timeout tools/context tools/disclosure
    tools/policies tools/run-call tools/uses transactions/async-context transactions/enclosing
    transactions/session-view transactions/transaction
  `,
};

test.each(Object.entries(allowed))(
  "imports of %s make the listed circles and no other, types included",
  (folder, files) => {
    const listed = files.trim().split(/\s+/);
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
