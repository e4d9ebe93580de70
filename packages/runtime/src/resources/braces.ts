import { FilesystemError } from "@proviso/core";

const mostAlternatives = 256;
/** UTF-16 units of all alternatives together. */
const mostCharacters = 16_384;

/**
 * The patterns that one with `{a,b}` stands for, each once. A brace without its partner is a character like others.
 * @throws {FilesystemError} for more than 256 alternatives, equal ones counted each, or 16,384 characters of them.
 */
export function expandBraces(pattern: string): readonly string[] {
  if (!pattern.includes("{")) return [pattern];
  const partners = bracePairs(pattern);
  /** The choices that have ended and the texts before the group, for each open group. */
  const open: { readonly choices: string[]; readonly before: readonly string[] }[] = [];
  let current: readonly string[] = [""];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] as string;
    const group = open.at(-1);
    if (char === "{" && partners.has(at)) {
      open.push({ choices: [], before: current });
      current = [""];
    } else if (char === "," && group !== undefined) {
      group.choices.push(...current);
      current = [""];
    } else if (char === "}" && partners.has(at) && group !== undefined) {
      open.pop();
      current = joined(group.before, [...group.choices, ...current], pattern);
    } else current = current.map((text) => text + char);
    check(current, pattern);
  }
  return [...new Set(current)];
}

/** Where braces stand that belong together. */
function bracePairs(pattern: string): ReadonlySet<number> {
  const pairs = new Set<number>();
  const opened: number[] = [];
  for (let at = 0; at < pattern.length; at++) {
    if (pattern[at] === "{") opened.push(at);
    if (pattern[at] !== "}") continue;
    const start = opened.pop();
    if (start !== undefined) pairs.add(start).add(at);
  }
  return pairs;
}

function joined(before: readonly string[], choices: readonly string[], pattern: string): readonly string[] {
  if (before.length * choices.length > mostAlternatives) throw refusal(pattern, mostAlternatives, "alternatives");
  return before.flatMap((start) => choices.map((choice) => start + choice));
}

function check(alternatives: readonly string[], pattern: string): void {
  if (alternatives.length > mostAlternatives) throw refusal(pattern, mostAlternatives, "alternatives");
  const characters = alternatives.reduce((sum, { length }) => sum + length, 0);
  if (characters > mostCharacters) throw refusal(pattern, mostCharacters, "characters in its alternatives");
}

function refusal(pattern: string, most: number, what: string): FilesystemError {
  const message = `The pattern has more than ${most} ${what}: give fewer in braces.`;
  return new FilesystemError(message, { reason: "invalid_path", path: pattern });
}
