// What each keyword asks of a value, of a list's items and of an object's keys.
import { canonicalJson } from "../canonical-json.ts";
import { describeValue, isRecord } from "../values.ts";
import type { JsonSchema } from "../json-schema.ts";
import {
  branches,
  fitsQuietly,
  isAllowed,
  isMatch,
  jsonOf,
  isSameValue,
  namesKeys,
  note,
  refuse,
  seenSince,
  spend,
  spendOn,
  type ValueCheck,
  type ValuePath,
} from "./value-check.ts";
import type { SchemaNode } from "./schema-document.ts";

interface Here {
  readonly path: ValuePath | undefined;
  /** How many notes there were when this part of the schema began. */
  readonly mark: number;
}

/** Types, allowed values, and what is asked of texts and numbers. */
export function checkPlain(
  check: ValueCheck,
  schema: JsonSchema,
  value: unknown,
  path: ValuePath | undefined,
): boolean {
  const { type, enum: allowed, const: only } = schema;
  let fits = true;
  if (type !== undefined && ![type].flat().some((name) => isOfType(value, name))) {
    fits = refuse(check, path, value === undefined ? "is missing" : `must be ${typesText(type)}, not ${kindOf(value)}`);
  }
  if (Array.isArray(allowed) && !isAllowed(check, allowed, value)) {
    fits = refuse(check, path, () => `must be one of ${shownValues(allowed)}, not ${describeValue(value)}`);
  }
  if (Object.hasOwn(schema, "const") && !isSameValue(check, only, value)) {
    fits = refuse(check, path, () => `must be ${shown(only)}, not ${describeValue(value)}`);
  }
  if (typeof value === "string") return checkText(check, schema, value, path) && fits;
  if (typeof value === "number") return checkNumber(check, schema, value, path) && fits;
  return fits;
}

function isOfType(value: unknown, name: unknown): boolean {
  switch (name) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    default:
      return typeof value === name;
  }
}

function typesText(type: unknown): string {
  const words = [type]
    .flat()
    .map(String)
    .map((name) => (name === "null" ? name : `${/^[aio]/.test(name) ? "an" : "a"} ${name}`));
  return words.join(" or ");
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function shownValues(values: readonly unknown[]): string {
  const most = 20;
  const more = values.length > most ? ` and ${values.length - most} more` : "";
  return `${values.slice(0, most).map(shown).join(", ")}${more}`;
}

function shown(value: unknown): string {
  const text = canonicalJson(value);
  return text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text;
}

function checkText(check: ValueCheck, schema: JsonSchema, value: string, path: ValuePath | undefined): boolean {
  const { minLength, maxLength, pattern } = schema;
  let fits = true;
  if (typeof minLength === "number" || typeof maxLength === "number") {
    // Characters, as people count them: the two halves of a surrogate pair are one.
    let length = 0;
    spendOn(check, value.length);
    for (const _ of value) length += 1;
    fits = checkBounds(check, path, length, { least: minLength, most: maxLength, of: "characters" });
  }
  if (typeof pattern === "string" && isMatch(check, pattern, value) === false) {
    fits = refuse(check, path, `must match the pattern ${shown(pattern)}`);
  }
  return fits;
}

function checkNumber(check: ValueCheck, schema: JsonSchema, value: number, path: ValuePath | undefined): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  let fits = true;
  if (typeof minimum === "number" && value < minimum) fits = refuse(check, path, `must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) fits = refuse(check, path, `must be at most ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    fits = refuse(check, path, `must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    fits = refuse(check, path, `must be less than ${exclusiveMaximum}`);
  if (typeof multipleOf === "number" && !isMultiple(value, multipleOf))
    fits = refuse(check, path, `must be a multiple of ${multipleOf}`);
  return fits;
}

/** 0.3 is a multiple of 0.1, though the computer's 0.3 / 0.1 is not 3. */
function isMultiple(value: number, of: number): boolean {
  const times = value / of;
  if (!Number.isFinite(times) || (Number.isInteger(value) && Number.isInteger(of))) return value % of === 0;
  return Math.abs(times - Math.round(times)) <= 2 * Number.EPSILON * Math.abs(times);
}

function checkBounds(
  check: ValueCheck,
  path: ValuePath | undefined,
  size: number,
  { least, most, of }: { readonly least: unknown; readonly most: unknown; readonly of: string },
): boolean {
  if (typeof least === "number" && size < least)
    return refuse(check, path, `has ${size} ${of}, and at least ${least} are needed`);
  if (typeof most === "number" && size > most)
    return refuse(check, path, `has ${size} ${of}, and at most ${most} are allowed`);
  return true;
}

/** What is asked of a list. */
export function checkItems(
  check: ValueCheck,
  schema: JsonSchema,
  list: readonly unknown[],
  { path, mark }: Here,
): boolean {
  const { minItems, maxItems, uniqueItems, contains } = schema;
  let fits = checkBounds(check, path, list.length, { least: minItems, most: maxItems, of: "items" });
  if (uniqueItems === true && new Set(list.map((item) => jsonOf(check, item))).size < list.length)
    fits = refuse(check, path, "has an item twice");
  const items = schema["items"] as SchemaNode | readonly SchemaNode[] | undefined;
  // A list of `items` is what older drafts have in the place of `prefixItems`.
  const isOlder = Array.isArray(items);
  const prefix = branches(isOlder ? items : schema["prefixItems"]);
  const rest = (isOlder ? schema["additionalItems"] : items) as SchemaNode | undefined;
  for (const [index, item] of list.entries()) {
    const part = prefix[index] ?? rest;
    if (part === undefined) continue;
    note(check, list, index);
    fits = check.fits(part, item, { key: index, above: path }) && fits;
  }
  if (contains !== undefined) fits = checkContained(check, schema, list, path) && fits;
  const others = schema["unevaluatedItems"] as SchemaNode | undefined;
  if (others === undefined) return fits;
  const seen = seenSince(check, list, mark);
  for (const [index, item] of list.entries()) {
    if (seen.has(index)) continue;
    note(check, list, index);
    fits = check.fits(others, item, { key: index, above: path }) && fits;
  }
  return fits;
}

function checkContained(
  check: ValueCheck,
  schema: JsonSchema,
  list: readonly unknown[],
  path: ValuePath | undefined,
): boolean {
  const { contains, minContains = 1, maxContains } = schema;
  let found = 0;
  for (const [index, item] of list.entries()) {
    if (!fitsQuietly(check, contains as SchemaNode, item, { key: index, above: path }).fits) continue;
    found += 1;
    note(check, list, index);
  }
  return checkBounds(check, path, found, { least: minContains, most: maxContains, of: "items of the wanted kind" });
}

/** What is asked of an object. A key whose value is undefined is not there: JSON has none. */
export function checkKeys(
  check: ValueCheck,
  schema: JsonSchema,
  object: Readonly<Record<string, unknown>>,
  { path, mark }: Here,
): boolean {
  const keys = Object.keys(object).filter((key) => object[key] !== undefined);
  const { required, minProperties, maxProperties, propertyNames } = schema;
  let fits = checkBounds(check, path, keys.length, { least: minProperties, most: maxProperties, of: "keys" });
  const needed = branches(required) as unknown as readonly string[];
  spend(check, needed.length);
  for (const key of needed) {
    if (!Object.hasOwn(object, key) || object[key] === undefined)
      fits = refuse(check, { key, above: path }, "is missing");
  }
  if (propertyNames !== undefined) {
    for (const key of keys) fits = checkName(check, propertyNames as SchemaNode, key, path) && fits;
  }
  fits = checkNamedKeys(check, schema, object, { keys, path }) && fits;
  fits = checkDependents(check, schema, object, path) && fits;
  const others = schema["unevaluatedProperties"] as SchemaNode | undefined;
  if (others === undefined) return fits;
  const seen = seenSince(check, object, mark);
  const left = keys.filter((key) => !seen.has(key));
  return checkOthers(check, others, object, { keys: left, path }) && fits;
}

function checkName(check: ValueCheck, names: SchemaNode, key: string, path: ValuePath | undefined): boolean {
  const { fits } = fitsQuietly(check, names, key, path);
  return fits || refuse(check, { key, above: path }, "is not an allowed key");
}

interface Keys {
  readonly keys: readonly string[];
  readonly path: ValuePath | undefined;
}

function checkNamedKeys(
  check: ValueCheck,
  schema: JsonSchema,
  object: Readonly<Record<string, unknown>>,
  { keys, path }: Keys,
): boolean {
  const { properties, patternProperties } = schema;
  const others = schema["additionalProperties"] as SchemaNode | undefined;
  const named = isRecord(properties) ? properties : {};
  const patterned = isRecord(patternProperties) ? Object.entries(patternProperties) : [];
  if (isRecord(properties) || patterned.length > 0) note(check, object, namesKeys);
  spend(check, patterned.length * keys.length);
  let fits = true;
  const left: string[] = [];
  for (const key of keys) {
    const below = { key, above: path };
    const parts = patterned.filter(([source]) => isMatch(check, source, key)).map(([, part]) => part);
    if (Object.hasOwn(named, key)) parts.push(named[key]);
    if (parts.length === 0) left.push(key);
    else note(check, object, key);
    for (const part of parts) fits = check.fits(part as SchemaNode, object[key], below) && fits;
  }
  return others === undefined ? fits : checkOthers(check, others, object, { keys: left, path }) && fits;
}

function checkOthers(
  check: ValueCheck,
  others: SchemaNode,
  object: Readonly<Record<string, unknown>>,
  { keys, path }: Keys,
): boolean {
  let fits = true;
  for (const key of keys) {
    const below = { key, above: path };
    note(check, object, key);
    fits = (others === false ? refuse(check, below, "unknown key") : check.fits(others, object[key], below)) && fits;
  }
  return fits;
}

function checkDependents(
  check: ValueCheck,
  schema: JsonSchema,
  object: Readonly<Record<string, unknown>>,
  path: ValuePath | undefined,
): boolean {
  let fits = true;
  for (const keyword of ["dependentRequired", "dependentSchemas", "dependencies"] as const) {
    const dependents = schema[keyword];
    if (!isRecord(dependents)) continue;
    for (const [key, asked] of Object.entries(dependents)) {
      if (!Object.hasOwn(object, key) || object[key] === undefined) continue;
      if (!Array.isArray(asked)) fits = check.fits(asked as SchemaNode, object, path) && fits;
      else {
        spend(check, asked.length);
        for (const name of asked as readonly string[]) {
          if (!Object.hasOwn(object, name))
            fits = refuse(check, { key: name, above: path }, `is missing, because ${key} is there`);
        }
      }
    }
  }
  return fits;
}
