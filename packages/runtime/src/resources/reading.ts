import { FilesystemError, type Filesystem } from "@proviso/core";
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

const defaultMaxMatches = 1_000;

/** Literal text in the files, line by line; what has a NUL byte, or cannot be read any more, is passed over. */
export async function grepFiles(
  paths: AsyncIterable<{ readonly path: string; read(): Promise<Uint8Array> }>,
  text: string,
  { glob, maxMatches = defaultMaxMatches }: { readonly glob?: string; readonly maxMatches?: number } = {},
): ReturnType<Filesystem["grep"]> {
  const matches: { path: string; line: number; text: string }[] = [];
  const fits = glob === undefined ? () => true : globMatcher(glob);
  if (text === "") return matches;
  for await (const file of paths) {
    if (!fits(file.path)) continue;
    const bytes = await file.read().catch(unreadable);
    if (bytes === undefined || bytes.includes(0)) continue;
    for (const [index, line] of decodeText(bytes).split("\n").entries()) {
      if (!line.includes(text)) continue;
      matches.push({ path: file.path, line: index + 1, text: line });
      if (matches.length >= maxMatches) return matches;
    }
  }
  return matches;
}

function unreadable(error: unknown): undefined {
  if (!(error instanceof FilesystemError)) throw error;
}
