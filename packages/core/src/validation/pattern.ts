// 1. A pattern may come from a server, and the text from a model: testing one takes time that grows with the length of the
//    text times that of the pattern, and no more. The platform's engine tries one way after the other, which can take time
//    that doubles with each character.
// 2. The platform's engine is asked where even its worst case is short. Otherwise all ways are followed at once: Ken
//    Thompson, "Regular Expression Search Algorithm", CACM 11(6), 1968.
// 3. Where a pattern begins with conditions, `^(?!a)(?=b)c` as zod's for an e-mail address does, each is a pattern.
import { parsePattern, type ParsedPattern, type PatternState } from "./pattern-states.ts";

/** A regular expression of a schema. */
export interface Pattern {
  /** What a character of a text costs at the most. */
  readonly size: number;
  /**
   * Whether a part of the text matches.
   * @throws {RangeError} for a text that is too long for the pattern.
   */
  test(text: string): boolean;
}

/** Ways that the platform's engine may try at the most. */
const mostWays = 1_000_000;
/** States times characters: about a quarter of a second. */
const mostSteps = 1 << 24;

/** Compiles a pattern; undefined for what is no regular expression. */
export function compilePattern(source: string): Pattern | undefined {
  const native = nativeOf(source);
  if (native === undefined) return undefined;
  const parsed = parsePattern(source, native.unicode);
  const { states } = parsed;
  const parts = states === undefined ? partsOf(source, native.unicode) : undefined;
  if (parts !== undefined) {
    return {
      size: parts.reduce((sum, { pattern }) => sum + pattern.size, 0),
      test: (text) => parts.every(({ pattern, isWanted }) => pattern.test(text) === isWanted),
    };
  }
  const longestNative = states !== undefined && parsed.isNested ? -1 : longestText(parsed);
  return {
    size: states?.length ?? 1,
    test(text) {
      if (text.length <= longestNative) return native.test(text);
      if (states === undefined || text.length * states.length > mostSteps) {
        throw new RangeError(`a text of ${text.length} characters is too long for its pattern`);
      }
      return isMatched(states, parsed.start, native.unicode ? Array.from(text) : text.split(""));
    },
  };
}

interface Part {
  readonly pattern: Pattern;
  /** Whether a text that fits has to match it, or must not. */
  readonly isWanted: boolean;
}

/** The conditions at the beginning of a pattern, and what follows them; undefined: it has none, or more than these. */
function partsOf(source: string, isUnicode: boolean): readonly Part[] | undefined {
  // A part would count other groups.
  if (/\\[1-9k]/.test(source)) return undefined;
  const parts: Part[] = [];
  const add = (part: string, isWanted: boolean): boolean => {
    const pattern = nativeOf(part)?.unicode === isUnicode ? compilePattern(part) : undefined;
    if (pattern !== undefined) parts.push({ pattern, isWanted });
    return pattern !== undefined;
  };
  let at = 1;
  for (let ahead; (ahead = /^\(\?[=!]/.exec(source.slice(at))) !== null;) {
    const end = endOfGroup(source, at);
    if (end === undefined || !add(`^(?:${source.slice(at + 3, end)})`, ahead[0] === "(?=")) return undefined;
    at = end + 1;
  }
  if (at === 1 || !source.startsWith("^") || endOfGroup(`(${source})`, 0, "|") === undefined) return undefined;
  return add(`^${source.slice(at)}`, true) ? parts : undefined;
}

/** Where the group that begins there is closed; undefined: it is not, or it has this character outside of inner groups. */
function endOfGroup(source: string, start: number, never?: string): number | undefined {
  let depth = 0;
  let isInClass = false;
  for (let at = start; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at += 1;
    else if (isInClass) isInClass = character !== "]";
    else if (character === "[") isInClass = true;
    else if (character === "(") depth += 1;
    else if (character === ")" && --depth === 0) return at;
    else if (character === never && depth === 1) return undefined;
  }
  return undefined;
}

/** Characters of a text of which the platform's engine tries few ways; -1: an empty text may have too many already. */
function longestText({ repeats, branches, alternatives, isNested }: ParsedPattern): number {
  const left = Math.log(mostWays) - alternatives;
  if (left < 0) return -1;
  return Math.floor(isNested ? left / (Math.log(branches + 2) + alternatives) : Math.exp(left / (repeats + 1)));
}

/** Patterns are Unicode ones; some servers write escapes that only the older form takes. */
function nativeOf(source: string): RegExp | undefined {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(source, flags);
    } catch {
      // The other form may do.
    }
  }
  return undefined;
}

/** Follows every way at once, from every place of the text. */
function isMatched(states: readonly PatternState[], start: number, characters: readonly string[]): boolean {
  const reachedAt = new Int32Array(states.length).fill(-1);
  let current: number[] = [];
  let isFound = false;
  const pending: number[] = [];
  const reach = (from: number, at: number, into: number[]): void => {
    pending.push(from);
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      if (reachedAt[index] === at) continue;
      reachedAt[index] = at;
      const state = states[index] as PatternState;
      if (state.kind === "end") isFound = true;
      else if (state.kind === "character") into.push(index);
      else if (state.kind === "split") pending.push(...state.next);
      else if (state.holds(characters, at)) pending.push(state.next);
    }
  };
  for (let at = 0; at <= characters.length && !isFound; at++) {
    reach(start, at, current);
    const character = characters[at];
    if (character === undefined) break;
    const following: number[] = [];
    for (const index of current) {
      const state = states[index] as Extract<PatternState, { kind: "character" }>;
      if (state.takes(character)) reach(state.next, at + 1, following);
    }
    current = following;
  }
  return isFound;
}
