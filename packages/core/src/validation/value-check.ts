// 1. What a part of a schema has looked at (a key of an object, an item of a list) is noted while a value is checked. The
//    notes of a branch that does not fit are dropped: `unevaluatedProperties` and unknown keys rest on what fitted.
// 2. The work is bounded: a schema can refer to itself so often that it would never end.
import { canonicalJson } from "../canonical-json.ts";
import type { SchemaDocument, SchemaNode, SchemaResource } from "./schema-document.ts";

/** The way to a value, the last key first. */
export interface ValuePath {
  readonly key: string | number;
  readonly above: ValuePath | undefined;
}

/** Something that does not fit. */
export interface ValueIssue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Stands for the keys of an object that the schema has named some of: it takes no others. */
export const namesKeys: unique symbol = Symbol("names keys");

interface Note {
  readonly at: object;
  readonly key: string | number | typeof namesKeys;
}

/** A check of one value. */
export interface ValueCheck {
  readonly document: SchemaDocument;
  issues: ValueIssue[];
  readonly notes: Note[];
  /** The resources that were entered, the outermost first. */
  readonly scope: SchemaResource[];
  steps: number;
  /** Steps that are allowed; asked for again when they are spent. */
  most: number;
  /** How many values there are at every depth. */
  readonly sizeOf: () => number;
  depth: number;
  /** Whether a value fits a part; if not, the issues say why. */
  readonly fits: (schema: SchemaNode, value: unknown, path: ValuePath | undefined) => boolean;
  /** Whether one of several alternatives did not fit, so that it is not known which keys were meant. */
  isUndecided: boolean;
}

/** Parts of a schema that are compared with a value: a large value may take more than a small one. */
export const stepsOfAny = 100_000;
const stepsOfEach = 50;

/** Issues that are collected at the most. */
export const mostIssues = 200;

/** Always false. A message that is long to make is a function, which is called for issues that are kept. */
export function refuse(check: ValueCheck, path: ValuePath | undefined, message: string | (() => string)): false {
  if (check.issues.length < mostIssues) {
    check.issues.push({ path: keysOf(path), message: typeof message === "string" ? message : message() });
  }
  return false;
}

/** What a list of allowed values holds, so that a value is not compared with each of them. */
interface Allowed {
  readonly plain: ReadonlySet<unknown>;
  /** Lists and objects, as canonical JSON. */
  readonly others: ReadonlySet<string>;
}

const allowedIn = /* @__PURE__ */ new WeakMap<readonly unknown[], Allowed>();

/** Whether a value is one of an `enum`. */
export function isAllowed(check: ValueCheck, values: readonly unknown[], value: unknown): boolean {
  let allowed = allowedIn.get(values);
  if (allowed === undefined) {
    const isPlain = (item: unknown): boolean => typeof item !== "object" || item === null;
    const others = values.filter((item) => !isPlain(item)).map(canonicalJson);
    allowed = { plain: new Set(values.filter(isPlain)), others: new Set(others) };
    allowedIn.set(values, allowed);
  }
  if (typeof value !== "object" || value === null) return allowed.plain.has(value);
  return allowed.others.size > 0 && allowed.others.has(jsonOf(check, value));
}

/** The value as JSON that is the same for equal values. */
export function jsonOf(check: ValueCheck, value: unknown): string {
  const text = canonicalJson(value);
  spendOn(check, text.length);
  return text;
}

/** Whether a pattern matches; undefined: there is none of this source. */
export function isMatch(check: ValueCheck, source: string, text: string): boolean | undefined {
  const pattern = check.document.patterns.get(source);
  if (pattern === undefined) return undefined;
  spendOn(check, text.length * pattern.size);
  return pattern.test(text);
}

/** Counts work that goes over a text: 128 characters are about as much as a part of a schema. */
export function spendOn(check: ValueCheck, length: number): void {
  spend(check, length / 128);
}

const tooInvolved = "the schema is too involved";

/**
 * Counts work, in parts of the schema that are compared.
 * @throws {RangeError} where it is more than the value's size allows.
 */
export function spend(check: ValueCheck, steps: number): void {
  check.steps += steps;
  if (check.steps <= check.most) return;
  const most = stepsOfAny + stepsOfEach * check.sizeOf();
  if (check.steps > most) throw new RangeError(tooInvolved);
  check.most = most;
}

/** Notes that a part of the schema has looked at this key. */
export function note(check: ValueCheck, at: object, key: Note["key"]): void {
  check.notes.push({ at, key });
}

/** The keys of one value that were looked at since a mark. */
export function seenSince(check: ValueCheck, at: object, mark: number): ReadonlySet<unknown> {
  const seen = new Set<unknown>();
  for (let index = mark; index < check.notes.length; index++) {
    const one = check.notes[index];
    if (one?.at === at) seen.add(one.key);
  }
  check.steps += check.notes.length - mark;
  return seen;
}

/** Whether a branch fits; its issues are left out, and its notes too where it does not. */
export function fitsQuietly(
  check: ValueCheck,
  schema: SchemaNode,
  value: unknown,
  path: ValuePath | undefined,
): { readonly fits: boolean; readonly issues: readonly ValueIssue[] } {
  const before = check.issues;
  const mark = check.notes.length;
  check.issues = [];
  const fits = check.fits(schema, value, path);
  const { issues } = check;
  check.issues = before;
  if (!fits) check.notes.length = mark;
  return { fits, issues };
}

export function isSameValue(check: ValueCheck, one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object") return false;
  return canonicalJson(one) === jsonOf(check, other);
}

export function branches(given: unknown): readonly SchemaNode[] {
  return Array.isArray(given) ? (given as readonly SchemaNode[]) : [];
}

function keysOf(path: ValuePath | undefined): readonly (string | number)[] {
  const keys: (string | number)[] = [];
  for (let at = path; at !== undefined; at = at.above) keys.push(at.key);
  return keys.toReversed();
}
