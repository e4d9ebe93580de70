import { randomBytes, timingSafeEqual } from "node:crypto";

/**
 * Returns 256 random bits as text for a header. Randomness is not injected here: a predictable secret would let others
 * call the tools.
 */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Compares in a time that does not depend on where they differ. */
export function isSameSecret(given: string | undefined, expected: string): boolean {
  const [a, b] = [Buffer.from(given ?? ""), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
