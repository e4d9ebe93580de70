// Texts that are kept outside of a history, by the references in it.
import type { StoredFile } from "@proviso/core";
import type { Run } from "../run.ts";

const texts = new WeakMap<StoredFile, string>();

const longestName = 255;

/** Keeps the text, and returns the reference that it is found by. */
export async function keepText(
  _run: Run,
  text: string,
  { name, mediaType }: Pick<StoredFile, "name" | "mediaType">,
): Promise<StoredFile> {
  const bytes = new TextEncoder().encode(text);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hash = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const file: StoredFile = Object.freeze({
    kind: "stored",
    name: cleanName(name),
    mediaType,
    hash,
    bytes: bytes.length,
  });
  texts.set(file, text);
  return file;
}

/** The text behind a reference; undefined where it is not kept any more. */
export async function keptText(_run: Run, file: StoredFile): Promise<string | undefined> {
  return texts.get(file);
}

/** A model chooses the ids of its calls: without control characters, of at most so many UTF-16 units. */
function cleanName(name: string): string {
  return name
    .replaceAll(/\p{Cc}/gu, "_")
    .slice(0, longestName)
    .toWellFormed();
}
