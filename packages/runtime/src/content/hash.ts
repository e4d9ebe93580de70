import { sha256 } from "@proviso/core/internal";

/** Bytes that are hashed at once: Node takes 2 ms for them, other hosts 20. */
const mostAtOnce = 4 * 1024 * 1024;

/** The SHA-256 of bytes, hexadecimal. What a thread does takes real time, in which an injected clock would run ahead. */
export async function hashOf(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= mostAtOnce) return sha256(bytes, "hex");
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
