// 1. Nothing outside the root is ever opened: every component is looked at without following links, and what was
//    opened is compared with what was looked at, so a link swapped in meanwhile is noticed before a byte is read.
// 2. Links and special files are refused by name and passed over in list, glob and grep.
import { FilesystemError, NotSupportedError, type Filesystem } from "@proviso/core";
import { constants, type Stats } from "node:fs";
import { lstat, open, readdir, readlink, realpath, type FileHandle } from "node:fs/promises";
import { join, resolve } from "node:path";
import { globMatcher } from "../resources/glob.ts";
import { guardable } from "../resources/guard.ts";
import { deepest, notADirectory, notAFile, notFound, pathNames } from "../resources/paths.ts";
import { decodeText, grepFiles, selectLines } from "../resources/reading.ts";

/**
 * A folder of this machine, read-only: `{ readOnly: true }` has to be said, writing is not supported yet.
 * @throws {NotSupportedError} without `readOnly: true`.
 */
export function hostFilesystem(folder: string, options: { readonly readOnly?: boolean | undefined } = {}): Filesystem {
  if (options.readOnly !== true) throw new NotSupportedError("A host filesystem without { readOnly: true }");
  // The process may go elsewhere later.
  const root = resolve(folder);
  const refuse = async (path: string): Promise<never> => {
    pathNames(path);
    throw new FilesystemError(`${path} cannot be changed: the filesystem is read-only.`, { reason: "read_only", path });
  };
  const filesystem: Filesystem = {
    read: async (path, range) => selectLines(decodeText(await readFile(root, path)), range),
    readBytes: (path) => readFile(root, path),
    write: refuse,
    remove: refuse,
    mkdir: refuse,
    list: (path = "") => listFolder(root, path),
    async exists(path) {
      try {
        await locate(root, path);
        return true;
      } catch (error) {
        if (error instanceof FilesystemError && error.reason === "not_found") return false;
        throw error;
      }
    },
    async glob(pattern) {
      const fits = globMatcher(pattern);
      const found: string[] = [];
      for await (const path of walk(root, "")) if (fits(path)) found.push(path);
      return found.toSorted();
    },
    async grep(text, range) {
      async function* all(): AsyncGenerator<{ path: string; read(): Promise<Uint8Array> }> {
        for await (const path of walk(root, "")) yield { path, read: () => readFile(root, path) };
      }
      return grepFiles(all(), text, range);
    },
  };
  return guardable(filesystem);
}

interface Located {
  readonly absolute: string;
  readonly stats: Stats;
}

/** Walks down component by component, so that no link is followed. */
async function locate(root: string, path: string): Promise<Located> {
  const names = pathNames(path);
  let absolute = await system(path, realpath(root));
  let stats = await system(path, lstat(absolute));
  for (const name of names) {
    if (!stats.isDirectory()) throw notFound(path);
    absolute = join(absolute, name);
    stats = await system(path, lstat(absolute));
    if (stats.isSymbolicLink()) {
      throw new FilesystemError(`${path} leads through a symbolic link; links are not followed.`, {
        reason: "outside_root",
        path,
      });
    }
    if (!stats.isFile() && !stats.isDirectory()) {
      throw new FilesystemError(`${path} is a special file.`, { reason: "special_file", path });
    }
  }
  return { absolute, stats };
}

async function readFile(root: string, path: string): Promise<Uint8Array> {
  const located = await locate(root, path);
  if (located.stats.isDirectory()) throw notAFile(path);
  // A pipe put there meanwhile would block without O_NONBLOCK.
  await using handle = await openLocated(root, path, located, constants.O_NONBLOCK);
  return await handle.readFile();
}

async function listFolder(root: string, path: string): ReturnType<Filesystem["list"]> {
  const located = await locate(root, path);
  if (!located.stats.isDirectory()) throw notADirectory(path);
  await using handle = await openLocated(root, path, located, constants.O_DIRECTORY);
  // By its descriptor where the system allows that: the name may lead elsewhere by now.
  const folder = onLinux ? `/proc/self/fd/${handle.fd}` : located.absolute;
  const names = await system(path, readdir(folder));
  const entries = await Promise.all(names.map((name) => entryOf(join(folder, name), name)));
  if (!onLinux) await assertSame(root, path, located.stats);
  return entries.filter((entry) => entry !== undefined).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const onLinux = process.platform === "linux";

/** Opens what was looked at, and nothing else: a link swapped in at any component is noticed before a byte is read. */
async function openLocated(
  root: string,
  path: string,
  { absolute, stats }: Located,
  flags: number,
): Promise<FileHandle> {
  const handle = await system(path, open(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | flags));
  try {
    const opened = await handle.stat();
    if (opened.ino !== stats.ino || opened.dev !== stats.dev) throw replaced(path);
    if (onLinux && (await readlink(`/proc/self/fd/${handle.fd}`)) !== absolute) throw replaced(path);
    await assertSame(root, path, opened);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function assertSame(root: string, path: string, before: Stats): Promise<void> {
  const { stats } = await locate(root, path);
  if (stats.ino !== before.ino || stats.dev !== before.dev) throw replaced(path);
}

function replaced(path: string): FilesystemError {
  return new FilesystemError(`${path} was replaced while it was opened.`, { reason: "outside_root", path });
}

/** undefined: a link, a special file, or gone. */
async function entryOf(
  absolute: string,
  name: string,
): Promise<Awaited<ReturnType<Filesystem["list"]>>[number] | undefined> {
  const stats = await lstat(absolute).catch(() => undefined);
  if (stats?.isFile() === true) return { name, kind: "file", size: stats.size };
  return stats?.isDirectory() === true ? { name, kind: "directory", size: 0 } : undefined;
}

/** As its files' paths are sorted: a folder's go on with a slash. */
function sortName({ name, kind }: { readonly name: string; readonly kind: string }): string {
  return kind === "directory" ? `${name}/` : name;
}

/** All files below, sorted by path; what cannot be opened, or lies deeper than paths go, is passed over. */
async function* walk(root: string, path: string): AsyncGenerator<string> {
  const entries = await listFolder(root, path).catch(() => []);
  for (const { name, kind } of entries.toSorted((a, b) => (sortName(a) < sortName(b) ? -1 : 1))) {
    const inner = path === "" ? name : `${path}/${name}`;
    if (inner.split("/").length > deepest) continue;
    if (kind === "file") yield inner;
    else yield* walk(root, inner);
  }
}

/** What the system refuses, as an error of ours that names the path as it was given. */
async function system<T>(path: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") throw notFound(path);
    if (code === "ELOOP") {
      throw new FilesystemError(`${path} is a symbolic link; links are not followed.`, {
        reason: "outside_root",
        path,
        cause,
      });
    }
    throw new FilesystemError(`${path} could not be read (${code ?? "unknown error"}).`, {
      reason: "failed",
      path,
      cause,
    });
  }
}
