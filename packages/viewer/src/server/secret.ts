import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** Returns 128 random bits as text. Randomness is not injected here: a predictable token would let others read the runs. */
export function newToken(): string {
  return randomBytes(16).toString("base64url");
}

/** Whether a header carries the token; it takes the same time wherever they differ. */
export function hasToken(header: string | undefined, token: string): boolean {
  const given = createHash("sha256")
    .update(header ?? "")
    .digest();
  return timingSafeEqual(given, createHash("sha256").update(`Bearer ${token}`).digest());
}
