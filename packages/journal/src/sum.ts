import { hostModule } from "@proviso/core/internal";
import type { Frame } from "./store.ts";

/** The remainders of all bytes, for the reflected polynomial 0xedb88320. Source: RFC 1952, section 8. */
const remainders = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1;
  return remainder >>> 0;
});

const encoder = new TextEncoder();

/** Returns the host's own CRC-32 of a text, which takes a small part of the time; undefined where it has none. */
function hostCrc32(): ((text: string) => number) | undefined {
  const crc32 = hostModule<{ crc32(text: string): number }>("node:zlib")?.crc32;
  return crc32 && ((text) => crc32(text));
}

/** The CRC-32 of a text in UTF-8, where the host has none. */
export function ownCrc32(text: string): number {
  let sum = 0xffffffff;
  for (const byte of encoder.encode(text)) {
    sum = (remainders[(sum ^ byte) & 0xff] ?? 0) ^ (sum >>> 8);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

const crc32 = /* @__PURE__ */ hostCrc32() ?? ownCrc32;

/** Returns the CRC-32 of a frame's run, first and body, in UTF-8, a line break between two of them. */
export function frameSum({ run, first, body }: Pick<Frame, "run" | "first" | "body">): number {
  return crc32(`${run}\n${first}\n${body}`);
}
