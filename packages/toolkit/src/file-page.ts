import { toolError, type Filesystem, type ToolReturn } from "@proviso/core";
import { beginningOf, type UncutSecrets } from "@proviso/runtime/internal";

/** The lines and characters that one answer shows of a file, by default. */
export const defaultPage = { maxLinesPerPage: 1_000, maxCharactersPerAnswer: 40_000 } as const;

/** The page of a file that is wanted, and how it is shown. */
export interface WantedPage {
  /** The first line, from 1. */
  readonly fromLine: number;
  readonly maxLinesPerPage?: number;
  readonly maxCharactersPerAnswer?: number;
  /** The file's name for the model. Default: its path. */
  readonly shownAs?: string;
  /** A remark behind "too long and cut", for a line that does not fit. */
  readonly cut?: string;
  /** A line is cut through none of these. */
  readonly secrets: UncutSecrets | undefined;
}

/**
 * Returns a page of a text file: a line that says which lines are shown and how to go on, then the lines.
 * @throws {FilesystemError} for what cannot be read.
 */
export async function pageOfFile(
  files: Filesystem,
  path: string,
  { fromLine, shownAs = path, cut: cutNote = "", secrets, ...limits }: WantedPage,
): Promise<string | ToolReturn<never>> {
  const { maxLinesPerPage, maxCharactersPerAnswer } = { ...defaultPage, ...limits };
  const { text, totalLines } = await files.read(path, { offset: fromLine - 1, limit: maxLinesPerPage });
  if (text.includes("\0")) return toolError(`${shownAs} is not a text file.`);
  if (fromLine > Math.max(1, totalLines)) return toolError(`${shownAs} ends at line ${totalLines}.`);
  if (totalLines === 0) return `${shownAs} is empty.`;
  const { shown, lines, cut } = wholeLines(text, maxCharactersPerAnswer, secrets);
  const toLine = Math.min(totalLines, fromLine + lines - 1);
  const rest = cut ? `; line ${toLine} is too long and cut${cutNote}` : "";
  const more = toLine < totalLines ? `; go on with fromLine ${toLine + 1}` : "";
  return `lines ${fromLine}-${toLine} of ${totalLines}${rest}${more}\n${shown}`;
}

/** Returns as many whole lines as fit. A first line that is too long by itself is cut, through no secret. */
export function wholeLines(
  text: string,
  most: number,
  secrets: UncutSecrets | undefined,
): { readonly shown: string; readonly lines: number; readonly cut: boolean } {
  const of = (shown: string, cut: boolean) => ({ shown, lines: shown.split("\n").length, cut });
  if (text.length <= most) return of(text, false);
  const end = text.lastIndexOf("\n", most);
  return end >= 0 ? of(text.slice(0, end), false) : of(`${beginningOf(text, most, secrets)}…`, true);
}

const longestMatch = 400;

/** A text that was found in a line. */
export interface Match {
  readonly line: string;
  readonly at: number;
  readonly length: number;
}

/** Returns the part of a long line around the text that was found in it, with the whole of each secret that it reaches. */
export function around({ line, at, length }: Match, secrets: UncutSecrets | undefined): string {
  if (line.length <= longestMatch) return line;
  const first = Math.max(0, at - longestMatch / 4);
  const last = Math.max(first + longestMatch, first + longestMatch / 4 + length);
  const from = secrets?.beside(line, first, "before") ?? first;
  const to = last < line.length ? (secrets?.beside(line, last, "after") ?? last) : line.length;
  return `${from > 0 ? "…" : ""}${line.slice(from, to)}${to < line.length ? "…" : ""}`;
}
