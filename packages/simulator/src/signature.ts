import { createHash } from "node:crypto";

/** What a service seals its thoughts with, so that it knows them again. */
export function sealOf(text: string): string {
  return Buffer.from(`sealed by the simulator: ${createHash("sha256").update(text).digest("base64url")}`).toString(
    "base64",
  );
}

/** Whether a seal is that of the text. */
export function isSealOf(seal: unknown, text: string): boolean {
  return seal === sealOf(text);
}
