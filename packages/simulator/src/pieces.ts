import type { JsonObject } from "./types.ts";

/** A server-sent event before it is written: a name where the API gives one, and its data. */
export interface StreamedEvent {
  readonly name?: string | undefined;
  /** An object is sent as JSON, a string as it is. */
  readonly data: JsonObject | string;
}

export interface Streaming {
  /** UTF-16 units of one delta. Default 16. */
  readonly chunkCharacters: number;
  /** Chat: whether the request asked for the usage. */
  readonly includeUsage: boolean;
}

/** The most pieces of one text: a huge one comes in larger pieces. */
const mostPieces = 10_000;

/** Never through the middle of a character: the service cuts at tokens. */
export function pieces(text: string, atLeast: number): readonly string[] {
  const characters = Math.max(atLeast, Math.ceil(text.length / mostPieces));
  const all: string[] = [];
  for (let from = 0; from < text.length;) {
    let to = Math.min(text.length, from + characters);
    const last = text.charCodeAt(to - 1);
    if (to < text.length && last >= 0xd800 && last <= 0xdbff) to += 1;
    all.push(text.slice(from, to));
    from = to;
  }
  return all;
}
