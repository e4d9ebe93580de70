// 1. What is refused is refused before anything is written, the journal too.
// 2. Between the last look at a path and its change there is no await.
import { accessSync, constants, fchmodSync, fchownSync, fstatSync, readdirSync, type Stats } from "node:fs";
import { isReserved, notADirectory, notAFile } from "@proviso/runtime/internal";
import { changedMeanwhile, keepAlso, makeFolders, placeFile, replaceFile, takeAway } from "./exchange.ts";
import { codeOf, system } from "./faults.ts";
import { locate, lookAt, openFolder, statOf, type Folder } from "./folders.ts";
import type { UndoJournal } from "./undo-folder.ts";
import { perform } from "./undo-log.ts";
import { journalOf, type UndoLog } from "./undo-state.ts";
import { writeNew } from "./write-new.ts";

/** The ways in which a tree changes, each undone by the log. */
export interface Changes {
  write(names: readonly string[], path: string, content: Uint8Array): Promise<void>;
  remove(names: readonly string[], path: string): Promise<void>;
  makeFolder(names: readonly string[], path: string): Promise<void>;
}

export function changesOf(root: string, log: UndoLog): Changes {
  return {
    write: (names, path, content) => writeFile(root, log, names, path, content),
    async remove(names, path) {
      locate(root, names, path);
      const found = names.length > 0 ? [names] : namesIn(root).map((name) => [name]);
      if (found.length === 0) return;
      const journal = journalOf(log);
      const store = journal.store();
      for (const each of found) await removeOne(root, log, journal, store, each);
    },
    async makeFolder(names, path) {
      const { found, stats } = look(root, names, path);
      if (stats?.isFile() === true) throw notADirectory(path);
      if (found === names.length) return;
      const journal = journalOf(log);
      const store = journal.store();
      const change = { path: names.slice(0, found + 1).join("/"), had: false, was: journal.fresh() };
      await perform(log, store, change, (begun) => makeFolders(root, names.slice(0, found), names.slice(found), begun));
    },
  };
}

function namesIn(root: string): readonly string[] {
  using top = openFolder(root, []);
  return system("", () => readdirSync(top.at("."))).filter((name) => !isReserved(name));
}

async function removeOne(
  root: string,
  log: UndoLog,
  journal: UndoJournal,
  store: Folder,
  names: readonly string[],
): Promise<void> {
  const path = names.join("/");
  const change = { path, had: true, was: journal.fresh() };
  await perform(log, store, change, () => {
    using folder = openFolder(root, names.slice(0, -1), path);
    takeAway(folder, names.at(-1) as string, path, store, change.was);
  });
}

async function writeFile(
  root: string,
  log: UndoLog,
  names: readonly string[],
  path: string,
  content: Uint8Array,
): Promise<void> {
  const before = look(root, names, path);
  if (names.length === 0 || before.stats?.isDirectory() === true) throw notAFile(path);
  if (before.stats !== undefined) assertWritable(root, names, path);
  const journal = journalOf(log);
  const store = journal.store();
  const source = journal.fresh();
  const like = before.stats ?? likeFolder(root, names.slice(0, before.found));
  await writeNew(store.at(source), content, { path, mode: 0o666, finish: (fd) => like && makeLike(fd, like) });

  // Time has passed.
  const { found, stats } = look(root, names, path);
  if ((stats === undefined) !== (before.stats === undefined)) throw changedMeanwhile(path);
  const [above, name, was] = [names.slice(0, -1), names.at(-1) as string, journal.fresh()];
  if (stats !== undefined) {
    {
      using folder = openFolder(root, above, path);
      keepAlso(folder, name, store, was);
    }
    await perform(log, store, { path: names.join("/"), had: true, was }, (begun) => {
      using folder = openFolder(root, above, path);
      replaceFile(folder, name, path, store, { source, was, begun });
    });
    return;
  }
  await perform(log, store, { path: names.slice(0, found + 1).join("/"), had: false, was }, (begun) => {
    makeFolders(root, names.slice(0, found), above.slice(found), begun);
    using folder = openFolder(root, above, path);
    placeFile(folder, name, path, store, { source, begun });
  });
}

/** How many of the names are there, and what is at the path. @throws {FilesystemError} when a file is in the way. */
function look(
  root: string,
  names: readonly string[],
  path: string,
): { readonly found: number; readonly stats: Stats | undefined } {
  for (let found = 0; found < names.length; found++) {
    using folder = openFolder(root, names.slice(0, found), path);
    const stats = lookAt(folder, names[found] as string, path);
    if (stats === undefined) return { found, stats };
    if (found === names.length - 1) return { found: names.length, stats };
    if (stats.isFile()) throw notADirectory(names.slice(0, found + 1).join("/"));
  }
  return { found: 0, stats: locate(root, [], path) };
}

/** Replacing a file would not ask whether it may be written to. */
function assertWritable(root: string, names: readonly string[], path: string): void {
  using folder = openFolder(root, names.slice(0, -1), path);
  system(path, () => accessSync(folder.at(names.at(-1) as string), constants.W_OK));
}

const setGroup = 0o2000;

/** What a new file gets from a folder that hands its group on. */
function likeFolder(root: string, names: readonly string[]): { readonly gid: number } | undefined {
  using folder = openFolder(root, names);
  const stats = statOf(folder, ".");
  return stats !== undefined && (stats.mode & setGroup) !== 0 ? { gid: stats.gid } : undefined;
}

/**
 * The mode bits that a replaced file hands on. The bits that make a program run as its owner or group are dropped, as
 * they are when a file is written in place.
 */
const handedOn = 0o1777;

/** Owner and group as far as this process may give them away, then the mode, which giving away could change. */
function makeLike(fd: number, { uid, gid, mode }: Partial<Stats>): void {
  const own = fstatSync(fd);
  if ((uid ?? own.uid) !== own.uid || (gid ?? own.gid) !== own.gid) {
    try {
      fchownSync(fd, uid ?? own.uid, gid ?? own.gid);
    } catch (error) {
      if (codeOf(error) !== "EPERM") throw error;
    }
  }
  if (mode !== undefined) fchmodSync(fd, mode & handedOn);
}
