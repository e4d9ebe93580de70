import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { compilerOptions, firstProgramName, installLine, programs } from "../install/readme.ts";
import { entriesOf, manifestIn, packagesIn } from "../packages.ts";

const root = resolve(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const packages = packagesIn(root);

test("DOC-13 README's line of installation has what its first program imports, and names packages of ours", () => {
  const line = installLine(readme);
  const [first] = programs(readme);
  const imported = [...(first?.text ?? "").matchAll(/from "((?:@[^/"]+\/)?[^/"]+)/g)].map(([, name]) => name);
  expect(imported).toContain("@proviso/core");
  expect(line).toEqual(expect.arrayContaining(imported));
  const ours = packages.map(({ manifest }) => manifest.name);
  expect(ours).toEqual(expect.arrayContaining(line.filter((name) => name.startsWith("@proviso/"))));
});

test("DOC-13 the first program has a name that Node takes for a module of TypeScript in any project", () => {
  expect(firstProgramName(readme)).toMatch(/^[\w-]+\.mts$/);
  expect(compilerOptions(readme)).toContain("--module");
});

test("DOC-13 each program of README is found with what it prints", () => {
  const found = programs(readme);
  expect(found).toHaveLength([...readme.matchAll(/^```ts$/gm)].length);
  for (const { prints } of found) expect(prints).not.toBe("");
});

test("DOC-13 a README that does not say how is refused", () => {
  expect(() => installLine("## Install\n")).toThrow(/npm install/);
  expect(() => firstProgramName("Save it.")).toThrow(/by which name/);
  expect(() => compilerOptions("`tsc`")).toThrow(/how a program is compiled/);
});

test("DOC-13 the entries of a package are what its exports name", () => {
  const manifest = { name: "@a/b", exports: { ".": "./a.js", "./c": "./c.js", "./package.json": "./package.json" } };
  expect(entriesOf(manifest)).toEqual(["@a/b", "@a/b/c"]);
});

test.each(packages)("DOC-14 the peers of $id: the optional ones have no upper bound, zod is none", ({ manifest }) => {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  expect(peerDependencies).not.toHaveProperty("zod");
  for (const [name, range] of Object.entries(peerDependencies)) {
    if (name.startsWith("@proviso/") || !peerDependenciesMeta[name]?.optional) continue;
    expect(range, name).toMatch(/(?:^|\|\| )>=[\d.]+$/);
  }
});

test("DOC-14 a package has zod where its sources import it, or a dependency asks for it as its own peer", () => {
  const dependents = packages.filter(({ manifest }) => "zod" in (manifest.dependencies ?? {})).map(({ id }) => id);
  // The SDK of the Agent Client Protocol asks adapter-process for it.
  expect(dependents).toEqual(["adapter-process", "toolkit"]);
});

/** These packages and all that they need, as far as npm installs it: without optional peers. */
function neededBy(names: readonly string[], from: string, found = new Set<string>()): ReadonlySet<string> {
  for (const name of names.filter((one) => !found.has(one))) {
    found.add(name);
    const folder = folderOf(name, from);
    const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifestIn(folder);
    const peers = Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional);
    neededBy([...Object.keys(dependencies), ...peers], folder, found);
  }
  return found;
}

function folderOf(name: string, from: string): string {
  const folders = createRequire(join(realpathSync(from), "package.json")).resolve.paths(name) ?? [];
  return [...folders.map((folder) => join(folder, name)), join(root, "packages", basename(name))].find((folder) =>
    existsSync(join(folder, "package.json")),
  )!;
}

test("DOC-18 what README has people install needs at most 10 packages", () => {
  const needed = neededBy(installLine(readme), join(root, "packages/core"));
  expect(needed).toContain("immer");
  expect(needed.size, [...needed].join(", ")).toBeLessThanOrEqual(10);
});
