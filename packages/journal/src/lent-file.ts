// A file of frames that `sqliteResource` uses too. Its calls have transactions in which nothing of the journal is written
// but the record of the call itself.
import { JournalError } from "@proviso/core";
import { rollBack, type LentConnection } from "@proviso/node/internal";
import type { DatabaseSync } from "node:sqlite";
import type { FrameFile } from "./sqlite-file.ts";
import type { FrameRows } from "./sqlite-rows.ts";
import type { Frame } from "./store.ts";

/** Something that is being written, and may be tried again where another process has the lock. */
export type Attempt<T> = () => T;

/** The file of a store, for its own writes and for calls that have a transaction in it. */
export class LentFile implements LentConnection {
  readonly #opened: () => FrameFile;
  /** Own writes that wait for the lock of another process. */
  readonly #tried = new Set<Attempt<unknown>>();
  #freed: PromiseWithResolvers<void> | undefined;
  /** Called with why what was written in the open transaction is not in the file. */
  #losses: ((cause: unknown) => void)[] = [];

  /** `opened` opens the file where that was not possible before. */
  constructor(opened: () => FrameFile) {
    this.#opened = opened;
  }

  database(): DatabaseSync {
    return this.#opened().database;
  }

  rows(): FrameRows {
    return this.#opened().rows;
  }

  isLent(): boolean {
    return this.#freed !== undefined;
  }

  free(): Promise<void> | undefined {
    return this.#freed?.promise;
  }

  /** Resolves when what was written in the open transaction is in the file, or is not; undefined: nothing was. */
  settled(): Promise<void> | undefined {
    return this.#losses.length === 0 ? undefined : this.free();
  }

  /** An own write. It is done once, also where a call begins its transaction between two tries. */
  write<T>(work: (rows: FrameRows) => T): Attempt<T> {
    let done: { readonly result: T } | undefined;
    const attempt = (): T => {
      this.#tried.add(attempt);
      done ??= { result: work(this.#opened().rows) };
      this.#tried.delete(attempt);
      return done.result;
    };
    return attempt;
  }

  /**
   * Writes frames of this process at once. undefined: they have to wait, since a call has its transaction open or another
   * process the lock, or they cannot be written: to try again says why.
   */
  appendNow(frames: readonly Frame[]): readonly ("kept" | "fenced")[] | undefined {
    if (this.isLent() || this.#tried.size > 0) return undefined;
    try {
      return this.#opened().rows.append(frames);
    } catch {
      return undefined;
    }
  }

  /** No longer tries an own write. */
  giveUp(attempt: Attempt<unknown>): void {
    this.#tried.delete(attempt);
  }

  begin(busyTimeoutMs: number): void {
    const { database } = this.#opened();
    // The journal's own writes wait elsewhere.
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    try {
      for (const attempt of this.#tried) attempt();
      database.exec("BEGIN IMMEDIATE");
    } finally {
      database.exec("PRAGMA busy_timeout = 0");
    }
    this.#freed = Promise.withResolvers();
  }

  /** Writes a frame into the open transaction; `lost` is called if that is not committed. */
  writeInside(frame: Frame, lost: (cause: unknown) => void): "kept" | "fenced" {
    this.#losses.push(lost);
    return this.#opened().rows.appendInside(frame);
  }

  commit(): void {
    this.database().exec("COMMIT");
    this.#losses = [];
    this.#end();
  }

  rollBack(): void {
    rollBack(this.database());
    const losses = this.#losses;
    this.#losses = [];
    const cause = new JournalError("What a call changed was not committed, nor was the record of it.", {
      reason: "failed",
    });
    for (const lost of losses) lost(cause);
    this.#end();
  }

  #end(): void {
    const freed = this.#freed;
    this.#freed = undefined;
    freed?.resolve();
  }
}
