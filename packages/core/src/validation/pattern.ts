// 1. A pattern may come from a server, and the text from a model: testing one takes time that grows with the length of the
//    text times that of the pattern, and no more. The platform's engine tries one way after the other, which can take time
//    that doubles with each character.
// 2. The platform's engine is asked where even its worst case is short. Otherwise all ways are followed at once: Ken
//    Thompson, "Regular Expression Search Algorithm", CACM 11(6), 1968.
import { parsePattern, type PatternState } from "./pattern-states.ts";

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
  const { states, repeats, branches, isNested } = parsed;
  const longest = isNested ? Math.log(mostWays) / Math.log(branches + 2) : mostWays ** (1 / (repeats + 1));
  const longestNative = isNested && states !== undefined ? 0 : Math.floor(longest);
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
