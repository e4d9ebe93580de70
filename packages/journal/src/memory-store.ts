import { JournalError } from "@proviso/core";
import { checkFrames, runId } from "./check-frames.ts";
import type { Frame, JournalStore } from "./store.ts";

/** An attempt of this process, whose entries stay with it until someone asks for the run. */
export interface Growing {
  readonly run: string;
  /** The index of its first entry that is in no frame yet. */
  readonly first: number;
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

/** A store in memory, and how a journal of this process keeps frames in it: nothing has to be waited for or checked. */
export function memoryFrames(): {
  readonly store: JournalStore;
  readonly attachNow: AttachNow;
  /** Whether there is no such run. */
  readonly isEmpty: (run: string) => boolean;
} {
  // The run that was changed last stands last, but for those that grow.
  const runs = new Map<string, KeptRun>();
  let isClosed = false;
  const check = (): void => {
    if (isClosed) throw new JournalError("The journal in memory is closed.", { reason: "closed" });
  };
  /** The frames of a run, with all that is kept of it. */
  const settled = (id: string): readonly Frame[] => {
    const run = runs.get(id);
    const frame = run?.growing?.keptFrame();
    if (run === undefined || frame === undefined) return run?.frames ?? [];
    run.frames.push(frame);
    runs.delete(id);
    runs.set(id, run);
    return run.frames;
  };
  const append = (frame: Frame): "kept" | "fenced" => {
    const { run: id } = frame;
    const frames = settled(id);
    if (frame.first !== lengthOf(frames)) return stands(frames, frame) ? "kept" : "fenced";
    runs.delete(id);
    // An attempt that goes on with it here is refused from now on.
    runs.set(id, { frames: [...frames, frame], growing: undefined });
    return "kept";
  };
  const attachNow: AttachNow = (growing) => {
    check();
    const { run: id, first } = growing;
    const frames = settled(id);
    const run: KeptRun = { frames: [...frames], growing };
    if (first === lengthOf(frames)) runs.set(id, run);
    return {
      mayGrow() {
        check();
        return run.growing !== undefined && runs.get(id) === run;
      },
    };
  };
  const store = Object.freeze<JournalStore>({
    name: "memory",
    async append(frames) {
      check();
      checkFrames(frames);
      return frames.map((frame) => append(plain(frame)));
    },
    async *read(run, from = 0) {
      check();
      const frames = settled(runId(run));
      yield* frames.filter(({ first, count }) => first + count > from).map(plain);
    },
    async *list() {
      check();
      for (const id of Array.from(runs.keys())) settled(id);
      const all = [...runs].toReversed();
      yield* all.map(([run, { frames }]) => ({ run, summary: frames.at(-1)?.summary ?? "" }));
    },
    async remove(ids) {
      check();
      for (const id of ids.map(runId)) runs.delete(id);
    },
    async close() {
      isClosed = true;
    },
  });
  return { store, attachNow, isEmpty: (run) => !runs.has(run) && !isClosed };
}

/** A frame as plain data: some make their texts when they are read. */
function plain({ run, first, count, writer, body, sum, summary }: Frame): Frame {
  return Object.freeze({ run, first, count, writer, body, sum, summary });
}

function lengthOf(frames: readonly Frame[]): number {
  const last = frames.at(-1);
  return last === undefined ? 0 : last.first + last.count;
}

function stands(frames: readonly Frame[], { first, writer, sum }: Frame): boolean {
  return frames.some((kept) => kept.first === first && kept.writer === writer && kept.sum === sum);
}
