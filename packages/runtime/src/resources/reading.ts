import { FilesystemError, type Filesystem } from "@proviso/core";
import { textFinder } from "@proviso/core/internal";
import { globMatcher } from "./glob.ts";

/** The part of a text that `read` was asked for. Lines end with \n; a last line without one counts. */
export function selectLines(
  text: string,
  range: { readonly offset?: number; readonly limit?: number } = {},
): Awaited<ReturnType<Filesystem["read"]>> {
  const [offset, limit] = [Math.max(0, range.offset ?? 0), Math.max(0, range.limit ?? Infinity)];
  const lines = text.split("\n");
  const totalLines = text === "" ? 0 : lines.length - (text.endsWith("\n") ? 1 : 0);
  if (offset === 0 && limit >= totalLines) return { text, totalLines, truncated: false };
  const last = Math.min(totalLines, offset + limit);
  const selected = lines.slice(offset, last).join("\n");
  return { text: selected, totalLines, truncated: last < totalLines };
}

const decoder = new TextDecoder("utf-8");

/** Text of UTF-8 bytes; what is not UTF-8 shows as U+FFFD. */
export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Returns what `selectLines` returns for the whole text, which is never held in memory. */
export async function readLines(
  chunks: AsyncIterable<Uint8Array>,
  range: { readonly offset?: number; readonly limit?: number },
): ReturnType<Filesystem["read"]> {
  const [offset, limit] = [Math.max(0, range.offset ?? 0), Math.max(0, range.limit ?? Infinity)];
  const selected: string[] = [];
  let [count, last] = [0, ""];
  for await (const lines of linesOf(chunks)) {
    for (const line of lines.slice(Math.max(0, offset - count), Math.max(0, offset + limit - count)))
      selected.push(line);
    count += lines.length;
    last = lines.at(-1) ?? "";
  }
  const endsOpen = last !== "";
  const totalLines = endsOpen ? count : count - 1;
  if (count > totalLines && offset + limit > totalLines && offset <= totalLines) selected.pop();
  const isWhole = offset === 0 && limit >= totalLines;
  const text = selected.join("\n") + (isWhole && !endsOpen && totalLines > 0 ? "\n" : "");
  return { text, totalLines, truncated: Math.min(totalLines, offset + limit) < totalLines };
}

/** Some at a time; the last one is what follows the last \n. A longer line comes as an empty one. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>, longest = Infinity): AsyncGenerator<readonly string[]> {
  const streaming = new TextDecoder("utf-8");
  let unended: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const [first = "", ...rest] = streaming.decode(chunk, { stream: true }).split("\n");
    length += first.length;
    if (length <= longest) unended.push(first);
    else unended = [];
    const last = rest.pop();
    if (last === undefined) continue;
    yield [unended.join(""), ...rest];
    unended = [last];
    length = last.length;
  }
  yield [unended.join("") + streaming.decode()];
}

/** A file that a search looks into, and how to read it. */
export interface SearchedFile {
  readonly path: string;
  chunks(): AsyncIterable<Uint8Array>;
}
type Match = Awaited<ReturnType<Filesystem["grep"]>>[number];

const defaultMaxMatches = 1_000;

/** UTF-16 units of a line that is searched: what is put together of a longer one could not be held. */
const longestLine = 16 * 1024 * 1024;

/**
 * Literal text in the files, line by line; what has a NUL byte, or cannot be read any more, is passed over, and so is a
 * line that is too long.
 */
export async function grepFiles(
  files: AsyncIterable<SearchedFile>,
  text: string,
  { glob, maxMatches = defaultMaxMatches }: { readonly glob?: string; readonly maxMatches?: number } = {},
): Promise<readonly Match[]> {
  const matches: Match[] = [];
  const fits = glob === undefined ? () => true : globMatcher(glob);
  if (text === "") return matches;
  const find = textFinder(text);
  const contains = (line: string): boolean => find(line) !== -1;
  for await (const file of files) {
    if (!fits(file.path)) continue;
    for (const match of await matchesIn(file, contains, maxMatches - matches.length)) matches.push(match);
    if (matches.length >= maxMatches) return matches;
  }
  return matches;
}

async function matchesIn(
  file: SearchedFile,
  contains: (line: string) => boolean,
  most: number,
): Promise<readonly Match[]> {
  const matches: Match[] = [];
  let number = 0;
  try {
    for await (const lines of linesOf(withoutNul(file.chunks()), longestLine)) {
      for (const line of lines) {
        number++;
        if (matches.length < most && line.length <= longestLine && contains(line))
          matches.push({ path: file.path, line: number, text: line });
      }
    }
    return matches;
  } catch (error) {
    if (error === binary || error instanceof FilesystemError) return [];
    throw error;
  }
}

const binary = new Error("It is not text.");

async function* withoutNul(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    if (chunk.includes(0)) throw binary;
    yield chunk;
  }
}
