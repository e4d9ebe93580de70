import type { Frame } from "./store.ts";

/** The remainders of all bytes, for the reflected polynomial 0xedb88320. Source: RFC 1952, section 8. */
const remainders = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1;
  return remainder >>> 0;
});

const encoder = new TextEncoder();

/** Returns the CRC-32 of a frame's run, first and body, in UTF-8, a line break between two of them. */
export function frameSum({ run, first, body }: Pick<Frame, "run" | "first" | "body">): number {
  let sum = 0xffffffff;
  for (const byte of encoder.encode(`${run}\n${first}\n${body}`)) {
    sum = (remainders[(sum ^ byte) & 0xff] ?? 0) ^ (sum >>> 8);
  }
  return (sum ^ 0xffffffff) >>> 0;
}
