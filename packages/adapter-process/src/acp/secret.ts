import { randomBytes } from "node:crypto";

/** 256 bits that nobody can guess, as text for a header. Never injected: whoever can foresee it can call the tools. */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}
