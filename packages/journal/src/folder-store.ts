// 1. A run is one file: each line is a frame, and what is written of a frame is the whole line or is cut off again.
// 2. A last line that a crash tore is passed over, and cut off with the next append: it has no end, or is no JSON. Any other
//    damage is not hidden, and nothing of it is cut off.
import { JournalError } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { messageOf, parseOwnJson } from "@proviso/core/internal";
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { makeFolder } from "@proviso/node/internal";
import { join } from "node:path";
import { checkFrames, checkRun, isOfOtherRun, runId } from "./check-frames.ts";
import { checkName, fileNameOf, folderAt, newestFirst } from "./folder-names.ts";
import { statsAt } from "./stats-at.ts";
import { tornBytes, type Frame, type JournalStore } from "./store.ts";

/** The file of a copy until all of it is written: no run's, and the next copy writes it anew. */
const unfinished = ".copy.part";

/** A run's file, as it was read. */
interface RunFile {
  readonly frames: readonly Frame[];
  /** Bytes of whole lines: what comes after them was torn. */
  readonly bytes: number;
  readonly torn: number;
}

/** The end of a run's file. */
interface RunEnd {
  /** Bytes of whole lines. */
  readonly bytes: number;
  /** How many entries the run has. */
  readonly length: number;
  /** The first frame; undefined: there is none. */
  readonly begun: Pick<Frame, "first" | "count" | "writer"> | undefined;
}

/** Appends, and remembers where the runs end: what only grows is not read again. */
class RunEnds {
  readonly #ends = new Map<string, RunEnd>();
  readonly #fileOf: (run: string) => string;

  constructor(fileOf: (run: string) => string) {
    this.#fileOf = fileOf;
  }

  append(frame: Frame): "kept" | "fenced" {
    const { run, first, count, writer } = frame;
    const file = this.#fileOf(run);
    const { bytes, length, begun } = this.#endOf(run, file);
    if (first !== length || isOfOtherRun(frame, begun?.writer))
      return stands(readRun(file, run).frames, frame) ? "kept" : "fenced";
    this.#ends.delete(run);
    const written = writeLine(file, bytes, lineOf(frame));
    this.#ends.set(run, { bytes: bytes + written, length: first + count, begun: begun ?? { first, count, writer } });
    return "kept";
  }

  forget(run: string): void {
    this.#ends.delete(run);
  }

  #endOf(run: string, file: string): RunEnd {
    const known = this.#ends.get(run);
    if (known !== undefined && isAsKnown(file, known)) return known;
    const { frames, bytes } = readRun(file, run);
    const last = frames.at(-1);
    return { bytes, length: last === undefined ? 0 : last.first + last.count, begun: frames[0] };
  }
}

/** Whether a file is still that of the same run: it is as long, and its first line begins with the same writer. */
function isAsKnown(file: string, { bytes, begun }: RunEnd): boolean {
  if (begun === undefined || statsAt(file)?.size !== bytes) return false;
  const wanted = Buffer.from(beginningOf(begun));
  const found = Buffer.alloc(wanted.length);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, found, 0, found.length, 0);
  } finally {
    closeSync(descriptor);
  }
  return found.equals(wanted);
}

/**
 * Keeps each run in a file of JSON Lines in one folder, `<id>.jsonl` with `/` as `%2F`: to read, to compare, to commit. It
 * serves one process at a time, and an append is in the file when it resolves.
 * @throws {DefinitionError} for what is no path.
 */
export function folderStore(path: string): JournalStore {
  const folder = folderAt(path);
  let isClosed = false;
  const check = (): void => {
    if (isClosed) throw new JournalError(`The journal ${folder} is closed.`, { reason: "closed" });
  };
  const failing = <T>(doing: string, work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      const reason = (cause as { readonly code?: unknown }).code === "ENOSPC" ? "full" : "failed";
      throw new JournalError(`${doing} the journal ${folder} failed: ${messageOf(cause)}`, { reason, cause });
    }
  };
  const fileOf = (run: string): string => join(folder, fileNameOf(run));
  const ends = new RunEnds(fileOf);
  return Object.freeze<JournalStore>({
    name: `folder ${folder}`,
    async append(frames) {
      check();
      checkFrames(frames);
      for (const { run } of frames) checkName(run);
      return failing("Writing", () => {
        makeFolder(folder);
        return frames.map((frame) => ends.append(frame));
      });
    },
    async *read(run, from = 0) {
      check();
      const { frames } = failing("Reading", () => readRun(fileOf(runId(run)), run));
      // A line without numbers is not passed over: its reader finds the damage.
      yield* frames.filter(({ first, count }) => !(first + count <= from));
    },
    async *list() {
      check();
      for (const { run, file } of failing("Reading", () => newestFirst(folder))) {
        const last = failing("Reading", () => readableRun(file, run))?.frames.at(-1);
        if (last !== undefined) yield { run, summary: last.summary };
      }
    },
    ...wholeRunsOf(folder, { check, failing, fileOf, ends }),
    async close() {
      isClosed = true;
    },
    [tornBytes]: (run: string) => failing("Reading", () => readRun(fileOf(run), run)).torn,
  });
}

interface InFolder {
  check(): void;
  failing<T>(doing: string, work: () => T): T;
  fileOf(run: string): string;
  readonly ends: RunEnds;
}

function wholeRunsOf(
  folder: string,
  { check, failing, fileOf, ends }: InFolder,
): Pick<JournalStore, "summary" | "remove" | "removeUnchanged" | "appendRun"> {
  const remove = (run: string): void => {
    ends.forget(run);
    rmSync(fileOf(run), { force: true });
  };
  const newest = (run: string): string | undefined => readRun(fileOf(run), run).frames.at(-1)?.summary;
  return {
    async summary(run) {
      check();
      return failing("Reading", () => newest(runId(run)));
    },
    async remove(runs) {
      check();
      const ids = runs.map(runId);
      failing("Writing", () => ids.forEach(remove));
    },
    async removeUnchanged(runs) {
      check();
      const seen = runs.map(({ run, summary }) => ({ run: runId(run), summary }));
      return failing("Writing", () => {
        const same = seen.filter(({ run, summary }) => newest(run) === summary);
        for (const { run } of same) remove(run);
        return same.length;
      });
    },
    async appendRun(frames) {
      check();
      const run = checkRun(frames);
      checkName(run);
      return failing("Writing", () => {
        makeFolder(folder);
        if (newest(run) !== undefined) return false;
        ends.forget(run);
        writeWhole(fileOf(run), join(folder, unfinished), frames.map(lineOf).join(""));
        return true;
      });
    },
  };
}

function lineOf({ first, count, writer, sum, summary, body }: Frame): string {
  return `${beginningOf({ first, count, writer })},${JSON.stringify({ sum, summary, body }).slice(1)}\n`;
}

/** What no other line of this run, and no line of another run of its id, begins with. */
function beginningOf({ first, count, writer }: Pick<Frame, "first" | "count" | "writer">): string {
  return JSON.stringify({ first, count, writer }).slice(0, -1);
}

function readRun(file: string, run: string): RunFile {
  if (statsAt(file) === undefined) return { frames: [], bytes: 0, torn: 0 };
  const bytes = readFileSync(file);
  // What stands behind the last line break is no whole line. It is counted in bytes: it may end within a character.
  let whole = endOfLines(bytes);
  const lines = bytes.toString("utf8", 0, whole).split("\n").slice(0, -1);
  const frames = lines.map((line) => frameIn(line, run));
  // Where the power failed, what stands between the ends of the last line may never have been written: then it is no JSON.
  if (whole === bytes.length && frames.at(-1)?.sum === noSum) {
    whole = endOfLines(bytes.subarray(0, whole - 1));
    frames.pop();
  }
  return { frames, bytes: whole, torn: bytes.length - whole };
}

/** Reads a run for a list; undefined: this user may not read its file, and the others are listed. */
function readableRun(file: string, run: string): RunFile | undefined {
  try {
    return readRun(file, run);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") return undefined;
    throw error;
  }
}

/** The number of bytes up to the last line break, with it; 0: there is none. */
function endOfLines(bytes: Buffer): number {
  return bytes.lastIndexOf("\n") + 1;
}

/** The sum of what is no JSON object: no text has it. */
const noSum = -1;

/** A line that is no JSON object has no sum: where it is not passed over, its reader says that the run is damaged. */
function frameIn(line: string, run: string): Frame {
  const read = parseOwnJson(line);
  const fields =
    read.ok && isRecord(read.value)
      ? read.value
      : { first: 0, count: 1, writer: "", body: line, sum: noSum, summary: "" };
  return { ...(fields as unknown as Frame), run };
}

/** Writes behind the whole lines, and returns how many bytes; a part of a line is taken away again. */
function writeLine(file: string, bytes: number, line: string): number {
  const descriptor = openSync(file, "a", 0o600);
  try {
    if (fstatSync(descriptor).size > bytes) ftruncateSync(descriptor, bytes);
    const wanted = Buffer.from(line);
    try {
      for (let written = 0; written < wanted.length;) written += writeSync(descriptor, wanted, written);
    } catch (error) {
      ftruncateSync(descriptor, bytes);
      throw error;
    }
    return wanted.length;
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a file as a whole or not at all. */
function writeWhole(file: string, beside: string, text: string): void {
  try {
    rmSync(beside, { force: true });
    writeFileSync(beside, text, { mode: 0o600, flag: "wx" });
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

function stands(frames: readonly Frame[], { first, writer, sum }: Frame): boolean {
  return frames.some((kept) => kept.first === first && kept.writer === writer && kept.sum === sum);
}
