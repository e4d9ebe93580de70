import { FilesystemError } from "@proviso/core";
import { expandBraces } from "./braces.ts";

const longestPattern = 1_000;

/**
 * Whether a path fits: `*` and `?` within a name, `**` across folders, `[abc]`, `{a,b}`.
 * Matched without a regular expression, in time bounded by pattern × path; what is longer than a path is passed over.
 * @throws {FilesystemError} for a pattern that is too long, absolute, or has too many alternatives.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  if (pattern.length > longestPattern || pattern.startsWith("/") || pattern.includes("\0")) {
    throw new FilesystemError(`The pattern must be relative and at most ${longestPattern} characters long.`, {
      reason: "invalid_path",
      path: pattern,
    });
  }
  const alternatives = expandBraces(pattern).map((plain) =>
    matcher(plain.replace(/^\.\//, "").split("/"), (name) => name === "**", nameMatcher),
  );
  return (path) => {
    const names = path.split("/").map((name) => Array.from(name));
    return alternatives.some((fits) => fits(names));
  };
}

type Fits<T> = (item: T) => boolean;

/** Matches a name, given as its characters. */
function nameMatcher(pattern: string): Fits<readonly string[]> {
  return matcher(tokens(pattern), (token) => token === "*", characterMatcher);
}

/** Matches a list of items with a list of parts, some of which stand for any number of items. */
function matcher<T>(
  parts: readonly string[],
  isMany: (part: string) => boolean,
  fitting: (part: string) => Fits<T>,
): Fits<readonly T[]> {
  const runs: Fits<T>[][] = [[]];
  for (const part of parts) {
    if (isMany(part)) runs.push([]);
    else runs.at(-1)?.push(fitting(part));
  }
  const fewest = runs.reduce((sum, { length }) => sum + length, 0);
  const [first = [], ...others] = runs;
  const last = others.pop();
  return (items) => {
    if (items.length < fewest || !fitsAt(first, items, 0)) return false;
    if (last === undefined) return items.length === fewest;
    const end = items.length - last.length;
    if (!fitsAt(last, items, end)) return false;
    // The first place where a run fits leaves most to those after it: nothing is tried again.
    let at = first.length;
    for (const run of others) {
      while (at + run.length <= end && !fitsAt(run, items, at)) at += 1;
      at += run.length;
      if (at > end) return false;
    }
    return true;
  };
}

function fitsAt<T>(run: readonly Fits<T>[], items: readonly T[], at: number): boolean {
  return run.every((fits, index) => fits(items[at + index] as T));
}

function tokens(pattern: string): readonly string[] {
  return pattern.match(/\[[^\]]+\]|[\s\S]/gu) ?? [];
}

function characterMatcher(token: string): Fits<string> {
  if (token === "?") return () => true;
  if (token.length === 1 || !token.startsWith("[")) return (character) => character === token;
  const isNegated = /^\[[!^]/.test(token);
  const set = Array.from(token.slice(isNegated ? 2 : 1, -1));
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < set.length; at++) {
    const from = set[at] as string;
    const to = set[at + 1] === "-" ? set[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return (character) => ranges.some(([from, to]) => character >= from && character <= to) !== isNegated;
}
