import { DefinitionError, type Schema } from "@proviso/core";
import { describeIssues, describeValue, isPlain, parseWithSchema, type SchemaResult } from "@proviso/core/internal";
import { parseJson } from "@proviso/core/provider";
import type { Score } from "../definition.ts";

/**
 * Whether both are the same JSON: objects by their properties in any order, lists by their items in this order. A property
 * that is undefined counts as left out, and a Date as its text. What JSON does not have, a Map for example, is the same only
 * as itself; NaN is the same as nothing.
 *
 * @throws {RangeError} for values that are nested too deeply to be compared.
 */
export function exact(actual: unknown, expected: unknown): boolean {
  const [one, other] = [written(actual), written(expected)];
  if (one === other) return true;
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => exact(item, other[at]));
  }
  if (!isPlain(one) || !isPlain(other)) return false;
  const keys = keysOf(one);
  return (
    keys.length === keysOf(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && exact(one[key], other[key]))
  );
}

/**
 * Whether `actual` has what `expected` has: objects may have more properties, at every depth. Lists are of one length, and
 * compared item by item. All else is compared as `exact` does.
 */
export function holds(actual: unknown, expected: unknown): boolean {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    return expected.every((item, at) => holds(actual[at], item));
  }
  if (!isPlain(expected)) return exact(actual, expected);
  if (!isPlain(actual)) return false;
  return keysOf(expected).every((key) => Object.hasOwn(actual, key) && holds(actual[key], expected[key]));
}

/** Returns the value as JSON writes it: what has `toJSON` decides itself. */
function written(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { toJSON } = value as { readonly toJSON?: unknown };
  return typeof toJSON === "function" ? (toJSON as () => unknown).call(value) : value;
}

function keysOf(value: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

/**
 * Whether `actual` is within `absolute` or `relative` × |`expected`| of `expected`, whichever is wider. NaN is close to
 * nothing, and an infinite number to itself alone.
 *
 * @param tolerance `absolute` is 0 unless set, `relative` is 1e-9 unless set.
 * @throws {DefinitionError} for a tolerance that is negative or not finite.
 */
export function closeTo(
  actual: number,
  expected: number,
  tolerance: { readonly absolute?: number; readonly relative?: number } = {},
): boolean {
  const { absolute = 0, relative = 1e-9 } = tolerance;
  for (const [name, value] of Object.entries({ absolute, relative })) {
    if (Number.isFinite(value) && value >= 0) continue;
    throw new DefinitionError(`The option ${name} of closeTo must be a number from 0, not ${describeValue(value)}.`);
  }
  if (actual === expected) return true;
  if (!Number.isFinite(actual) || !Number.isFinite(expected)) return false;
  return Math.abs(actual - expected) <= Math.max(absolute, relative * Math.abs(expected));
}

/**
 * The share of `texts` that occur in `actual`, from 0 to 1.
 *
 * @param options `fold` ignores upper and lower case, and how Unicode composes a character. Default false.
 * @throws {DefinitionError} for what is no text, and for an empty list: it has no share.
 */
export function contains(
  actual: string,
  texts: string | readonly string[],
  options: { readonly fold?: boolean } = {},
): number {
  requireText("contains", actual);
  const wanted = typeof texts === "string" ? [texts] : texts;
  if (wanted.length === 0) throw new DefinitionError("contains needs at least one text to look for.");
  const form = options.fold === true ? folded : (text: string): string => text;
  const whole = form(actual);
  const found = wanted.filter((text) => {
    requireText("contains", text);
    return whole.includes(form(text));
  });
  return found.length / wanted.length;
}

/** Upper case comes last: a Greek sigma has two lower cases, by its place in the word. */
function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase().toUpperCase().normalize("NFKC");
}

/** @throws {DefinitionError} for what is no text. */
export function requireText(by: string, value: unknown): asserts value is string {
  if (typeof value !== "string") throw new DefinitionError(`${by} compares texts, not ${describeValue(value)}.`);
}

/**
 * Whether the schema accepts `actual`; where it does not, the issues are the reason. A text that the schema does not accept
 * as it is, is tried as the JSON that it holds: the answers of a prompt `asText()` are texts. What the schema itself throws
 * propagates.
 */
export async function fits(actual: unknown, schema: Schema): Promise<Score> {
  const given = await parseWithSchema(schema, actual);
  if (given.ok) return true;
  const parsed = typeof actual === "string" ? parseJson(actual, { maxLength: actual.length }) : undefined;
  const result = parsed?.ok === true ? await parseWithSchema(schema, parsed.value) : given;
  return result.ok ? true : { value: false, reason: issuesOf(result) };
}

function issuesOf({ issues, unlisted }: Extract<SchemaResult<unknown>, { readonly ok: false }>): string {
  return describeIssues(issues, unlisted);
}
