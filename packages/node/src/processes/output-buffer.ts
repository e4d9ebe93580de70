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
export function lastBytes(limit: number): OutputBuffer {
  let chunks: Buffer[] = [];
  let kept = 0;
  let length = 0;
  const bytes = (): Buffer => {
    const all = Buffer.concat(chunks);
    let from = Math.max(0, all.length - limit);
    while (from > 0 && isWithinCharacter(all[from])) from += 1;
    return all.subarray(from);
  };
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

function isWithinCharacter(byte: number | undefined): boolean {
  return byte !== undefined && byte >> 6 === 0b10;
}
