// What JSON escapes, read back. A model, a program or a service may write any letter of a secret as an escape: what parses
// the text has the secret.
//
// 1. The work is linear in the text, and of what was read only an escape that has no end yet is kept.

/** JSON text inside JSON text, so many times: a tool's arguments in the body of an answer in the payload of an error. */
export const jsonInJson = 4;

/** An escape, or the beginning of one at the end of a text. */
const escape = /\\(?:(["\\/bfnrt])|u([\da-fA-F]{4})|(?:u[\da-fA-F]{0,3})?$)/g;
/** What stands for the letter behind a backslash; a letter that is not here stands for itself. */
const letters: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const charOf = (letter: string): string => letters[letter] ?? letter;

/** Finds, however deep, an escape that may be part of one of these texts. */
export function escapesIn(texts: readonly string[]): RegExp {
  const used = Array.from('"/bfnrt\\').filter((letter) => texts.some((text) => text.includes(charOf(letter))));
  return new RegExp(`\\\\[u${used.join("").replace("\\", "\\\\")}]`);
}

/** Whether a text is one that is looked for, or reads so when its escapes are read, some times over. */
export function readsAs(text: string, escapes: RegExp, isWanted: (text: string) => boolean): boolean {
  if (isWanted(text)) return true;
  let read = text;
  for (let left = jsonInJson; left > 0 && hasEscapes(read, escapes); left--) {
    const reader = new EscapeReader();
    read = reader.read(read) + reader.end();
    if (isWanted(read)) return true;
  }
  return false;
}

/** Whether there are any that `escapesIn` finds. To look for a backslash alone costs next to nothing. */
function hasEscapes(text: string, escapes: RegExp): boolean {
  return text.includes("\\") && escapes.test(text);
}

/** Whether a piece of a text has one that `escapesIn` finds, or may be the beginning of one. */
export function mayHaveEscapes(piece: string, escapes: RegExp): boolean {
  return piece.endsWith("\\") || hasEscapes(piece, escapes);
}

/** Reads a text that comes in pieces, once: what is no escape stays as it is. */
export class EscapeReader {
  /** The beginning of an escape. */
  #rest = "";
  /** The place of what is read next. */
  #at: number;
  /** The places behind the escapes, in what was returned. */
  #places: number[] = [];
  /** How many characters further on each of these places is in the text. */
  #shifts: number[] = [];
  #shift = 0;
  /** How many characters further on the places before these are. */
  #forgotten = 0;

  /** `at`: the place of what it reads first, in the text and in what it returns. */
  constructor(at = 0) {
    this.#at = at;
  }

  read(piece: string): string {
    const text = this.#rest + piece;
    this.#rest = "";
    const read = text.replace(escape, (written: string, letter?: string, code?: string, at = 0) => {
      if (letter === undefined && code === undefined) {
        this.#rest = written;
        return "";
      }
      this.#shift += written.length - 1;
      this.#places.push(this.#at + at + written.length - this.#shift);
      this.#shifts.push(this.#shift);
      return letter === undefined ? String.fromCharCode(Number.parseInt(code as string, 16)) : charOf(letter);
    });
    this.#at += text.length - this.#rest.length;
    return read;
  }

  /** Returns what is left: it is no escape. */
  end(): string {
    const rest = this.#rest;
    this.#rest = "";
    this.#at += rest.length;
    return rest;
  }

  /** Returns where in the text a place is of what was returned. */
  placeOf(at: number): number {
    const mark = this.#firstBehind(at) - 1;
    return at + (mark === -1 ? this.#forgotten : (this.#shifts[mark] as number));
  }

  /** No place before this one will be asked for any more. */
  forget(before: number): void {
    const known = this.#firstBehind(before) - 1;
    // What is kept is moved, which costs less than what is forgotten.
    if (known < 1 || known * 2 < this.#places.length) return;
    this.#forgotten = this.#shifts[known - 1] as number;
    this.#places = this.#places.slice(known);
    this.#shifts = this.#shifts.slice(known);
  }

  /** Returns the number of the first mark whose place is behind this one. */
  #firstBehind(at: number): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#places[middle] as number) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
