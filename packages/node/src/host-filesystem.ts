import { DefinitionError, FilesystemError, type Filesystem, type Snapshotable } from "@proviso/core";
import { describeValue, firstChanges } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { resolve } from "node:path";
import { globMatcher, guardable, pathNames, grepFiles, type SearchedFile } from "@proviso/runtime/internal";
import { changesOf } from "./changes.ts";
import { withDescriptor } from "./descriptors.ts";
import { isPassing, system, systemAsync } from "./faults.ts";
import { locate } from "./folders.ts";
import { chunksOf, filesBelow, listFolder, readBytes, readText, type AssertLive } from "./host-reading.ts";
import { inOrder, type InOrder } from "./in-order.ts";
import { recover } from "./recovery.ts";
import { changesSince } from "./tree-before.ts";
import { catchUp, isBehind, release, restore, within } from "./undo-log.ts";
import { mark, soundEnd, undoLog, type Mark, type UndoLog } from "./undo-state.ts";

/** What `hostFilesystem` takes beside the folder. */
export interface HostFilesystemOptions {
  /** Refuse every change. Default false. */
  readonly readOnly?: boolean | undefined;
  /**
   * Roll back unfinished changes whose owner cannot be checked from here: a process on another host or in another
   * container. Set it only if you know that the owner is dead. Default false.
   */
  readonly takeOver?: boolean | undefined;
}

/**
 * A folder of this machine. It takes part in transactions: what a call changed of it can be undone, whatever its size,
 * and a crash leaves it as before or as after the call; what a crashed process left is undone here. While there is
 * something to undo it has a folder `.proviso-undo`, which no path reaches.
 * @example
 * ```ts
 * import { hostFilesystem } from "@proviso/node";
 *
 * const files = hostFilesystem(".");
 * // The tools of an evaluation get it: adapter.evaluate(prompt, { resources: [provide(Filesystem, files)] }).
 * console.log(await files.exists("package.json")); // true
 * ```
 * @throws {FilesystemError} when what a crashed process left cannot be undone.
 */
export function hostFilesystem(folder: string, options: HostFilesystemOptions = {}): Filesystem {
  if (typeof folder !== "string" || folder.includes("\0")) {
    throw new DefinitionError(`hostFilesystem takes the path of a folder, not ${describeValue(folder)}.`);
  }
  // The process may go elsewhere later.
  const root = resolve(folder);
  checkOptionNames("hostFilesystem", options, { readOnly: true, takeOver: true });
  const { readOnly = false, takeOver = false } = options;
  if (readOnly) return withReading(refusing(), (assertLive) => reading(root, async () => {}, assertLive));
  const isLeft = system("", () => recover(root, takeOver));
  const queue = inOrder();
  const log: UndoLog = { ...undoLog(root, takeOver), isLeft };
  // What is half undone is shown only where it cannot be helped.
  const ready = async (): Promise<void> => {
    if (isBehind(log)) await queue.run(() => catchUp(log));
  };
  return withReading(changing(root, log, queue), (assertLive) => reading(root, ready, assertLive));
}

/** Makes a filesystem whose reads are guarded within a call, and unguarded outside of one. */
function withReading(rest: Changing, readingWhile: (assertLive: AssertLive) => Reading): Filesystem {
  return guardable({ ...readingWhile(() => {}), ...rest }, readingWhile);
}

type Reading = Pick<Filesystem, "read" | "readBytes" | "list" | "exists" | "glob" | "grep">;
type Changing = Pick<Filesystem, "write" | "remove" | "mkdir">;

/** Makes the reading methods. Each waits for `ready` first. */
function reading(root: string, ready: () => Promise<unknown>, assertLive: AssertLive): Reading {
  const look = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
    await ready();
    return systemAsync(path, work);
  };
  return {
    read: async (path, range) => look(path, () => readText(root, pathNames(path), path, { assertLive, range })),
    readBytes: async (path) => look(path, () => readBytes(root, pathNames(path), path, assertLive)),
    list: async (path = "") => look(path, () => listFolder(root, pathNames(path), path)),
    exists: async (path) => look(path, () => isThere(root, pathNames(path), path)),
    async glob(pattern) {
      const fits = globMatcher(pattern);
      return look("", async () => {
        const found: string[] = [];
        for await (const names of filesBelow(root, assertLive)) if (fits(names.join("/"))) found.push(names.join("/"));
        return found.toSorted();
      });
    },
    grep: async (text, range) => look("", () => grepBelow(root, text, range, assertLive)),
  };
}

async function isThere(root: string, names: readonly string[], path: string): Promise<boolean> {
  try {
    await withDescriptor(() => locate(root, names, path));
    return true;
  } catch (error) {
    if (error instanceof FilesystemError && error.reason === "not_found") return false;
    throw error;
  }
}

async function grepBelow(
  root: string,
  text: string,
  range: Parameters<Filesystem["grep"]>[1],
  assertLive: AssertLive,
): ReturnType<Filesystem["grep"]> {
  const faults: unknown[] = [];
  async function* chunks(names: readonly string[]): AsyncGenerator<Uint8Array> {
    try {
      yield* chunksOf(root, names, names.join("/"), assertLive);
    } catch (error) {
      // What cannot be read is passed over; what could be read a moment later would be missing.
      if (isPassing(error)) faults.push(error);
      throw error;
    }
  }
  async function* all(): AsyncGenerator<SearchedFile> {
    for await (const names of filesBelow(root, assertLive))
      yield { path: names.join("/"), chunks: () => chunks(names) };
  }
  const found = await grepFiles(all(), text, range);
  if (faults.length > 0) throw faults[0];
  return found;
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
function changing(root: string, log: UndoLog, queue: InOrder): Changing & Snapshotable<object> {
  const change = (path: string, work: () => Promise<void>): Promise<void> =>
    queue.run(() => systemAsync(path, () => within(log, work)));
  const changes = changesOf(root, log);
  const marks = new WeakMap<object, Mark>();
  const forgetting = new FinalizationRegistry<Mark>((taken) => {
    // No caller waits for the result; the next change tries again.
    queue.run(() => release(log, taken)).catch(() => {});
  });
  const take = (savepoint: boolean): object => {
    const snapshot = Object.freeze({});
    const taken = mark(log, !savepoint, soundEnd(log));
    marks.set(snapshot, taken);
    forgetting.register(snapshot, taken, snapshot);
    return snapshot;
  };
  return {
    async write(path, content) {
      const names = pathNames(path);
      const bytes = typeof content === "string" ? encoder.encode(content) : Uint8Array.from(content);
      await change(path, () => changes.write(names, path, bytes));
    },
    async remove(path) {
      const names = pathNames(path);
      await change(path, () => changes.remove(names, path));
    },
    async mkdir(path) {
      const names = pathNames(path);
      await change(path, () => changes.makeFolder(names, path));
    },
    durable: true,
    changesSince(snapshot) {
      const taken = marks.get(snapshot);
      return taken === undefined || !log.marks.has(taken) ? undefined : firstChanges(changesSince(log, taken));
    },
    snapshot: ({ savepoint = false } = {}) =>
      queue.isIdle() && !isBehind(log)
        ? take(savepoint)
        : queue.run(async () => {
            await catchUp(log);
            return take(savepoint);
          }),
    async restore(snapshot) {
      const taken = marks.get(snapshot);
      if (taken === undefined || !log.marks.has(taken)) {
        const message = "What is to be restored is no snapshot of this filesystem, or was released.";
        throw new FilesystemError(message, { reason: "failed", path: "" });
      }
      await queue.run(() => systemAsync("", () => restore(log, taken)));
    },
    release(snapshot) {
      const taken = marks.get(snapshot);
      if (taken === undefined) return undefined;
      forgetting.unregister(snapshot);
      // Nothing has changed: nothing is waited for.
      if (log.journal === undefined && !isBehind(log) && queue.isIdle()) return void log.marks.delete(taken);
      return queue.run(() => systemAsync("", () => release(log, taken)));
    },
  };
}
