import { isFileLike, labelOf, type FileLike } from "../content/file.ts";
import { DefinitionError } from "../errors.ts";

type Trim<T extends string> = T extends ` ${infer R}` ? Trim<R> : T extends `${infer R} ` ? Trim<R> : T;
/** Tail-recursive: a text may hold 900 of them. */
type Placeholder<T extends string, Found = never> = T extends `${infer Before}{{${infer Rest}`
  ? Before extends `${string}\\`
    ? Placeholder<Rest, Found>
    : Rest extends `${infer Name}}}${infer After}`
      ? Placeholder<After, Found | Trim<Name>>
      : Found
  : Found;
type Shown = string | number | boolean | bigint | undefined | FileLike | readonly FileLike[];
/** The params that a text can show; one that may be missing is shown as nothing then. */
export type TextKeys<P> = {
  [K in keyof P]-?: P[K] extends Shown ? K : never;
}[keyof P];
/** What the compiler shows where a text names no param of the prompt. */
export interface UnknownPlaceholder<Name> {
  readonly "unknown placeholder": Name;
}
/** What the compiler shows where a text names a param that is there and cannot be shown: an object, a list of other things than files, or a null. */
export interface UnprintablePlaceholder<Name> {
  readonly "a placeholder's param must be a string, number, boolean, bigint or file, or be absent": Name;
}
/**
 * Turns a placeholder in a literal text that cannot be filled into a compile error, at that text, that names it and the
 * reason. `K` are the params that are text, `Known` all of them.
 */
export type CheckedText<T extends string, K, Known = K> = [Exclude<Placeholder<T>, K>] extends [never]
  ? unknown
  : Misplaced<Exclude<Placeholder<T>, K>, Known>;
type Misplaced<Names, Known> = [Exclude<Names, Known>] extends [never]
  ? UnprintablePlaceholder<Names>
  : UnknownPlaceholder<Exclude<Names, Known>>;

/** Names, in a compiler's message, a property that sections do not have. */
export interface UnknownProperty<Name> {
  readonly "not a property of a section": Name;
}
type TextsOf<S> = S extends unknown
  ?
      | (S extends { readonly text: infer T } ? T : never)
      | (S extends { readonly summary: infer T } ? T : never)
      | (S extends { readonly children: readonly (infer C)[] } ? TextsOf<C> : never)
  : never;
type ExtraOf<S, Known> = S extends unknown
  ? Exclude<keyof S, Known> | (S extends { readonly children: readonly (infer C)[] } ? ExtraOf<C, Known> : never)
  : never;
type Mark<S, K, Known, Properties> = {
  readonly [F in keyof S]: F extends "text" | "summary"
    ? S[F] & CheckedText<S[F] & string, K, Known>
    : F extends "children"
      ? MarkAll<S[F], K, Known, Properties>
      : F extends Properties
        ? S[F]
        : UnknownProperty<F>;
};
type MarkAll<S, K, Known, Properties> = { readonly [I in keyof S]: Mark<S[I], K, Known, Properties> };
/** Checks the texts of a list of sections like `CheckedText`, and refuses properties that sections do not have. */
export type CheckedSectionList<S extends readonly unknown[], K, Known, Properties> = [
  Exclude<Placeholder<TextsOf<S[number]> & string>, K> | ExtraOf<S[number], Properties>,
] extends [never]
  ? unknown
  : MarkAll<S, K, Known, Properties>;

/** Literal text, and the names of the params between. */
export type TextPart = string | { readonly param: string };

const placeholder = /\\\{\{|\{\{((?:(?!\{\{|\}\}).)*)\}\}/gs;

/** Splits a text once, so that filling it is one pass and a value is never scanned. */
export function parseText(text: string, where: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let literal = "";
  let from = 0;
  for (const match of text.matchAll(placeholder)) {
    literal += text.slice(from, match.index);
    from = match.index + match[0].length;
    if (match[1] === undefined) literal += "{{";
    else {
      const param = match[1].trim();
      if (param === "")
        throw new DefinitionError(`${where} has an empty placeholder {{}}; write \\{{ for a literal {{.`);
      parts.push(literal, { param });
      literal = "";
    }
  }
  literal += text.slice(from);
  if (literal !== "") parts.push(literal);
  return parts.filter((part) => part !== "");
}

/** The names a text asks for. */
export function paramsIn(parts: readonly TextPart[]): readonly string[] {
  return parts.flatMap((part) => (typeof part === "string" ? [] : [part.param]));
}

/** Why a text could not be filled. */
export interface UnfitValue {
  readonly param: string;
  readonly found: string;
}

/** A file of a param, and where it stands in a text. */
export interface PlacedParam {
  /** The UTF-16 offset in the text, right behind the file's label. */
  readonly at: number;
  /** The file as the param holds it. */
  readonly file: FileLike;
}

/**
 * One pass; strings, numbers, booleans and bigints are text. What is declared and absent is nothing. A file, or each of a
 * list, is shown as its label and added to `files`.
 */
export function fillText(
  parts: readonly TextPart[],
  params: Readonly<Record<string, unknown>>,
  declared: ReadonlySet<string>,
  files: PlacedParam[] = [],
): string | UnfitValue {
  let text = "";
  for (const part of parts) {
    if (typeof part === "string") {
      text += part;
      continue;
    }
    const value = Object.hasOwn(params, part.param) ? params[part.param] : undefined;
    if (value === undefined && declared.has(part.param)) continue;
    if (isText(value)) {
      text += String(value);
      continue;
    }
    const shown = filesOf(value);
    if (shown === undefined) return { param: part.param, found: describe(value) };
    for (const [index, file] of shown.entries()) {
      text += index === 0 ? labelOf(file) : ` ${labelOf(file)}`;
      files.push({ at: text.length, file });
    }
  }
  return text;
}

function filesOf(value: unknown): readonly FileLike[] | undefined {
  if (Array.isArray(value)) return value.every(isFileLike) ? value : undefined;
  return isFileLike(value) ? [value] : undefined;
}

function isText(value: unknown): value is string | number | boolean | bigint {
  return (
    typeof value === "string" || typeof value === "number" || typeof value === "boolean" || typeof value === "bigint"
  );
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? "array" : typeof value;
}
