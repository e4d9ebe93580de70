// The texts that take the place of results and of messages.
import type { Message } from "@proviso/core";

/** Digits of a reference that the model sees; more of them are understood as well. */
const shownReference = 12;

/** How the model names a stored text. */
export function referenceOf(hash: string): string {
  return hash.slice(0, shownReference);
}

/** The text in place of a whole result; undefined `hash`: it cannot be read again. */
export function stubText(characters: number, hash: string | undefined): string {
  const what = `[Left out: a result of ${characters} characters.`;
  return hash === undefined ? `${what}]` : `${what} read_result({ "ref": "${referenceOf(hash)}" }) shows it.]`;
}

/** UTF-16 units of a stub. */
export function stubLength(characters: number, isReadable: boolean): number {
  return stubText(characters, isReadable ? "0".repeat(shownReference) : undefined).length;
}

/** A text of at most `most` units that shows both ends of a longer one; undefined `hash`: the rest cannot be read. */
export function bothEnds(text: string, most: number, hash?: string): string {
  if (text.length <= most) return text;
  const note = (from: number): string => {
    const what = `[… ${text.length} characters in all, some left out here`;
    const how = hash === undefined ? "" : `: read_result({ "ref": "${referenceOf(hash)}", "from": ${from} }) goes on`;
    return `\n\n${what}${how} …]\n\n`;
  };
  const half = Math.max(0, Math.floor((most - note(most).length) / 2));
  const from = wholeCharacters(text, half);
  return text.slice(0, from) + note(from) + text.slice(wholeCharacters(text, text.length - half));
}

/** UTF-16 units of the text with this hash of which `bothEnds` made the one that is shown. */
export function wholeLength(shown: string, hash: string): number {
  const note = `\\[… (\\d+) characters in all, some left out here: read_result\\(\\{ "ref": "${referenceOf(hash)}"`;
  const [, length = shown.length] = new RegExp(note).exec(shown) ?? [];
  return Number(length);
}

/** The place, or the one before it where that is in the middle of a character of two units. */
export function wholeCharacters(text: string, place: number): number {
  const unit = text.charCodeAt(place);
  return unit >= 0xdc00 && unit <= 0xdfff && place > 0 ? place - 1 : place;
}

/** UTF-16 units, at most, of a message that only counts others, with what is around it. */
export const noteCharacters = 120;

/** Tokens of a summary at most: one that is there already may be kept. */
export function mostOfSummary(messages: readonly Message[], maxTokens: number, rate: number): number {
  return messages.reduce(
    (most, message) => Math.max(most, (standInOf(message)?.summary.length ?? 0) * rate),
    maxTokens,
  );
}

/** The message that stands for others. */
export interface StandIn {
  /** Messages that it stands for, of all times. */
  readonly count: number;
  /** The first so many of them are summarised. */
  readonly summarised: number;
  readonly summary: string;
}

export function standInText({ count, summarised, summary }: StandIn): string {
  const what = `[${count} earlier messages were left out here.`;
  if (summary === "") return `${what}]`;
  return `${what} A summary of ${summarised === count ? "them" : `the first ${summarised}`}:]\n${summary}`;
}

const standIn = /^\[(\d+) earlier messages were left out here\.(?: A summary of (?:them|the first (\d+)):)?\](?:\n|$)/;

/** What a message stands for; undefined for one that stands for itself. */
export function standInOf({ role, text }: Message): StandIn | undefined {
  const found = role === "user" ? standIn.exec(text) : null;
  if (found === null) return undefined;
  const count = Number(found[1]);
  const summary = text.slice(found[0].length);
  return { count, summarised: summary === "" ? 0 : Number(found[2] ?? count), summary };
}
