/**
 * `pnpm api:report` writes the public names and signatures of each package to api/<package>.md, from the declarations
 * that the build has made; `pnpm api:check` fails where they differ. So a change to what users compile against shows in
 * the diff of the change that makes it. A type that a signature uses and no entry exports is listed too.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { packagesIn, root as here, type Package } from "./packages.ts";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

interface Named {
  readonly name: string;
}

interface Statement extends Node {
  readonly declaration?: (Node & { readonly id?: Named; readonly declarations?: readonly { id: Named }[] }) | null;
  readonly id?: Named;
  readonly declarations?: readonly { id: Named }[];
  readonly specifiers?: readonly { local: Named; exported?: Named; imported?: Named }[];
  readonly source?: { readonly value: string } | null;
}

/** Where a name is declared: a file of the package, or another package. */
interface Origin {
  readonly file: string;
  readonly name: string;
}

/** What a file of declarations declares, and what it takes from other files of its package. */
interface Declarations {
  readonly own: ReadonlyMap<string, readonly string[]>;
  readonly imported: ReadonlyMap<string, Origin>;
  readonly exported: ReadonlyMap<string, Origin>;
}

/**
 * The report of a package: a heading for each entry but `./internal`, and its declarations by name, without comments.
 * `others` are the packages whose declarations it may export again.
 */
export function apiReport({ folder, manifest }: Package, others: readonly Package[]): string {
  const read = reader(others);
  const entries = Object.entries(manifest.exports).flatMap(([entry, target]) =>
    typeof target === "string" || entry === "./internal" ? [] : [[entry, target.types] as const],
  );
  const exported = entries.map(([entry, types]) => {
    const file = join(folder, types);
    if (!existsSync(file)) throw new Error(`${file} does not exist. Run the build first.`);
    const names = [...read(file).exported].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [entry, names.map(([, from]) => declaring(from, read))] as const;
  });
  const sections = exported.map(
    ([entry, names]) => `## ${join(manifest.name, entry)}\n\n${fenced(names.flatMap((at) => textsOf(at, read)))}`,
  );
  const hidden = reachable(
    exported.flatMap(([, names]) => names),
    read,
  ).flatMap((at) => (at.file.startsWith(join(folder, sep)) ? textsOf(at, read) : []));
  if (hidden.length > 0) sections.push(`## Used by these, and not exported\n\n${fenced(hidden)}`);
  return `${[`# The API of ${manifest.name}`, "Written by `pnpm api:report`.", ...sections].join("\n\n")}\n`;
}

function fenced(texts: readonly string[]): string {
  return ["```ts", ...texts, "```"].join("\n");
}

type Read = (file: string) => Declarations;

function reader(others: readonly Package[]): Read {
  const known = new Map<string, Declarations>();
  return (file) => {
    const found = known.get(file) ?? declarationsIn(file, others);
    known.set(file, found);
    return found;
  };
}

function declarationsIn(file: string, others: readonly Package[]): Declarations {
  const text = readFileSync(file, "utf8");
  const own = new Map<string, string[]>();
  const imported = new Map<string, Origin>();
  const exported = new Map<string, Origin>();
  const { body } = parseAst(text, { lang: "dts" }, file) as unknown as { readonly body: readonly Statement[] };
  for (const statement of body) {
    const declared = statement.declaration ?? statement;
    const from = statement.source?.value;
    const source = from === undefined ? undefined : declarationFile(file, from, others);
    for (const { local, exported: to, imported: name } of statement.specifiers ?? []) {
      if (statement.type === "ImportDeclaration") {
        if (source !== undefined) imported.set(local.name, { file: source, name: (name ?? local).name });
      } else exported.set((to ?? local).name, { file: source ?? file, name: local.name });
    }
    for (const { name } of declared.id ? [declared.id] : (declared.declarations ?? []).map(({ id }) => id)) {
      own.set(name, [...(own.get(name) ?? []), plain(text.slice(statement.start, statement.end))]);
      if (statement.type !== "ExportNamedDeclaration") continue;
      exported.set(name, { file, name });
    }
  }
  return { own, imported, exported };
}

/** The file of declarations that a module's name means: of this package or another one here. Other names stay. */
function declarationFile(file: string, from: string, others: readonly Package[]): string {
  if (from.startsWith(".")) return resolve(dirname(file), from.replace(/\.[jt]s$/, ".d.ts"));
  for (const { folder, manifest } of others) {
    const entry = Object.entries(manifest.exports).find(([name]) => join(manifest.name, name) === from)?.[1];
    if (typeof entry === "object" && "types" in entry) return join(folder, entry.types);
  }
  return from;
}

/** Where the name is declared: its file may only hand it on. */
function declaring(at: Origin, read: Read): Origin {
  if (!isAbsolute(at.file)) return at;
  const { own, imported, exported } = read(at.file);
  if (own.has(at.name)) return at;
  const next = imported.get(at.name) ?? exported.get(at.name);
  return next === undefined || (next.file === at.file && next.name === at.name) ? at : declaring(next, read);
}

function textsOf({ file, name }: Origin, read: Read): readonly string[] {
  if (!isAbsolute(file)) return [`export { ${name} } from "${file}";`];
  return read(file).own.get(name) ?? [];
}

/** What the declarations name that the entry does not export, and what those name, by name. */
function reachable(from: readonly Origin[], read: Read): readonly Origin[] {
  const keyOf = ({ file, name }: Origin): string => `${file} ${name}`;
  const seen = new Map(from.map((at) => [keyOf(at), at]));
  const added: Origin[] = [];
  for (const at of seen.values()) {
    if (!isAbsolute(at.file)) continue;
    const { own, imported } = read(at.file);
    for (const [word] of textsOf(at, read)
      .join("\n")
      .matchAll(/[A-Za-z_$][\w$]*/g)) {
      const used = own.has(word) ? { file: at.file, name: word } : imported.get(word);
      if (used === undefined) continue;
      const found = declaring(used, read);
      if (!isAbsolute(found.file) || seen.has(keyOf(found))) continue;
      seen.set(keyOf(found), found);
      added.push(found);
    }
  }
  return added.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Without comments, empty lines and the words that every declaration begins with. */
function plain(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/^\s*\n/gm, "")
    .replaceAll(/[ \t]+$/gm, "")
    .replace(/^export /, "")
    .replace(/^declare /, "");
}

function main(check: boolean): number {
  const folder = join(here, "api");
  let differing = 0;
  if (!check) rmSync(folder, { recursive: true, force: true });
  if (!check) mkdirSync(folder);
  const packages = packagesIn(here);
  for (const one of packages) {
    const file = join(folder, `${one.id}.md`);
    const report = apiReport(one, packages);
    if (!check) writeFileSync(file, report);
    else if (!existsSync(file) || readFileSync(file, "utf8") !== report) {
      differing += 1;
      console.error(`api/${one.id}.md differs from the build: run \`pnpm api:report\` and look at the difference.`);
    }
  }
  console.log(check ? `api: ${differing} reports differ` : "api: written");
  return differing === 0 ? 0 : 1;
}

if (process.argv[1] === import.meta.filename) process.exitCode = main(process.argv.includes("--check"));
