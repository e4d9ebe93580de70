import { JournalError } from "@proviso/core";
import { checkFrames, checkRun, isOfOtherRun, runId } from "./check-frames.ts";
import type { Frame, JournalStore } from "./store.ts";

/** An attempt of this process, whose entries stay with it until someone asks for the run. */
export interface Growing {
  readonly run: string;
  /** The index of its first entry that is in no frame yet. */
  readonly first: number;
  /** The writer of the run's first frame; undefined: it begins the run. */
  readonly begunBy: string | undefined;
  /** Takes what is kept of it, and in no frame yet, as a frame; undefined: nothing is. */
  keptFrame(): Frame | undefined;
}

/** The place of an attempt in a store. */
export interface Attached {
  /** Whether the run is still its own, so that what it has now is kept. @throws {JournalError} "closed". */
  mayGrow(): boolean;
}

/** Gives an attempt its place, where its run is as long as it believes: only then it may grow. @throws {JournalError} "closed". */
export type AttachNow = (growing: Growing) => Attached;

interface KeptRun {
  readonly frames: Frame[];
  /** The attempt that goes on with it here. */
  growing: Growing | undefined;
}

/** Keeps frames in memory, for tests and programs of one process; they are gone with it. */
export function memoryStore(): JournalStore {
  return memoryFrames().store;
}

/** What a store in memory is, for a journal of its own process: nothing has to be waited for or checked. */
export interface MemoryFrames {
  readonly store: JournalStore;
  readonly attachNow: AttachNow;
  /** Whether there is no such run. */
  readonly isEmpty: (run: string) => boolean;
}

/** Makes a store in memory. */
export function memoryFrames(): MemoryFrames {
  const runs = new KeptRuns();
  const store = Object.freeze<JournalStore>({
    name: "memory",
    async append(frames) {
      runs.check();
      checkFrames(frames);
      return frames.map((frame) => runs.append(frame));
    },
    async *read(run, from = 0) {
      runs.check();
      const frames = runs.settled(runId(run));
      yield* frames.filter(({ first, count }) => first + count > from).map(plain);
    },
    async *list() {
      runs.check();
      yield* runs.newest();
    },
    async remove(ids) {
      runs.check();
      for (const id of ids.map(runId)) runs.remove(id);
    },
    async removeUnchanged(seen) {
      runs.check();
      const same = seen.filter(({ run, summary }) => runs.settled(runId(run)).at(-1)?.summary === summary);
      for (const { run } of same) runs.remove(run);
      return same.length;
    },
    async appendRun(frames) {
      runs.check();
      if (!runs.isEmpty(checkRun(frames))) return false;
      for (const frame of frames) runs.append(frame);
      return true;
    },
    async close() {
      runs.isClosed = true;
    },
  });
  return { store, attachNow: (growing) => runs.attach(growing), isEmpty: (run) => runs.isEmpty(run) };
}

class KeptRuns {
  isClosed = false;
  /** The run that was changed last stands last, but for those that grow. */
  readonly #runs = new Map<string, KeptRun>();

  /** @throws {JournalError} "closed". */
  check(): void {
    if (this.isClosed) throw new JournalError("The journal in memory is closed.", { reason: "closed" });
  }

  isEmpty(id: string): boolean {
    return !this.#runs.has(id) && !this.isClosed;
  }

  /** Returns the frames of a run, with all that is kept of it. */
  settled(id: string): readonly Frame[] {
    const run = this.#runs.get(id);
    const frame = run?.growing?.keptFrame();
    if (run === undefined || frame === undefined) return run?.frames ?? [];
    run.frames.push(frame);
    this.#putLast(id, run);
    return run.frames;
  }

  append(given: Frame): "kept" | "fenced" {
    const { run: id } = given;
    const frames = this.settled(id);
    if (!goesOn(frames, given)) return stands(frames, given) ? "kept" : "fenced";
    const frame = plain(given);
    const run = this.#runs.get(id);
    // An attempt that goes on with the run here is refused from now on.
    if (run?.growing === undefined) (run?.frames ?? this.#begin(id).frames).push(frame);
    else this.#runs.set(id, { frames: [...frames, frame], growing: undefined });
    this.#putLast(id, this.#runs.get(id) as KeptRun);
    return "kept";
  }

  attach(growing: Growing): Attached {
    this.check();
    const { run: id } = growing;
    const frames = this.settled(id);
    const run: KeptRun = { frames: [...frames], growing };
    if (goesOn(frames, growing)) this.#runs.set(id, run);
    return {
      mayGrow: () => {
        this.check();
        return this.#runs.get(id) === run;
      },
    };
  }

  /** Returns the newest summary of each run, last changed first. */
  newest(): readonly { readonly run: string; readonly summary: string }[] {
    for (const id of Array.from(this.#runs.keys())) this.settled(id);
    const all = Array.from(this.#runs).toReversed();
    return all.map(([run, { frames }]) => ({ run, summary: frames.at(-1)?.summary ?? "" }));
  }

  remove(id: string): void {
    this.#runs.delete(id);
  }

  #begin(id: string): KeptRun {
    const run: KeptRun = { frames: [], growing: undefined };
    this.#runs.set(id, run);
    return run;
  }

  #putLast(id: string, run: KeptRun): void {
    this.#runs.delete(id);
    this.#runs.set(id, run);
  }
}

/** A frame as plain data: some make their texts when they are read. */
function plain({ run, first, count, writer, body, sum, summary }: Frame): Frame {
  return Object.freeze({ run, first, count, writer, body, sum, summary });
}

function lengthOf(frames: readonly Frame[]): number {
  const last = frames.at(-1);
  return last === undefined ? 0 : last.first + last.count;
}

function goesOn(frames: readonly Frame[], next: Pick<Frame, "first" | "begunBy">): boolean {
  return next.first === lengthOf(frames) && !isOfOtherRun(next, frames[0]?.writer);
}

function stands(frames: readonly Frame[], { first, writer, sum }: Frame): boolean {
  return frames.some((kept) => kept.first === first && kept.writer === writer && kept.sum === sum);
}
