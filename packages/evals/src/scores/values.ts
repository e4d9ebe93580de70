// What scorers call: plain functions of values.
import { canonicalJson, describeIssues, parseWithSchema } from "@proviso/core/internal";
import { DefinitionError, type Schema } from "@proviso/core";
import type { Score } from "../definition.ts";

/** Whether two values are the same JSON: the order of keys does not count. */
export function exact(actual: unknown, expected: unknown): boolean {
  return canonicalJson(actual) === canonicalJson(expected);
}

/**
 * Whether a number is within `absolute`, or within `relative` times the expected one, whichever is wider. NaN is close to
 * nothing.
 */
export function closeTo(
  actual: number,
  expected: number,
  tolerance: {
    /** The widest distance. Default 0. */
    readonly absolute?: number;
    /** The widest share of the expected number. Default 1e-9. */
    readonly relative?: number;
  } = {},
): boolean {
  const { absolute = 0, relative = 1e-9 } = tolerance;
  if (actual === expected) return true;
  return Math.abs(actual - expected) <= Math.max(absolute, relative * Math.abs(expected));
}

/**
 * The share of texts that stand in a text, from 0 to 1.
 * @throws {DefinitionError} for no texts.
 */
export function contains(
  actual: string,
  texts: string | readonly string[],
  options: {
    /** Whether case and the form of Unicode are passed over. Default false. */
    readonly fold?: boolean;
  } = {},
): number {
  const wanted = typeof texts === "string" ? [texts] : texts;
  if (wanted.length === 0) throw new DefinitionError("contains needs a text to look for.");
  const folded = (text: string): string => (options.fold === true ? text.normalize("NFKC").toLowerCase() : text);
  const text = folded(actual);
  return wanted.filter((each) => text.includes(folded(each))).length / wanted.length;
}

/** Whether a value fits a schema, with the issues as its reason. */
export async function fits(actual: unknown, schema: Schema): Promise<Score> {
  const result = await parseWithSchema(schema, actual);
  return result.ok ? true : { value: false, reason: describeIssues(result.issues, result.unlisted) };
}
