import { JournalError } from "@proviso/core";
import { checkFrames, runId } from "./check-frames.ts";
import type { Frame, JournalStore } from "./store.ts";

/** Keeps a frame at once. @throws {JournalError} "closed". */
export type AppendNow = (frame: Frame) => "kept" | "fenced";

/** Keeps frames in memory, for tests and programs of one process; they are gone with it. */
export function memoryStore(): JournalStore {
  return memoryFrames().store;
}

/** A store in memory, and how a journal of this process keeps frames in it: nothing has to be waited for or checked. */
export function memoryFrames(): { readonly store: JournalStore; readonly appendNow: AppendNow } {
  // The run that was changed last stands last.
  const runs = new Map<string, Frame[]>();
  let isClosed = false;
  const check = (): void => {
    if (isClosed) throw new JournalError("The journal in memory is closed.", { reason: "closed" });
  };
  const append = (frame: Frame): "kept" | "fenced" => {
    const frames = runs.get(frame.run) ?? [];
    const last = frames.at(-1);
    const length = last === undefined ? 0 : last.first + last.count;
    if (frame.first !== length) return stands(frames, frame) ? "kept" : "fenced";
    frames.push(frame);
    runs.delete(frame.run);
    runs.set(frame.run, frames);
    return "kept";
  };
  const appendNow: AppendNow = (frame) => {
    check();
    return append(frame);
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
      const frames = runs.get(runId(run)) ?? [];
      yield* frames.filter(({ first, count }) => first + count > from).map(plain);
    },
    async *list() {
      check();
      const all = [...runs].toReversed();
      yield* all.map(([run, frames]) => ({ run, summary: frames.at(-1)?.summary ?? "" }));
    },
    async remove(ids) {
      check();
      for (const id of ids.map(runId)) runs.delete(id);
    },
    async close() {
      isClosed = true;
    },
  });
  return { store, appendNow };
}

/** A frame as plain data: some make their texts when they are read. */
function plain({ run, first, count, writer, body, sum, summary }: Frame): Frame {
  return Object.freeze({ run, first, count, writer, body, sum, summary });
}

function stands(frames: readonly Frame[], { first, writer, sum }: Frame): boolean {
  return frames.some((kept) => kept.first === first && kept.writer === writer && kept.sum === sum);
}
