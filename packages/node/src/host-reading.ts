import { FilesystemError, type Filesystem } from "@proviso/core";
import { constants } from "node:buffer";
import { read, readFile, type Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { promisify } from "node:util";
import { deepest, isName, notADirectory, decodeText, readLines, selectLines } from "@proviso/runtime/internal";
import { opened, withDescriptor } from "./descriptors.ts";
import { isPassing, systemAsync } from "./faults.ts";
import { locate, openFile, openFolder, type OpenFile } from "./folders.ts";

type Entry = Awaited<ReturnType<Filesystem["list"]>>[number];

const [readOpened, readSome] = [promisify(readFile), promisify(read)];

/**
 * Throws when the call that reads is over: its result is not needed any more, and another call may wait for its turn.
 */
export type AssertLive = () => void;

const chunkSize = 1024 * 1024;
/** Longer files are refused by Node. */
const longestFile = 2 ** 31 - 1;

export async function readBytes(
  root: string,
  names: readonly string[],
  path: string,
  assertLive: AssertLive,
): Promise<Uint8Array> {
  return withDescriptor(async () => {
    using file = openFile(root, names, path);
    const isLong = file.size > chunkSize && file.size <= longestFile;
    const bytes = await systemAsync(path, () => (isLong ? readWhile(file, assertLive) : readOpened(file.fd)));
    file.assertSame();
    return bytes;
  });
}

/** Reads as many bytes as the file had when it was opened, or fewer where it became shorter. */
async function readWhile({ fd, size }: Pick<OpenFile, "fd" | "size">, assertLive: AssertLive): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(size);
  let read = 0;
  while (read < size) {
    assertLive();
    const { bytesRead } = await readSome(fd, bytes, read, Math.min(chunkSize, size - read), read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}

/** A long file from which lines are wanted is never held whole. */
export async function readText(
  root: string,
  names: readonly string[],
  path: string,
  { range = {}, assertLive }: { readonly range?: Parameters<Filesystem["read"]>[1]; readonly assertLive: AssertLive },
): ReturnType<Filesystem["read"]> {
  const { size } = await withDescriptor(() => locate(root, names, path));
  const wantsLines = range.offset !== undefined || range.limit !== undefined;
  try {
    if (wantsLines && size > chunkSize) return await readLines(chunksOf(root, names, path, assertLive), range);
    if (size <= constants.MAX_STRING_LENGTH)
      return selectLines(decodeText(await readBytes(root, names, path, assertLive)), range);
  } catch (error) {
    // A text, or a line of it, that is longer than texts can be.
    if (!(error instanceof RangeError)) throw error;
  }
  const message = `${path} is too large to be read at once: read its lines with offset and limit, or its bytes.`;
  throw new FilesystemError(message, { reason: "too_large", path });
}

export async function* chunksOf(
  root: string,
  names: readonly string[],
  path: string,
  assertLive: AssertLive,
): AsyncGenerator<Uint8Array> {
  using reading = await opened(() => openFile(root, names, path));
  const file = reading.it;
  for (let position = 0; ;) {
    assertLive();
    const { bytesRead, buffer } = await systemAsync(path, () =>
      readSome(file.fd, Buffer.allocUnsafe(chunkSize), 0, chunkSize, position),
    );
    if (bytesRead === 0) break;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  file.assertSame();
}

/** Sorted by name; links and special files are passed over. */
export async function listFolder(root: string, names: readonly string[], path: string): Promise<readonly Entry[]> {
  return withDescriptor(async () => {
    if (locate(root, names, path).isFile()) throw notADirectory(path);
    using folder = openFolder(root, names, path);
    const found = await systemAsync(path, () => readdir(folder.at(".")));
    const entries = await Promise.all(found.filter(isName).map((name) => entryOf(folder.at(name), name)));
    folder.assertSame();
    return entries.filter((entry) => entry !== undefined).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  });
}

/** undefined: a link, a special file, or gone. */
async function entryOf(at: string, name: string): Promise<Entry | undefined> {
  const stats = await lstat(at).catch(() => undefined);
  if (stats?.isFile() === true) return { name, kind: "file", size: stats.size };
  return stats?.isDirectory() === true ? { name, kind: "directory", size: 0 } : undefined;
}

/**
 * All files below, sorted by path; what cannot be opened, or lies deeper than paths go, is passed over.
 * @throws {FilesystemError} for a root that cannot be opened: nothing would look like no match.
 */
export async function* filesBelow(
  root: string,
  assertLive: AssertLive,
  names: readonly string[] = [],
): AsyncGenerator<readonly string[]> {
  assertLive();
  const entries = await namesIn(root, names).catch((error: unknown) => passedOver(error, names));
  for (const entry of entries.toSorted((a, b) => (sortName(a) < sortName(b) ? -1 : 1))) {
    const inner = [...names, entry.name];
    if (inner.length > deepest) continue;
    if (entry.isFile()) yield inner;
    else if (entry.isDirectory()) yield* filesBelow(root, assertLive, inner);
  }
}

/** A fault that passes would make what is found less than what is there. */
function passedOver(error: unknown, names: readonly string[]): readonly Dirent[] {
  if (names.length === 0 || isPassing(error)) throw error;
  return [];
}

function namesIn(root: string, names: readonly string[]): Promise<readonly Dirent[]> {
  const path = names.join("/");
  return withDescriptor(async () => {
    using folder = openFolder(root, names);
    const entries = await systemAsync(path, () => readdir(folder.at("."), { withFileTypes: true }));
    folder.assertSame();
    return entries.filter(({ name }) => isName(name));
  });
}

/**
 * Returns the name to sort an entry by, so that entries stand in the order of their files' paths: a folder's paths go
 * on with a slash.
 */
function sortName(entry: Dirent): string {
  return entry.isDirectory() ? `${entry.name}/` : entry.name;
}
