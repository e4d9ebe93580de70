import { isRecord } from "../values.ts";
import type { JsonSchema } from "../json-schema.ts";
import { checkItems, checkKeys, checkPlain } from "./check-parts.ts";
import type { References, SchemaDocument, SchemaNode } from "./schema-document.ts";
import {
  branches,
  fitsQuietly,
  mostIssues,
  namesKeys,
  refuse,
  spend,
  stepsOfAny,
  type ValueCheck,
  type ValueIssue,
  type ValuePath,
} from "./value-check.ts";

/** Parts that are checked inside each other; the stack takes several times as many. */
const deepest = 500;

/**
 * What of a value does not fit: nothing where it does. Keys that no part of the schema has looked at are refused where the
 * schema names keys of that object.
 * @throws {RangeError} when the schema is too involved to be checked.
 */
export function issuesOf(document: SchemaDocument, value: unknown): readonly ValueIssue[] {
  const check: ValueCheck = {
    document,
    issues: [],
    notes: [],
    scope: [],
    steps: 0,
    most: stepsOfAny,
    sizeOf: () => sizeOf(value),
    depth: 0,
    isUndecided: false,
    fits: (schema, part, path) => checkValue(check, schema, part, path),
  };
  checkValue(check, document.root, value, undefined);
  if (!check.isUndecided) refuseUnknownKeys(check, value, undefined, keysSeen(check));
  return check.issues;
}

function sizeOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((size, item) => size + sizeOf(item), 1);
}

/** Whether the value fits; if not, the issues say why. */
function checkValue(check: ValueCheck, schema: SchemaNode, value: unknown, path: ValuePath | undefined): boolean {
  if (schema === true) return true;
  if (schema === false) return refuse(check, path, "is not allowed here");
  spend(check, 1);
  if (check.depth > deepest) throw new RangeError("the schema is too involved");
  const resource = check.document.resources.get(schema);
  const isEntered = resource !== undefined && check.scope.at(-1) !== resource;
  if (isEntered) check.scope.push(resource);
  check.depth += 1;
  const mark = check.notes.length;
  // Every part is looked at, also where one before it did not fit: every issue is reported.
  let fits = checkPlain(check, schema, value, path);
  const references = check.document.references.get(schema);
  if (references !== undefined) fits = checkReferences(check, references, value, path) && fits;
  fits = checkBranches(check, schema, value, path) && fits;
  if (Array.isArray(value)) fits = checkItems(check, schema, value, { path, mark }) && fits;
  else if (isRecord(value)) fits = checkKeys(check, schema, value, { path, mark }) && fits;
  check.depth -= 1;
  if (isEntered) check.scope.pop();
  return fits;
}

function checkReferences(
  check: ValueCheck,
  { fixed, dynamic }: References,
  value: unknown,
  path: ValuePath | undefined,
): boolean {
  const fits = fixed === undefined || checkValue(check, fixed, value, path);
  if (dynamic === undefined) return fits;
  const { anchor, target } = dynamic;
  const outermost = anchor === undefined ? undefined : check.scope.find((each) => each.dynamicAnchors.has(anchor));
  return checkValue(check, outermost?.dynamicAnchors.get(anchor ?? "") ?? target, value, path) && fits;
}

function checkBranches(check: ValueCheck, schema: JsonSchema, value: unknown, path: ValuePath | undefined): boolean {
  let fits = true;
  for (const part of branches(schema["allOf"])) fits = checkValue(check, part, value, path) && fits;
  if (schema["anyOf"] !== undefined)
    fits = checkAlternatives(check, schema["anyOf"], value, { path, most: Infinity }) && fits;
  if (schema["oneOf"] !== undefined) fits = checkAlternatives(check, schema["oneOf"], value, { path, most: 1 }) && fits;
  const { not, if: condition } = schema;
  if (not !== undefined) {
    const mark = check.notes.length;
    const isMatched = fitsQuietly(check, not as SchemaNode, value, path).fits;
    check.notes.length = mark;
    if (isMatched) fits = refuse(check, path, "is what the schema excludes");
  }
  if (condition === undefined) return fits;
  const next = schema[fitsQuietly(check, condition as SchemaNode, value, path).fits ? "then" : "else"];
  return (next === undefined || checkValue(check, next as SchemaNode, value, path)) && fits;
}

/** Every alternative is looked at: what fits says which keys are known. */
function checkAlternatives(
  check: ValueCheck,
  given: unknown,
  value: unknown,
  { path, most }: { readonly path: ValuePath | undefined; readonly most: number },
): boolean {
  const looked = branches(given).map((branch) => fitsQuietly(check, branch, value, path));
  const fitting = looked.filter(({ fits }) => fits).length;
  if (fitting > 0 && fitting <= most) return true;
  check.isUndecided = true;
  if (fitting > 0) return refuse(check, path, `fits ${fitting} of ${looked.length} forms, and must fit exactly one`);
  const [nearest] = looked.toSorted((a, b) => distance(a.issues) - distance(b.issues));
  for (const issue of nearest?.issues ?? []) if (check.issues.length < mostIssues) check.issues.push(issue);
  return nearest?.issues.length === 0 ? refuse(check, path, "fits no form") : false;
}

/** A value whose deeper parts do not fit is nearer to what was meant than one of another kind. */
function distance(issues: readonly ValueIssue[]): number {
  const shortest = Math.min(...issues.map(({ path }) => path.length));
  return issues.length - 1_000 * (Number.isFinite(shortest) ? shortest : 0);
}

function keysSeen(check: ValueCheck): ReadonlyMap<object, Set<unknown>> {
  const seen = new Map<object, Set<unknown>>();
  for (const { at, key } of check.notes) {
    const keys = seen.get(at) ?? new Set();
    keys.add(key);
    seen.set(at, keys);
  }
  return seen;
}

function refuseUnknownKeys(
  check: ValueCheck,
  value: unknown,
  path: ValuePath | undefined,
  seen: ReadonlyMap<object, ReadonlySet<unknown>>,
): void {
  if (typeof value !== "object" || value === null) return;
  const keys = seen.get(value);
  if (keys === undefined) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) refuseUnknownKeys(check, item, { key: index, above: path }, seen);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const below = { key, above: path };
    if (keys.has(key)) refuseUnknownKeys(check, item, below, seen);
    else if (keys.has(namesKeys) && item !== undefined) refuse(check, below, "unknown key");
  }
}
