import { FilesystemError, type Filesystem, type Snapshotable } from "@proviso/core";
import { resolve } from "node:path";
import { globMatcher } from "../resources/glob.ts";
import { guardable } from "../resources/guard.ts";
import { pathNames } from "../resources/paths.ts";
import { grepFiles, type SearchedFile } from "../resources/reading.ts";
import { changesOf } from "./changes.ts";
import { locate } from "./folders.ts";
import { chunksOf, filesBelow, listFolder, readBytes, readText } from "./host-reading.ts";
import { recover } from "./journal.ts";
import { inOrder } from "./in-order.ts";
import { mark, release, restore, undoLog, within, type Mark } from "./undo-log.ts";

/** What `hostFilesystem` takes beside the folder. */
export interface HostFilesystemOptions {
  /** Refuse every change. Default false. */
  readonly readOnly?: boolean | undefined;
  /**
   * Undo what somebody left unfinished of whom this process cannot tell whether he is gone: on another machine, or in
   * another container. Default false.
   */
  readonly takeOver?: boolean | undefined;
}

/**
 * A folder of this machine. It takes part in transactions: what a call changed of it can be undone, whatever its size,
 * and a crash leaves it as before or as after the call; what a crashed process left is undone here. While there is
 * something to undo it has a folder `.proviso-undo`, which no path reaches.
 * @throws {FilesystemError} when what a crashed process left cannot be undone.
 */
export function hostFilesystem(folder: string, options: HostFilesystemOptions = {}): Filesystem {
  // The process may go elsewhere later.
  const root = resolve(folder);
  const { readOnly = false, takeOver = false } = options;
  return guardable(readOnly ? { ...reading(root), ...refusing() } : { ...reading(root), ...changing(root, takeOver) });
}

type Reading = Pick<Filesystem, "read" | "readBytes" | "list" | "exists" | "glob" | "grep">;
type Changing = Pick<Filesystem, "write" | "remove" | "mkdir">;

function reading(root: string): Reading {
  return {
    read: async (path, range) => readText(root, pathNames(path), path, range),
    readBytes: async (path) => readBytes(root, pathNames(path), path),
    list: async (path = "") => listFolder(root, pathNames(path), path),
    async exists(path) {
      try {
        locate(root, pathNames(path), path);
        return true;
      } catch (error) {
        if (error instanceof FilesystemError && error.reason === "not_found") return false;
        throw error;
      }
    },
    async glob(pattern) {
      const fits = globMatcher(pattern);
      const found: string[] = [];
      for await (const names of filesBelow(root)) if (fits(names.join("/"))) found.push(names.join("/"));
      return found.toSorted();
    },
    async grep(text, range) {
      async function* all(): AsyncGenerator<SearchedFile> {
        for await (const names of filesBelow(root)) {
          const path = names.join("/");
          yield { path, chunks: () => chunksOf(root, names, path) };
        }
      }
      return grepFiles(all(), text, range);
    },
  };
}

function refusing(): Changing {
  const refuse = async (path: string): Promise<never> => {
    pathNames(path);
    throw new FilesystemError(`${path} cannot be changed: the filesystem is read-only.`, { reason: "read_only", path });
  };
  return { write: refuse, remove: refuse, mkdir: refuse };
}

const encoder = new TextEncoder();

/** One change after another, however they are asked for. */
function changing(root: string, takeOver: boolean): Changing & Snapshotable<object> {
  recover(root, takeOver);
  const queue = inOrder();
  const log = undoLog(root, takeOver);
  const changes = changesOf(root, log);
  const marks = new WeakMap<object, Mark>();
  const forgetting = new FinalizationRegistry<Mark>((taken) => {
    // Nobody is there to hear of a failure; the next change tries again.
    queue.run(() => release(log, taken)).catch(() => {});
  });
  const take = (savepoint: boolean): object => {
    const snapshot = Object.freeze({});
    const taken = mark(log, !savepoint);
    marks.set(snapshot, taken);
    forgetting.register(snapshot, taken, snapshot);
    return snapshot;
  };
  return {
    async write(path, content) {
      const names = pathNames(path);
      const bytes = typeof content === "string" ? encoder.encode(content) : Uint8Array.from(content);
      await queue.run(() => within(log, () => changes.write(names, path, bytes)));
    },
    async remove(path) {
      const names = pathNames(path);
      await queue.run(() => within(log, () => changes.remove(names, path)));
    },
    async mkdir(path) {
      const names = pathNames(path);
      await queue.run(() => within(log, () => changes.makeFolder(names, path)));
    },
    snapshot: ({ savepoint = false } = {}) =>
      queue.isIdle() ? take(savepoint) : queue.run(async () => take(savepoint)),
    async restore(snapshot) {
      const taken = marks.get(snapshot);
      if (taken === undefined || !log.marks.has(taken)) {
        const message = "What is to be restored is no snapshot of this filesystem, or was released.";
        throw new FilesystemError(message, { reason: "failed", path: "" });
      }
      await queue.run(() => restore(log, taken));
    },
    release(snapshot) {
      const taken = marks.get(snapshot);
      if (taken === undefined) return undefined;
      forgetting.unregister(snapshot);
      // Nothing has changed: nothing is waited for.
      if (log.journal === undefined && queue.isIdle()) return void log.marks.delete(taken);
      return queue.run(() => release(log, taken));
    },
  };
}
