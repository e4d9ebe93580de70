// Reads a regular expression as states: what one character is, the platform's engine decides.

/** A place in a pattern. */
export type PatternState =
  | { readonly kind: "end" }
  | { readonly kind: "character"; readonly takes: (character: string) => boolean; next: number }
  | { readonly kind: "split"; next: readonly number[] }
  | { readonly kind: "assertion"; readonly holds: Assertion; next: number };

type Assertion = (characters: readonly string[], at: number) => boolean;

/** What a pattern consists of. */
export interface ParsedPattern {
  /** undefined: it looks around, refers back, or has too many states. */
  readonly states: readonly PatternState[] | undefined;
  /** Index of the state in which it begins. */
  readonly start: number;
  /** How many of its parts may be repeated or left out. */
  readonly repeats: number;
  /** Repeats, and alternatives. */
  readonly branches: number;
  /** The natural logarithm of the number of ways through its alternatives, in all their combinations. */
  readonly alternatives: number;
  /** Whether a part that is repeated has a branch inside: the ways through it double with each character, or worse. */
  readonly isNested: boolean;
}

const mostStates = 5_000;
/** UTF-16 units of a pattern that is read. */
const longestSource = 4_096;

/** Part of a pattern: builds its states in front of `next`, and returns where they begin. */
type Part = (next: number) => number;

class TooMuch extends Error {}

/** Reads a pattern that the platform has compiled. */
export function parsePattern(source: string, isUnicode: boolean): ParsedPattern {
  const many = source.length;
  if (many > longestSource) {
    return { states: undefined, start: 0, repeats: many, branches: many, alternatives: Infinity, isNested: true };
  }
  const reading = new Reading(source, isUnicode);
  const whole = reading.alternatives();
  const { repeats, branches, ways, isNested } = reading;
  const other = { states: undefined, start: 0, repeats, branches, alternatives: ways, isNested };
  if (whole === undefined) return other;
  try {
    const end = reading.add({ kind: "end" });
    return { ...other, start: whole(end), states: reading.states };
  } catch (error) {
    if (error instanceof TooMuch) return other;
    throw error;
  }
}

const isWord = (character: string | undefined): boolean => character !== undefined && /^\w$/.test(character);
const isBoundary: Assertion = (characters, at) => isWord(characters[at - 1]) !== isWord(characters[at]);
const assertions: Readonly<Record<string, Assertion>> = {
  "^": (_, at) => at === 0,
  $: (characters, at) => at === characters.length,
  "\\b": isBoundary,
  "\\B": (characters, at) => !isBoundary(characters, at),
};

/** One character of a pattern: an escape, a set, any other. Surrogate pairs are one in the Unicode form. */
const unicodeAtom =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u\{[\da-fA-F]+\}|\\[pP]\{[^}]*\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\c[A-Za-z]|\\[^1-9k]|\[(?:\\.|[^\]\\])*\]|[^\\]/suy;
const olderAtom = /\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\c[A-Za-z]|\\[^1-9kbB]|\[(?:\\.|[^\]\\])*\]|[^\\]/sy;
const quantifier = /(?:([*+?])|\{(\d+)(,(\d*))?\})\??/y;

class Reading {
  readonly states: PatternState[] = [];
  repeats = 0;
  /** The logarithm of the ways through the alternatives so far. */
  ways = 0;
  isNested = false;
  readonly #source: string;
  readonly #isUnicode: boolean;
  #at = 0;
  #built = 0;
  /** What was repeated so far, and alternatives. */
  branches = 0;

  constructor(source: string, isUnicode: boolean) {
    this.#source = source;
    this.#isUnicode = isUnicode;
  }

  add(state: PatternState): number {
    if (this.states.length >= mostStates) throw new TooMuch();
    return this.states.push(state) - 1;
  }

  /** undefined: something in it is not read here. All of it is looked at nevertheless. */
  alternatives(): Part | undefined {
    const ways: (Part | undefined)[] = [this.#sequence()];
    while (this.#takes("|")) {
      this.branches += 1;
      ways.push(this.#sequence());
    }
    this.ways += Math.log(ways.length);
    const known = ways.filter((way) => way !== undefined);
    if (known.length < ways.length) return undefined;
    const [only] = known;
    if (known.length === 1) return only;
    return (next) => this.add({ kind: "split", next: known.map((way) => way(next)) });
  }

  #sequence(): Part | undefined {
    const parts: (Part | undefined)[] = [];
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source[this.#at] ?? "")) parts.push(this.#repeated());
    if (parts.includes(undefined)) return undefined;
    return (next) => (parts as Part[]).reduceRight((following, part) => part(following), next);
  }

  #repeated(): Part | undefined {
    const before = { branches: this.branches, ways: this.ways };
    const part = this.#single();
    const found = this.#match(quantifier);
    if (found === undefined) return part;
    if (this.branches > before.branches) this.isNested = true;
    this.branches += 1;
    this.repeats += 1;
    const [, sign, least = sign === "+" ? "1" : "0", range, most = range === undefined ? least : ""] = found;
    const [from, to] = [Number(least), sign === "?" ? 1 : sign !== undefined || most === "" ? Infinity : Number(most)];
    this.ways += (this.ways - before.ways) * Math.min(mostStates, Math.max(0, from - 1));
    return part && ((next) => this.#times(part, from, to, next));
  }

  #times(part: Part, least: number, most: number, next: number): number {
    let begin = next;
    let left = least;
    if (most === Infinity) {
      const loop: { kind: "split"; next: readonly number[] } = { kind: "split", next: [] };
      const index = this.add(loop);
      const again = part(index);
      loop.next = [again, next];
      begin = least === 0 ? index : again;
      left -= 1;
    } else for (let time = least; time < most; time++) begin = this.add({ kind: "split", next: [part(begin), next] });
    for (; left > 0; left--) {
      // An empty part adds no state however often it is repeated.
      if (++this.#built > mostStates) throw new TooMuch();
      begin = part(begin);
    }
    return begin;
  }

  #single(): Part | undefined {
    const two = this.#source.slice(this.#at, this.#at + 2);
    const assertion = assertions[two] ?? assertions[two[0] ?? ""];
    if (assertion !== undefined) {
      this.#at += assertions[two] === undefined ? 1 : 2;
      return (next) => this.add({ kind: "assertion", holds: assertion, next });
    }
    return two[0] === "(" ? this.#group() : this.#character();
  }

  #group(): Part | undefined {
    const opening = this.#match(/\((?:\?(?:[a-z-]*:|<?[=!]|<[^>]*>))?/y)?.[0] ?? "";
    const inside = this.alternatives();
    this.#takes(")");
    return opening === "(" || opening === "(?:" || /^\(\?<[^=!]/.test(opening) ? inside : undefined;
  }

  #character(): Part | undefined {
    const atom = this.#match(this.#isUnicode ? unicodeAtom : olderAtom)?.[0];
    if (atom === undefined) {
      // A reference to a group, by its number or its name.
      this.#match(/\\(?:k<[^>]*>|\d+|.)/sy);
      return undefined;
    }
    const takes = characterTest(atom, this.#isUnicode);
    return (next) => this.add({ kind: "character", takes, next });
  }

  #takes(character: string): boolean {
    if (this.#source[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#source) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }
}

/** Characters of ASCII are remembered. */
function characterTest(atom: string, isUnicode: boolean): (character: string) => boolean {
  const expression = new RegExp(`^(?:${atom})$`, isUnicode ? "u" : "");
  const known: (boolean | undefined)[] = [];
  return (character) => {
    const code = character.charCodeAt(0);
    if (code > 127) return expression.test(character);
    return (known[code] ??= expression.test(character));
  };
}
