import { isFileRef } from "../content/file.ts";
import { DefinitionError } from "../errors.ts";
import { isOutOfStack, tooDeep } from "../json.ts";
import { describeIssues } from "../schema-issues.ts";
import { parseWithSchemaSync, type ObjectSchema } from "../schema.ts";

/** What `bind` was given, validated and frozen. @throws {DefinitionError} where it does not fit the schema. */
export function checkedParams(
  schema: ObjectSchema | undefined,
  name: string,
  params: unknown,
): Readonly<Record<string, unknown>> {
  if (schema === undefined) {
    const given = Object.keys((params as object | undefined) ?? {});
    if (given.length === 0) return Object.freeze({});
    const issues = given.map((key) => ({ path: key, message: "unknown key" }));
    throw new DefinitionError(`The prompt "${name}" takes no params, but was given: ${given.join(", ")}.`, { issues });
  }
  const what = `The params of "${name}"`;
  const result = parseWithSchemaSync(schema, params, what);
  if (!result.ok) {
    const { issues, unlisted } = result;
    throw new DefinitionError(`${what} do not fit: ${describeIssues(issues, unlisted)}.`, { issues });
  }
  // A spread sets own properties, whatever their names are.
  const copy: Record<string, unknown> = { ...result.value };
  return isFlat(copy) ? Object.freeze(copy) : frozenParams(what, copy);
}

/** @throws {DefinitionError} for what nests too deep. */
export function frozenParams(
  what: string,
  params: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  try {
    return frozenCopy(params) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    if (!isOutOfStack(cause)) throw cause;
    throw new DefinitionError(`${what} cannot be kept: a value in them ${tooDeep}.`, { cause });
  }
}

/** Whether no value of it can change. */
function isFlat(params: Readonly<Record<string, unknown>>): boolean {
  for (const key of Object.keys(params)) {
    const item = params[key];
    if (typeof item === "object" ? item !== null : typeof item === "function") return false;
  }
  return Object.getOwnPropertySymbols(params).length === 0;
}

/** Plain objects and arrays at any depth; anything else is the caller's own. */
function frozenCopy(value: unknown, seen = new Map<unknown, unknown>()): unknown {
  // A reference that was made in this process may be what keeps the bytes.
  if (Object.isFrozen(value) && isFileRef(value)) return value;
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain && !Array.isArray(value)) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  const copy: object = Array.isArray(value) ? [] : {};
  seen.set(value, copy);
  for (const [key, item] of Object.entries(value)) {
    Object.defineProperty(copy, key, { value: frozenCopy(item, seen), enumerable: true });
  }
  return Object.freeze(copy);
}
