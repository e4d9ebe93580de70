// 1. Everything is stored before an event or a message names it (BLOB-4).
// 2. The bytes are kept with the objects that refer to them: a request is made of what is in memory.
// 3. What is answered from its record sends nothing, so it needs no bytes of what was stored.
import {
  BlobError,
  type Blobs,
  type FileLike,
  type FileRef,
  type GeneratedFile,
  type Message,
  type ModelRequest,
  type PlacedFile,
  type RenderedPrompt,
  type StoredFile,
} from "@proviso/core";
import { isPlatformFile, keptBytes } from "@proviso/core/internal";
import { isFailure, type Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import type { RunFiles } from "./contract.ts";
import { blobsOf, bytesBehind, referenceOf, referenceTo, store } from "./read-file.ts";
import { isSaved } from "./saved-sessions.ts";
import { badRequest, messagesForAny, storedFilesIn } from "./to-send.ts";
import { failureWithoutBytes, withoutBytes } from "./without-bytes.ts";

/** Opens the files of an evaluation. */
export function openRunFiles(run: Run): RunFiles {
  const made: FileRef[] = [];
  const before = new WeakMap<object, readonly Message[]>();
  const sendsNothing = run.tape?.sendsNothing === true;
  const blobs = (): Blobs | undefined => blobsOf(run);
  const keeping = (): Blobs | undefined => toKeep(blobs(), run);
  const referred = async (file: FileLike): Promise<FileRef> => {
    if (isPlatformFile(file)) return referenceTo(file, keeping());
    return sendsNothing ? file : referenceTo(file, blobs());
  };
  const load = (messages: readonly Message[]): Promise<void> =>
    sendsNothing ? Promise.resolve() : loadBytes(messages, blobs);
  return {
    made,
    async rendered(rendered) {
      const placed: PlacedFile[] = [];
      for (const { at, file } of rendered.files ?? []) placed.push({ at, file: await referred(file) });
      return Object.freeze({ ...rendered, files: Object.freeze(placed) }) satisfies RenderedPrompt;
    },
    params: (params) => named(params) as typeof params,
    checkHistory: () => load(run.history.messages()),
    async stored(given: readonly FileLike[]) {
      const refs: FileRef[] = [];
      for (const file of given) refs.push(await referred(file));
      return refs;
    },
    async generated(given) {
      const placed: PlacedFile[] = [];
      for (const one of given) {
        const file = await storedGenerated(one, made.length + 1, keeping());
        made.push(file);
        placed.push({ at: one.at, file });
      }
      return placed;
    },
    takeUp(files) {
      for (const { file } of files) made.push(file);
    },
    keepMade: (count) => void (made.length = count),
    refuses(messages, by) {
      const sent = messagesForAny(messages, by);
      return isFailure(sent) ? sent : undefined;
    },
    async prepare(request, by) {
      await load(request.messages).catch((error: unknown) => {
        // What steps of a record have referred to may be nowhere.
        run.tape?.lost(error);
        throw error;
      });
      const messages = sendsNothing ? asRecorded(run, request.messages) : messagesForAny(request.messages, by);
      if (isFailure(messages)) return messages;
      const prepared = { ...request, messages, bytesOf: bytesFor(messages) };
      before.set(prepared, request.messages);
      return prepared;
    },
    withoutBytes,
    failure: failureWithoutBytes,
    messagesBefore: (request) => before.get(request) ?? request.messages,
    messagesIn: (request: ModelRequest) => (before.get(request) ?? request.messages).length,
  };
}

/** The messages of a request that is answered from its record; why it was refused before it was sent. */
function asRecorded({ tape }: Run, messages: readonly Message[]): readonly Message[] | Failure {
  const why = tape?.refusal();
  return why === undefined ? messages : badRequest(why);
}

/** @throws {BlobError} "missing" where bytes of a message are nowhere. */
async function loadBytes(messages: readonly Message[], blobs: () => Blobs | undefined): Promise<void> {
  for (const [index, message] of messages.entries()) {
    if (message.files === undefined) continue;
    for (const file of storedFilesIn(message)) await bytesBehind(file, blobs(), ` of messages[${index}]`);
  }
}

/** Stores what a model made. `number`: how many it has made with this. */
function storedGenerated(
  { mediaType, name, data }: GeneratedFile,
  number: number,
  blobs: Blobs | undefined,
): Promise<StoredFile> {
  const bytes = typeof data === "string" ? bytesOfBase64(data) : data;
  return store(bytes, { name: name ?? madeName(mediaType, number), mediaType }, blobs);
}

/** Where new bytes are kept; undefined: as long as the evaluation alone. @throws {BlobError} where that is too short. */
function toKeep(blobs: Blobs | undefined, { core }: Run): Blobs | undefined {
  if (blobs !== undefined || !isSaved(core.session)) return blobs;
  throw new BlobError(
    "A conversation is saved, and the bytes of its files would be lost: bind Blobs, provide(Blobs, folderBlobs(path)) for example.",
    { reason: "missing" },
  );
}

function bytesFor(messages: readonly Message[]): (file: StoredFile) => Uint8Array {
  return (file) => {
    const bytes = messages.some((message) => storedFilesIn(message).includes(file)) ? keptBytes(file) : undefined;
    if (bytes !== undefined) return bytes;
    const { hash, name } = file;
    throw new BlobError(`The request does not hold the file ${name}.`, { reason: "missing", hash, file: name });
  };
}

/** The platform's files as what they were read to; objects and lists are searched. */
function named(value: unknown): unknown {
  if (isPlatformFile(value)) return referenceOf(value) ?? { name: value.name, mediaType: value.type };
  if (Array.isArray(value)) return value.map(named);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, named(item)]));
}

function madeName(mediaType: string, number: number): string {
  const [kind = "file", format = "bin"] = mediaType.split("/");
  return `${kind === "" ? "file" : kind}-${number}.${format.replace(/[^a-z0-9]/gi, "")}`;
}

/** @throws {BlobError} "failed" for what is no base64. */
function bytesOfBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch (cause) {
    throw new BlobError("A file that the model made is no base64.", { reason: "failed", cause });
  }
}
