// 1. A file that is not known to be ours is read, never written.
// 2. What is written within a millisecond is one transaction, and is in the file when the promises resolve.
// 3. No statement waits for another connection's lock: it is tried again later, and the process goes on meanwhile.
import { DefinitionError, systemClock, type Usage } from "@proviso/core";
import { sqliteError, whenFree } from "@proviso/node/internal";
import { resolve } from "node:path";
import type { AttemptKey, AttemptRecord, EvalReport, EvalStore, Fingerprint } from "../results.ts";
import { KeptAttempts } from "../run/kept-attempts.ts";
import { openEvalFile, type Change, type EvalFile } from "./sqlite-eval-file.ts";

/** Milliseconds that another process's write is waited for. */
const busyTimeoutMs = 10_000;

/** Milliseconds that a change waits for others. A sleep of none is over in the same turn of the loop, before the next one. */
const commitAfterMs = 1;

interface Waiting {
  readonly change: Change;
  readonly run: number;
  readonly written: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Keeps attempts in an SQLite file: an attempt that has ended is there for the next run, also after the process was killed.
 * A power cut may take the last of them. Several processes may use the file at once, and several runs the store. A
 * new file can be read by its owner alone (mode 0600); the folder is made where there is none. It needs Node 22.13.
 * @throws {DefinitionError} for a file that is damaged, of a newer version or of something else; it is left alone. Later, a
 * SqliteError where the file cannot be written or read: it is full, or another connection holds the lock for too long.
 */
export function sqliteEvalStore(path: string): EvalStore & Disposable {
  if (typeof path !== "string" || path === "" || path === ":memory:" || path.includes("\0")) {
    throw new DefinitionError("sqliteEvalStore takes the path of a file; memoryEvalStore() keeps attempts in memory.");
  }
  // The process may go elsewhere later.
  return new SqliteEvalStore(resolve(path));
}

class SqliteEvalStore implements EvalStore, Disposable {
  readonly #path: string;
  readonly #file: EvalFile;
  /** The runs that were opened, by their ids. */
  readonly #runs = new Map<string, number>();
  #latest: number | undefined;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
    this.#file = openEvalFile(path);
  }

  async open(run: Parameters<EvalStore["open"]>[0]): ReturnType<EvalStore["open"]> {
    const begun = await this.#try("Opening a run in", (file) => {
      return file.begin(run, new Date(systemClock.now()).toISOString());
    });
    this.#runs.set(run.runId, (this.#latest = begun.run));
    return { finished: new KeptAttempts(() => this.#pages(run.name, run.fingerprint)), lost: begun.lost };
  }

  async *#pages(name: string, fingerprint: Fingerprint): AsyncIterable<readonly AttemptRecord[]> {
    const next = await this.#try("Reading", (file) => file.reader(name, fingerprint));
    for (;;) {
      const page = await this.#try("Reading", next);
      if (page === undefined) return;
      yield page;
    }
  }

  begin(key: AttemptKey, worstCase: Usage, runId?: string): Promise<void> {
    return this.#write({ begins: key, worstCase }, runId);
  }

  finish(record: AttemptRecord, runId?: string): Promise<void> {
    return this.#write({ record }, runId);
  }

  async end({ attempts, ...report }: EvalReport): Promise<void> {
    const run = this.#runs.get(report.runId);
    if (run === undefined) return;
    const rowIds = [...new Set(attempts.map(({ rowId }) => rowId))];
    await this.#try("Writing", (file) => file.end(run, { report, rowIds }));
  }

  async close(): Promise<void> {
    await this.#writing;
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    try {
      this.#flush(this.#take());
      // What this process spent on attempts that it cut short is part of its own reports.
      this.#file.forget([...this.#runs.values()]);
    } catch {
      // The next run counts them as lost.
    } finally {
      this.#isClosed = true;
      this.#file.close();
    }
  }

  async #write(change: Change, runId: string | undefined): Promise<void> {
    const run = runId === undefined ? this.#latest : this.#runs.get(runId);
    if (run === undefined) throw new DefinitionError(`No such run was opened in the file of attempts ${this.#path}.`);
    const written = new Promise<void>((resolved, failed) => {
      this.#waiting.push({ change, run, written: resolved, failed });
    });
    this.#writing ??= this.#writeAll();
    await written;
  }

  /** Writes what waits, turn by turn. Never rejects: each change has its own promise. */
  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      // A commit costs more than an attempt, so those that begin or end at about the same time share one.
      await systemClock.sleep(commitAfterMs);
      const waiting = this.#take();
      try {
        await this.#try("Writing", () => this.#flush(waiting));
      } catch (error) {
        for (const { failed } of waiting) failed(error);
      }
    }
    this.#writing = undefined;
  }

  #take(): readonly Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  #flush(waiting: readonly Waiting[]): void {
    for (const [run, own] of Map.groupBy(waiting, (each) => each.run)) {
      this.#file.write(
        run,
        own.map(({ change }) => change),
      );
      for (const { written } of own) written();
    }
  }

  #try<T>(doing: string, work: (file: EvalFile) => T): Promise<T> {
    return whenFree({ clock: systemClock, busyTimeoutMs, doing: `${doing} the file of attempts ${this.#path}` }, () => {
      if (this.#isClosed) throw new DefinitionError(`The file of attempts ${this.#path} is closed.`);
      return work(this.#file);
    }).catch((error: unknown) => {
      throw sqliteError(error);
    });
  }
}
