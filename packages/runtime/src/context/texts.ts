// Texts that a history does not show, kept where files are kept.
import { BlobError, type StoredFile } from "@proviso/core";
import { cleanName, messageOf } from "@proviso/core/internal";
import { blobsOf, bytesBehind, keep } from "../content/read-file.ts";
import { isFailure } from "../failures.ts";
import type { Run } from "../run.ts";

/**
 * Keeps a text that shows no secret, and returns the reference that it is found by. A text that cannot be stored is kept
 * with the reference alone: a history is the same then, also where its run goes on.
 */
export async function keepText(
  run: Run,
  text: string,
  { name, mediaType }: Pick<StoredFile, "name" | "mediaType">,
): Promise<StoredFile> {
  const bytes = new TextEncoder().encode(text);
  const facts = { name: cleanName(name), mediaType };
  try {
    const file = await (run.limits.unrecorded ?? run.limits).race(keep(bytes, facts, storeOf(run)), "request");
    if (!isFailure(file)) return file;
  } catch (error) {
    run.log("warn", { turn: run.turn, name: facts.name, error: messageOf(error) }, "history.text.not_stored");
  }
  return keep(bytes, facts, undefined);
}

/** What is answered from a record was stored when it was recorded. */
function storeOf(run: Run): ReturnType<typeof blobsOf> {
  return run.tape?.sendsNothing === true ? undefined : blobsOf(run);
}

/** The text behind a reference; undefined where it is not kept any more. @throws {BlobError} for one that cannot be read. */
export async function keptText(run: Run, file: StoredFile): Promise<string | undefined> {
  try {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await bytesBehind(file, blobsOf(run)));
  } catch (error) {
    if (error instanceof BlobError && error.reason === "missing") return undefined;
    throw error;
  }
}
