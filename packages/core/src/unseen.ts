// Characters that people do not see and programs read. One list: what is taken out of texts for a model is what a terminal
// and a page write out.

/**
 * Control characters but for line feed and tab, characters without width, those that turn the direction of a text, tags,
 * variation selectors, line and paragraph separators, and halves of surrogate pairs.
 */
const unseen = /[^\P{Cc}\n\t]|[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/**
 * First what is part of a letter or picture: the joiners of Persian and Hindi, and the parts of one emoji. Two in a row are
 * part of none, but for the joiner behind the selector of a picture.
 */
const partOrUnseen = new RegExp(
  String.raw`((?<=[\p{L}\p{M}\p{N}\p{S}#*])(?<!\p{Variation_Selector})[\u200c\u200d\ufe0e\ufe0f]|(?<=\ufe0f)\u200d)|${unseen.source}`,
  "gu",
);

/** Replaces each character that people do not see. */
export function replaceUnseen(text: string, by: (character: string) => string): string {
  return text.replace(unseen, by);
}

/** Writes out each character that people do not see and that does not belong to the one before it. */
export function escapeUnseen(text: string, escape: (character: string) => string): string {
  return text.replace(partOrUnseen, (found, part?: string) => part ?? escape(found));
}

/**
 * Shows a text that others wrote: no escape sequence of it reaches a terminal, and nothing of it is hidden. Line ends and
 * tabs stay.
 */
export function printable(text: string): string {
  return escapeUnseen(text, escapedAsJson);
}

/** Returns a character as JSON escapes it: each UTF-16 unit by itself. */
export function escapedAsJson(character: string): string {
  return character.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
