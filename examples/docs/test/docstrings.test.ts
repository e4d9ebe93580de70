import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const packages = join(import.meta.dirname, "../../../packages");
const names = await readdir(packages);

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin?: Readonly<Record<string, string>>;
}

/** The source of each entry of a package. Only a package that is nothing but a command has none. */
async function entriesOf(name: string): Promise<readonly string[]> {
  const text = await readFile(join(packages, name, "package.json"), "utf8");
  const { exports, bin } = JSON.parse(text) as Manifest;
  if (bin !== undefined && Object.keys(exports).join() === "./package.json") return [];
  const targets = Object.values(exports).map((target) =>
    typeof target === "string" ? target : target["@proviso/source"],
  );
  return targets.filter((target) => target?.endsWith(".ts")).map((target) => join(packages, name, target ?? ""));
}

/** What an entry hands on from the package's files: `export { name } from "./file.ts"`. */
function handedOn(source: string): readonly { readonly name: string; readonly file: string }[] {
  return [...source.matchAll(/^export (?:type )?\{([^}]*)\} from "(\.[^"]*)";/gm)].flatMap(([, list = "", file = ""]) =>
    [...list.matchAll(/\w+(?=\s*(?:,|$))/g)].map(([name]) => ({ name, file })),
  );
}

function declaredIn(source: string): readonly string[] {
  const declared = /^export (?:abstract )?(?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm;
  return [...source.matchAll(declared)].map(([, name = ""]) => name);
}

/** What stands in a file, or is handed on from another one. */
async function isDocumented(file: string, name: string): Promise<boolean> {
  const source = await readFile(file, "utf8");
  const from = handedOn(source).find((other) => other.name === name);
  if (from !== undefined) return isDocumented(join(dirname(file), from.file), name);
  const declared = new RegExp(
    `^export (?:abstract )?(?:async )?(?:function\\*?|const|class|interface|type) ${name}\\b`,
    "m",
  );
  const at = source.search(declared);
  if (at === -1) throw new Error(`${name} is not declared where it is exported from.`);
  const before = source.slice(0, at).trimEnd();
  // Tags alone do not say what it is.
  return before.endsWith("*/") && !/^\/\*\*[\s*]*@/.test(before.slice(before.lastIndexOf("/**")));
}

async function undocumented(entry: string): Promise<readonly string[]> {
  const source = await readFile(entry, "utf8");
  const exported = [...handedOn(source).map(({ name }) => name), ...declaredIn(source)];
  expect(exported).not.toEqual([]);
  const found = exported.map(async (name) => ((await isDocumented(entry, name)) ? [] : [name]));
  return (await Promise.all(found)).flat();
}

test.each(names)("DOC-5 every declaration that %s exports has a docstring", async (name) => {
  const entries = await entriesOf(name);
  expect(entries.length > 0 || name === "cli").toBe(true);
  expect((await Promise.all(entries.map(undocumented))).flat()).toEqual([]);
});
