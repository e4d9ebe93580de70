// The tree as it was at a mark, beside the tree as it is: changes are undone in mind, the last first.
// 1. Nothing is read but the folders that the changes are in, and what the changes put there or took away.
import type { ResourceChange } from "@proviso/core";
import { readdirSync, readSync } from "node:fs";
import { differences, isReserved, reservedName, type ComparedTrees } from "@proviso/runtime/internal";
import { namesOf, type Change } from "./exchange.ts";
import { system } from "./faults.ts";
import { openFile, openFolder, statOf } from "./folders.ts";
import { end, type Mark, type UndoLog } from "./undo-state.ts";

/** A thing at a place of the disk, as it is seen with the changes undone. */
interface Seen {
  /** Where it is now: names below the root; what the undo log keeps is below its folder. */
  readonly place: readonly string[];
  /** What is seen of it instead of what is in it; null: nothing is there. */
  readonly instead: Map<string, Seen | null>;
}

/** Yields what has changed since the mark. */
export function changesSince(log: UndoLog, { position }: Mark): Iterable<ResourceChange> {
  const changes = log.changes.slice(Math.max(0, position - log.first), end(log) - log.first);
  if (changes.length === 0) return [];
  const before = seenAt([]);
  const kept = new Map<string, Seen | null>();
  for (const change of changes.toReversed()) undoInMind(log.root, before, kept, change);
  return differences(treesOf(log.root), before, seenAt([]));
}

function seenAt(place: readonly string[]): Seen {
  return { place, instead: new Map() };
}

function undoInMind(root: string, top: Seen, kept: Map<string, Seen | null>, change: Change): void {
  const { path, had, was, now } = change;
  const names = namesOf(path);
  let folder = top;
  for (const name of names.slice(0, -1)) {
    const inner = insideOf(folder, name) ?? seenAt([...folder.place, name]);
    folder.instead.set(name, inner);
    folder = inner;
  }
  const name = names.at(-1) as string;
  const isThere = insideOf(folder, name);
  const stored = kept.get(was) ?? seenAt([reservedName, was]);
  // A change that failed on its way may not have moved it yet.
  if (had && !kept.has(was) && statAt(root, stored) === undefined) return;
  // What an undoing put there goes back to where it came from: older changes find it there.
  if (now !== undefined) kept.set(now, isThere);
  folder.instead.set(name, had ? stored : null);
}

/** What is seen at the name; null: nothing. */
function insideOf({ place, instead }: Seen, name: string): Seen | null {
  const changed = instead.get(name);
  return changed === undefined ? seenAt([...place, name]) : changed;
}

function treesOf(root: string): ComparedTrees<Seen> {
  const isFolder = (node: Seen): boolean => node.place.length === 0 || statAt(root, node)?.isDirectory() === true;
  return {
    isFolder,
    names(before, after) {
      if (before && after && isSamePlace(before, after)) return [...before.instead.keys()].toSorted();
      return [...new Set([before, after].flatMap((folder) => (folder ? namesIn(root, folder) : [])))].toSorted();
    },
    get(folder, name) {
      const found = insideOf(folder, name);
      return found === null || statAt(root, found) === undefined ? undefined : found;
    },
    size(node) {
      const stats = statAt(root, node);
      return stats?.isFile() === true ? stats.size : undefined;
    },
    isSame: (before, after) => isSamePlace(before, after) || hasSameContent(root, before, after),
  };
}

function isSamePlace(one: Seen, other: Seen): boolean {
  return one.place.length === other.place.length && one.place.every((name, at) => name === other.place[at]);
}

function statAt(root: string, { place }: Seen): ReturnType<typeof statOf> {
  using folder = openFolder(root, place.slice(0, -1));
  return statOf(folder, place.at(-1) ?? ".");
}

function namesIn(root: string, { place, instead }: Seen): readonly string[] {
  using folder = openFolder(root, place);
  const path = place.join("/");
  const there = system(path, () => readdirSync(folder.at("."))).filter(
    (name) => !instead.has(name) && (place.length > 0 || !isReserved(name)),
  );
  return [...there, ...[...instead].flatMap(([name, seen]) => (seen === null ? [] : [name]))];
}

const chunkSize = 64 * 1024;

/** Neither is a folder. What is no file has no content that could be compared. */
function hasSameContent(root: string, before: Seen, after: Seen): boolean {
  const [one, other] = [statAt(root, before), statAt(root, after)];
  if (one?.isFile() !== true || other?.isFile() !== true || one.size !== other.size) return false;
  using first = openFile(root, before.place, before.place.join("/"));
  using second = openFile(root, after.place, after.place.join("/"));
  const chunks = [Buffer.alloc(chunkSize), Buffer.alloc(chunkSize)] as const;
  for (let at = 0; at < one.size; at += chunkSize) {
    const [read, alsoRead] = [
      readSync(first.fd, chunks[0], 0, chunkSize, at),
      readSync(second.fd, chunks[1], 0, chunkSize, at),
    ];
    if (read !== alsoRead || chunks[0].compare(chunks[1], 0, read, 0, read) !== 0) return false;
    if (read === 0) break;
  }
  return true;
}
