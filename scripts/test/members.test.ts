import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";
import { packagesIn, root, type Package } from "../packages.ts";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

interface Member extends Node {
  readonly key?: Node & { readonly name?: string; readonly value?: unknown };
  readonly computed?: boolean;
  readonly accessibility?: string;
  readonly value?: unknown;
  readonly typeAnnotation?: { readonly typeAnnotation: Node & { readonly types?: readonly Node[] } };
}

interface Declared extends Node {
  readonly id?: { readonly name: string };
  readonly body?: { readonly body: readonly Member[] };
  readonly typeAnnotation?: TypeNode;
}

interface TypeNode extends Node {
  readonly types?: readonly TypeNode[];
  readonly members?: readonly Member[];
}

interface Statement extends Declared {
  readonly declaration?: Declared | null;
  readonly source?: { readonly value: string } | null;
  readonly specifiers?: readonly {
    readonly local: { readonly name: string };
    readonly exported?: { readonly name: string };
  }[];
}

interface Source {
  readonly text: string;
  readonly body: readonly Statement[];
}

const sources = new Map<string, Source>();

function sourceOf(file: string): Source {
  const found = sources.get(file) ?? read(file);
  sources.set(file, found);
  return found;
}

function read(file: string): Source {
  const text = readFileSync(file, "utf8");
  return { text, body: (parseAst(text, { lang: "ts" }, file) as unknown as { body: readonly Statement[] }).body };
}

/** `Interface.member` of each member without a docstring, in what the package's public entries export. */
function undocumented({ folder, manifest }: Package): readonly string[] {
  return Object.entries(manifest.exports).flatMap(([entry, target]) => {
    if (typeof target === "string" || entry === "./internal") return [];
    const file = join(folder, target["@proviso/source"]);
    const names = sourceOf(file).body.flatMap(({ specifiers = [], declaration }) => [
      ...specifiers.flatMap(({ exported }) => exported?.name ?? []),
      ...(declaration?.id ? [declaration.id.name] : []),
    ]);
    return names.flatMap((name) => undocumentedIn(file, name));
  });
}

function undocumentedIn(file: string, name: string): readonly string[] {
  const { text, body } = sourceOf(file);
  return body.flatMap((statement) => {
    const from = statement.specifiers?.find(({ exported }) => exported?.name === name);
    if (from !== undefined && statement.source?.value.startsWith(".") === true)
      return undocumentedIn(join(dirname(file), statement.source.value), from.local.name);
    const declared = statement.declaration ?? statement;
    if (declared.id?.name !== name) return [];
    return membersOf(declared)
      .filter((member) => !text.slice(0, member.start).trimEnd().endsWith("*/"))
      .map(({ key }) => `${name}.${key === undefined ? "" : text.slice(key.start, key.end)}`);
  });
}

/** The members that a reader needs a sentence for. */
function membersOf(declared: Declared): readonly Member[] {
  if (declared.type === "TSInterfaceDeclaration") return (declared.body?.body ?? []).filter(needsSentence);
  if (declared.type === "TSTypeAliasDeclaration") return membersOfType(declared.typeAnnotation).filter(needsSentence);
  if (declared.type !== "ClassDeclaration") return [];
  return (declared.body?.body ?? []).filter(
    (member) =>
      member.type === "PropertyDefinition" &&
      member.accessibility !== "private" &&
      member.key?.type !== "PrivateIdentifier" &&
      member.value === null &&
      needsSentence(member),
  );
}

function membersOfType(type: TypeNode | undefined): readonly Member[] {
  return [...(type?.members ?? []), ...(type?.types ?? []).flatMap(membersOfType)];
}

/** A literal says itself what it is: `role: "tool"`. A symbol's key and a brand are not for readers. */
function needsSentence({ key, computed, typeAnnotation }: Member): boolean {
  if (key === undefined || computed === true) return false;
  if (typeof key.value === "string" && key.value.includes(" ")) return false;
  const type = typeAnnotation?.typeAnnotation;
  return !(type?.types ?? [type]).every((one) => one?.type === "TSLiteralType");
}

test.each(packagesIn(root))("DOC-5 every member of what $id exports has a docstring", (one) => {
  expect(undocumented(one)).toEqual([]);
});
