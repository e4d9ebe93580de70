/**
 * What the entries of a package export, read from the declarations that the build has made: where each name is declared,
 * in which words, with its docstring.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { parseAst } from "rolldown/parseAst";
import type { Package } from "./packages.ts";

/** A name, and how it is declared. */
export interface PublicName {
  readonly name: string;
  /** More than one of an overloaded function, or of a type and a value of one name. */
  readonly declarations: readonly Declaration[];
}

export interface Declaration {
  /** With the comments inside it, and without the words `export` and `declare`. */
  readonly text: string;
  /** The comment before it, with its delimiters; empty where it has none. */
  readonly docstring: string;
}

export interface PublicApi {
  /** By the name that is imported, such as `@proviso/core/provider`; `./internal` is not for users. Names in order. */
  readonly entries: ReadonlyMap<string, readonly PublicName[]>;
  /** What those declarations name, directly or not, and no entry exports. */
  readonly hidden: readonly PublicName[];
}

/**
 * `others` are the packages whose declarations it may export again.
 * @throws where the build has not made a declaration file.
 */
export function publicApi({ folder, manifest }: Package, others: readonly Package[]): PublicApi {
  const read = reader(others);
  const named = ({ file, name }: Origin): PublicName => ({ name, declarations: declarationsOf({ file, name }, read) });
  const exported = Object.entries(manifest.exports).flatMap(([entry, target]) => {
    if (typeof target === "string" || entry === "./internal") return [];
    const file = join(folder, target.types);
    if (!existsSync(file)) throw new Error(`${file} does not exist. Run the build first.`);
    const names = [...read(file).exported].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [[join(manifest.name, entry), names.map(([, from]) => declaring(from, read))] as const];
  });
  const hidden = reachable(
    exported.flatMap(([, names]) => names),
    read,
  ).filter(({ file }) => file.startsWith(join(folder, sep)));
  return {
    entries: new Map(exported.map(([entry, names]) => [entry, names.map(named)])),
    hidden: hidden.map(named),
  };
}

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
interface DeclarationFile {
  readonly own: ReadonlyMap<string, readonly Declaration[]>;
  readonly imported: ReadonlyMap<string, Origin>;
  readonly exported: ReadonlyMap<string, Origin>;
}

type Read = (file: string) => DeclarationFile;

function reader(others: readonly Package[]): Read {
  const known = new Map<string, DeclarationFile>();
  return (file) => {
    const found = known.get(file) ?? declarationsIn(file, others);
    known.set(file, found);
    return found;
  };
}

function declarationsIn(file: string, others: readonly Package[]): DeclarationFile {
  const text = readFileSync(file, "utf8");
  const own = new Map<string, Declaration[]>();
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
      const docstring = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*$/.exec(text.slice(0, statement.start))?.[0].trim() ?? "";
      own.set(name, [...(own.get(name) ?? []), { text: plain(text.slice(statement.start, statement.end)), docstring }]);
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

function declarationsOf({ file, name }: Origin, read: Read): readonly Declaration[] {
  if (!isAbsolute(file)) return [{ text: `export { ${name} } from "${file}";`, docstring: "" }];
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
    for (const [word] of declarationsOf(at, read)
      .map(({ text }) => withoutComments(text))
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

/** Without comments, the lines that were empty but for them, and blanks at the ends of lines. */
export function withoutComments(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/^\s*\n/gm, "")
    .replaceAll(/[ \t]+$/gm, "");
}

/** Without the words that every declaration begins with. */
function plain(text: string): string {
  return text.replace(/^export /, "").replace(/^declare /, "");
}
