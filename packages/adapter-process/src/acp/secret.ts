import { randomBytes } from "node:crypto";

/**
 * Returns 256 random bits as text for a header. Randomness is not injected here: a predictable secret would let others
 * call the tools.
 */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}
