import { StringDecoder } from "node:string_decoder";

/** Bytes that are kept up to a limit: the first of them, or the last. */
export interface OutputBuffer {
  /** false: there are more than the limit. */
  add(chunk: Buffer): boolean;
  /** The number of bytes that arrived, kept or not. */
  length(): number;
  bytes(): Buffer;
}

/** Keeps nothing beyond `limit`. */
export function firstBytes(limit: number): OutputBuffer {
  const chunks: Buffer[] = [];
  let length = 0;
  return {
    add(chunk) {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      return length <= limit;
    },
    length: () => length,
    bytes: () => Buffer.concat(chunks),
  };
}

/** Keeps the end, from the beginning of a character of UTF-8. */
function lastBytes(limit: number): OutputBuffer {
  let chunks: Buffer[] = [];
  let kept = 0;
  let length = 0;
  const bytes = (): Buffer => lastOf(Buffer.concat(chunks), limit);
  return {
    add(chunk) {
      chunks.push(chunk);
      kept += chunk.length;
      length += chunk.length;
      if (kept > 2 * limit) {
        // A copy, or the view would hold all that it was cut from.
        chunks = [Buffer.from(bytes())];
        kept = chunks[0]?.length ?? 0;
      }
      return length <= limit;
    },
    length: () => length,
    bytes,
  };
}

function lastOf(all: Buffer, limit: number): Buffer {
  let from = Math.max(0, all.length - limit);
  while (from > 0 && isWithinCharacter(all[from])) from += 1;
  return all.subarray(from);
}

/** The end of a text that arrives as bytes. */
export interface LastText {
  add(chunk: Buffer): void;
  text(): string;
}

/** How a text is kept. */
export interface Keeping {
  /** Where it is cut instead, so that no part of a secret is left. */
  readonly beside?: Beside | undefined;
  /** Returns what is kept of a part, without what people do not see, so that a secret stands together before the cut. Default: all. */
  readonly seen?: ((part: string) => string) | undefined;
}

/**
 * Keeps at most `limit` bytes of UTF-8 from the end. As many before them are kept and not shown: `beside` moves the cut
 * behind a secret that it would go through.
 */
export function lastText(limit: number, { beside = (_, at) => at, seen }: Keeping = {}): LastText {
  const kept = lastBytes(2 * limit);
  const decoder = new StringDecoder();
  return {
    add: (chunk) => void kept.add(seen === undefined ? chunk : Buffer.from(seen(decoder.write(chunk)))),
    text() {
      const all = kept.bytes();
      const text = all.toString();
      const at = text.length - lastOf(all, limit).toString().length;
      return at === 0 ? text : text.slice(beside(text, at, "after"));
    },
  };
}

/** Returns where a text is cut instead. */
export type Beside = (text: string, at: number, side: "after") => number;

function isWithinCharacter(byte: number | undefined): boolean {
  return byte !== undefined && byte >> 6 === 0b10;
}
