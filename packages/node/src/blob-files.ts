// The files of a blob store, one by one.
import { FilesystemError, systemClock } from "@proviso/core";
import { systemId } from "@proviso/runtime/internal";
import { fstatSync, fsync, futimesSync, mkdirSync, readFile, renameSync, unlinkSync, type Stats } from "node:fs";
import { promisify } from "node:util";
import { codeOf, system, systemAsync } from "./faults.ts";
import { openFile, openFolder, sameThing, statOf, type Folder } from "./folders.ts";
import { makeFolder } from "./make-folder.ts";
import { writeNew } from "./write-new.ts";

const [readOpened, flush] = [promisify(readFile), promisify(fsync)];

/** What a file is called while it is written. */
export const unfinished = /^\.[0-9a-f-]{36}\.new$/;

/** What a file is called while a sweep decides. */
export const takenAway = (name: string): string => `.${name}.old`;

/** The name of a file that a sweep took away; undefined: it is no such file. */
export const nameOfTaken = (name: string): string | undefined => /^\.([0-9a-f]{62})\.old$/.exec(name)?.[1];

/** The folder within the store and the name in it. */
function placeOf(hash: string): readonly [inner: string, name: string] {
  return [hash.slice(0, 2), hash.slice(2)];
}

/** Keeps the bytes under their hash. What is there already is given a new age, or replaced where it is not these bytes. */
export async function keepBlob(root: string, hash: string, bytes: Uint8Array): Promise<void> {
  const [inner, name] = placeOf(hash);
  if (await renewed(root, hash, bytes)) return;
  await madeFolder(root, inner);
  using folder = openFolder(root, [inner]);
  const fresh = `.${systemId()}.new`;
  await writeNew(folder.at(fresh), bytes, { path: shown(hash), mode: 0o600 });
  try {
    system(shown(hash), () => renameSync(folder.at(fresh), folder.at(name)));
  } catch (error) {
    unlinkSync(folder.at(fresh));
    throw error;
  }
  await flushed(folder);
}

/** Whether these bytes were there; they are as young as new ones then, and no sweep has taken them away. */
async function renewed(root: string, hash: string, bytes: Uint8Array): Promise<boolean> {
  const [inner, name] = placeOf(hash);
  const path = shown(hash);
  try {
    using file = openFile(root, [inner, name], path);
    if (file.size !== bytes.length) return false;
    const kept = await systemAsync(path, () => readOpened(file.fd));
    if (!kept.equals(bytes)) return false;
    const now = systemClock.now() / 1_000;
    const own = system(path, () => {
      futimesSync(file.fd, now, now);
      return fstatSync(file.fd);
    });
    // A sweep that takes it away from here on finds the new age.
    return isThere(root, inner, name, own);
  } catch (error) {
    // A link in its place is replaced; it is not followed.
    if (error instanceof FilesystemError && replaceable.has(error.reason)) return false;
    throw error;
  }
}

const replaceable = new Set(["not_found", "outside_root", "special_file"]);

function isThere(root: string, inner: string, name: string, own: Stats): boolean {
  using folder = openFolder(root, [inner]);
  const stats = statOf(folder, name);
  return stats !== undefined && sameThing(stats, own);
}

/** The bytes under a hash; undefined: there are none. */
export async function readBlob(root: string, hash: string): Promise<Uint8Array | undefined> {
  const [inner, name] = placeOf(hash);
  // A sweep may take it away and give it back in between.
  for (const each of [name, takenAway(name), name]) {
    const bytes = await bytesOf(root, inner, each, shown(hash));
    if (bytes !== undefined) return bytes;
  }
  return undefined;
}

async function bytesOf(root: string, inner: string, name: string, path: string): Promise<Uint8Array | undefined> {
  try {
    using file = openFile(root, [inner, name], path);
    const bytes = await systemAsync(path, () => readOpened(file.fd));
    file.assertSame();
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  } catch (error) {
    if (error instanceof FilesystemError && error.reason === "not_found") return undefined;
    throw error;
  }
}

/** Makes the store and the folder within it where they are not there. */
async function madeFolder(root: string, inner: string): Promise<void> {
  system(root, () => makeFolder(root, 0o700));
  using top = openFolder(root, []);
  try {
    mkdirSync(top.at(inner), { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    system(inner, () => {
      throw error;
    });
  }
  await flushed(top);
}

/** Puts the names of a folder on disk, where folders can be held open. */
async function flushed({ fd }: Folder): Promise<void> {
  if (fd !== undefined) await systemAsync("", () => flush(fd));
}

function shown(hash: string): string {
  return placeOf(hash).join("/");
}
