import { textFinder } from "@proviso/core/internal";

/** UTF-16 units that an edit may make of a file. */
const longestEdited = 16 * 1024 * 1024;

/** Places that an edit replaces. All are replaced at a stretch, while no deadline and no abort is noticed. */
const mostPlaces = 250_000;

/** What to replace by what, and in which file, as the model asked for it. */
export interface WantedEdit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Each place; otherwise there must be one. */
  readonly all: boolean;
}

/** The edited text and how many places were replaced, or why it cannot be edited so. */
export function editOf(
  text: string,
  { file, find, replace, all }: WantedEdit,
): { readonly text: string; readonly times: number } | { readonly refusal: string } {
  const places = placesOf(find, text);
  const times = places.length;
  if (times === 0) {
    const isOtherLineEnd = textFinder(find.replaceAll(/\r?\n/g, "\r\n"))(text) !== -1;
    if (isOtherLineEnd) return { refusal: `The lines of ${file} end with \\r\\n: write it so in find and replace.` };
    return { refusal: `${file} does not contain that text. Read the file and copy it exactly.` };
  }
  if (times > 1 && !all) {
    return { refusal: `${file} contains that text ${times} times. Give more of it, or set all.` };
  }
  const [first] = places;
  if (!all && first !== undefined && textFinder(find)(text, first + 1) !== -1) {
    return { refusal: `${file} contains that text again, beginning within the first place. Give more of it.` };
  }
  if (times > mostPlaces) {
    return {
      refusal: `${file} contains that text more than ${mostPlaces} times: an edit replaces no more. Give more of it.`,
    };
  }
  const length = text.length + times * (replace.length - find.length);
  if (length > Math.max(longestEdited, text.length)) {
    const limit = `an edit makes no file longer than ${longestEdited}`;
    return { refusal: `${file} would have ${length} characters, and ${limit}. Replace less.` };
  }
  return { text: replaced(text, places, find.length, replace), times };
}

/** Where a text stands in another, from left to right, none over another; one more than an edit may replace at the most. */
function placesOf(find: string, text: string): readonly number[] {
  const next = textFinder(find);
  const places: number[] = [];
  for (let at = next(text); at !== -1 && places.length <= mostPlaces; at = next(text, at + find.length))
    places.push(at);
  return places;
}

function replaced(text: string, places: readonly number[], length: number, by: string): string {
  const kept: string[] = [];
  let from = 0;
  for (const place of places) {
    kept.push(text.slice(from, place));
    from = place + length;
  }
  return [...kept, text.slice(from)].join(by);
}
