import { FilesystemError } from "@proviso/core";

const longestPattern = 1_000;

/**
 * Whether a path fits: `*` and `?` within a name, `**` across folders, `[abc]`, `{a,b}`.
 * Matched without a regular expression, in time bounded by pattern × path.
 * @throws {FilesystemError} for a pattern that is too long, absolute, or has an open bracket.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  if (pattern.length > longestPattern || pattern.startsWith("/") || pattern.includes("\0")) {
    throw new FilesystemError(`The pattern must be relative and at most ${longestPattern} characters long.`, {
      reason: "invalid_path",
      path: pattern,
    });
  }
  const alternatives = expandBraces(pattern).map((plain) => plain.replace(/^\.\//, "").split("/"));
  return (path) => alternatives.some((names) => matchNames(names, path.split("/")));
}

const mostAlternatives = 256;

function expandBraces(pattern: string): readonly string[] {
  // One that has none inside, so that nested ones are taken from within.
  const found = /^(.*)\{([^{}]*)\}(.*)$/s.exec(pattern);
  if (found === null) return [pattern];
  const [, before = "", inner = "", after = ""] = found;
  const choices = inner.split(",").flatMap((choice) => expandBraces(`${before}${choice}${after}`));
  const expanded = [...new Set(choices)];
  if (expanded.length <= mostAlternatives) return expanded;
  throw new FilesystemError(`The pattern has more than ${mostAlternatives} alternatives.`, {
    reason: "invalid_path",
    path: pattern,
  });
}

/** Both by dynamic programming: no pattern makes it backtrack. */
function matchNames(pattern: readonly string[], names: readonly string[]): boolean {
  return matchSequence(pattern, names, (part) => part === "**", matchName);
}

function matchName(pattern: string, name: string): boolean {
  return matchSequence(tokens(pattern), Array.from(name), (token) => token === "*", matchCharacter);
}

function matchSequence(
  pattern: readonly string[],
  items: readonly string[],
  isMany: (part: string) => boolean,
  matchesOne: (part: string, item: string) => boolean,
): boolean {
  let reachable = Array.from({ length: items.length + 1 }, () => false);
  reachable[0] = true;
  for (const part of pattern) {
    const next = Array.from({ length: items.length + 1 }, () => false);
    for (let at = 0; at <= items.length; at++) {
      if (isMany(part)) next[at] = reachable[at] === true || (at > 0 && next[at - 1] === true);
      else next[at] = at > 0 && reachable[at - 1] === true && matchesOne(part, items[at - 1] as string);
    }
    reachable = next;
  }
  return reachable[items.length] === true;
}

function tokens(pattern: string): readonly string[] {
  return pattern.match(/\[[^\]]+\]|[\s\S]/gu) ?? [];
}

function matchCharacter(token: string, character: string): boolean {
  if (token === "?") return true;
  if (token.length === 1 || !token.startsWith("[")) return token === character;
  const negated = /^\[[!^]/.test(token);
  const set = Array.from(token.slice(negated ? 2 : 1, -1));
  let within = false;
  for (let at = 0; at < set.length; at++) {
    const from = set[at] as string;
    const to = set[at + 1] === "-" ? set[at + 2] : undefined;
    within ||= to === undefined ? from === character : character >= from && character <= to;
    if (to !== undefined) at += 2;
  }
  return within !== negated;
}
