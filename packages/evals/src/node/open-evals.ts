import { DefinitionError, type EvalReader } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { shownSaved, type ShownEval } from "./eval-results.ts";
import { readRun } from "./run-files.ts";
import { savedRunOf } from "../report/saved.ts";
import { isEvalFile, openedToRead, runsIn } from "./sqlite-eval-results.ts";

/** The first bytes of an SQLite file. Source: https://www.sqlite.org/fileformat2.html#the_database_header */
const sqliteHeader = "SQLite format 3\0";

/** The files of attempts and saved runs that are looked at. */
interface Source extends Disposable {
  runs(): Promise<readonly ShownEval[]>;
}

/**
 * Reads runs of evals, to look at: from the file of a `sqliteEvalStore`, which may be in use by other processes, and from
 * files of `writeRun`. Nothing is written. A run that has not ended has its attempts and no intervals; a saved run has mean
 * scores by row.
 * @throws {DefinitionError} for a file that is not there, or is neither of both.
 */
export function openEvals(...paths: readonly string[]): EvalReader & Disposable {
  const sources: Source[] = [];
  const dispose = (): void => {
    for (const source of sources) source[Symbol.dispose]();
  };
  try {
    for (const path of paths) sources.push(sourceAt(resolve(path)));
  } catch (error) {
    dispose();
    throw error;
  }
  const runs = async (): Promise<readonly ShownEval[]> => (await Promise.all(sources.map((one) => one.runs()))).flat();
  const find = async (id: string): Promise<ShownEval | undefined> =>
    (await runs()).find(({ view }) => view.runId === id);
  return Object.freeze({
    list: async () =>
      (await runs()).map(({ view: { name, runId, startedAt, status, rows, variants } }) => {
        return { name, runId, startedAt, status, rows, variants };
      }),
    report: async (id: string) => (await find(id))?.view,
    async *attempts(id: string) {
      yield* (await find(id))?.attempts() ?? [];
    },
    [Symbol.dispose]: dispose,
  });
}

/** Whether a file is one of attempts, of `sqliteEvalStore`. */
export function isEvalStore(path: string): boolean {
  if (!startsAsDatabase(path)) return false;
  try {
    using database = openedToRead(path);
    return isEvalFile(database);
  } catch {
    return false;
  }
}

function sourceAt(file: string): Source {
  if (!existsSync(file)) throw new DefinitionError(`There is no file of evals at ${file}.`);
  if (!startsAsDatabase(file)) return savedSource(file);
  const refuse = (why: string): DefinitionError => new DefinitionError(`The file ${file} ${why}.`);
  try {
    const database = openedToRead(file);
    if (!isEvalFile(database)) {
      database.close();
      throw refuse("is a database of something else, and not one of attempts");
    }
    return { runs: async () => runsIn(database), [Symbol.dispose]: () => database.close() };
  } catch (error) {
    throw error instanceof DefinitionError ? error : refuse(`cannot be read: ${messageOf(error)}`);
  }
}

function savedSource(file: string): Source {
  return {
    runs: async () => [shownSaved(savedRunOf(await readRun(file), `The saved run ${file}`))],
    [Symbol.dispose]() {},
  };
}

function startsAsDatabase(file: string): boolean {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const first = Buffer.alloc(sqliteHeader.length);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, first);
  } finally {
    closeSync(descriptor);
  }
  return first.toString("latin1") === sqliteHeader;
}
