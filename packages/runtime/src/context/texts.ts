// Texts that are kept outside of a history, by the references in it.
import type { StoredFile } from "@proviso/core";

const texts = new WeakMap<StoredFile, string>();

/** Keeps the text, and returns the reference that it is found by. */
export async function keepText(text: string, facts: Pick<StoredFile, "name" | "mediaType">): Promise<StoredFile> {
  const bytes = new TextEncoder().encode(text);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hash = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const file: StoredFile = Object.freeze({ kind: "stored", ...facts, hash, bytes: bytes.length });
  texts.set(file, text);
  return file;
}

/** The text behind a reference; undefined where it is not kept any more. */
export function keptText(file: StoredFile): string | undefined {
  return texts.get(file);
}
