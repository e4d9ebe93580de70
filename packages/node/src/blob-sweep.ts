// Removing what nothing names. Another process may put, read or sweep the same bytes at any moment.
import { FilesystemError, systemClock, type Blobs } from "@proviso/core";
import { sweepBounds } from "@proviso/runtime/internal";
import { linkSync, renameSync, unlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { nameOfTaken, takenAway, unfinished } from "./blob-files.ts";
import { withDescriptor } from "./descriptors.ts";
import { codeOf, system, systemAsync } from "./faults.ts";
import { openFolder, statOf, type Folder } from "./folders.ts";

const folders = /^[0-9a-f]{2}$/;
const files = /^[0-9a-f]{62}$/;
type Bounds = ReturnType<typeof sweepBounds>;

/** No file takes so long to be written. */
const longestWriteMs = 3_600_000;

/** Removes old files that are not named, and what killed processes left; returns how many bytes were removed. */
export async function sweepBlobs(root: string, options: Parameters<Blobs["sweep"]>[0]): Promise<number> {
  const bounds = sweepBounds(options);
  let removed = 0;
  for (const inner of (await namesIn(root, [])).filter((name) => folders.test(name))) {
    for (const name of await namesIn(root, [inner])) {
      await withDescriptor(() => {
        using folder = openFolder(root, [inner]);
        removed += swept(folder, inner, name, bounds);
      }).catch(passOver);
    }
  }
  return removed;
}

/** The names in a folder; none where it is not there, or is no folder of ours. */
async function namesIn(root: string, names: readonly string[]): Promise<readonly string[]> {
  const reading = withDescriptor(async () => {
    using folder = openFolder(root, names);
    return await systemAsync(names.join("/"), () => readdir(folder.at(".")));
  });
  return (await reading.catch(passOver)) ?? [];
}

/** What another process has removed, and links and special files that others put there. */
function passOver(error: unknown): undefined {
  const passed =
    error instanceof FilesystemError && ["not_found", "outside_root", "special_file"].includes(error.reason);
  if (!passed) throw error;
}

/** Removes one name where it is old and not named; returns how many bytes it had. */
function swept(folder: Folder, inner: string, name: string, { named, latest }: Bounds): number {
  if (unfinished.test(name)) {
    return isOld(folder, name, Math.min(latest, systemClock.now() - longestWriteMs)) ? removed(folder, name) : 0;
  }
  const own = nameOfTaken(name) ?? name;
  if (!files.test(own)) return 0;
  const isNamed = named.has(inner + own);
  if (own === name) {
    if (isNamed || !isOld(folder, name, latest)) return 0;
    unlessGone(name, () => renameSync(folder.at(name), folder.at(takenAway(name))));
  }
  // Another process may have put the same bytes after the first look: the file is young then.
  const taken = takenAway(own);
  if (!isNamed && isOld(folder, taken, latest)) return removed(folder, taken);
  unlessGone(own, () => linkSync(folder.at(taken), folder.at(own)));
  unlessGone(taken, () => unlinkSync(folder.at(taken)));
  return 0;
}

function isOld(folder: Folder, name: string, latest: number): boolean {
  const stats = statOf(folder, name);
  return stats?.isFile() === true && Math.floor(stats.mtimeMs) <= latest;
}

function removed(folder: Folder, name: string): number {
  const size = statOf(folder, name)?.size ?? 0;
  return unlessGone(name, () => unlinkSync(folder.at(name))) ? size : 0;
}

/** Whether it was done; not where another process was there first. */
function unlessGone(name: string, work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (["ENOENT", "EEXIST"].includes(codeOf(error) ?? "")) return false;
    return system(name, () => {
      throw error;
    });
  }
}
