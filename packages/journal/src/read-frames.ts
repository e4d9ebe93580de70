import { JournalError } from "@proviso/core";
import { faultOf } from "./check-frames.ts";
import type { Frame, JournalStore } from "./store.ts";
import { frameSum } from "./sum.ts";

/**
 * Reads a run as `store.read` does, and believes nothing: each frame is of this run, follows the one before without a gap,
 * and has the sum of what it holds.
 * @throws {JournalError} "not_found" where the run was removed while it was read; "damaged" with the run and the entry, at
 * the first frame that is not so.
 */
export function readFrames(store: JournalStore, run: string, from = 0): AsyncGenerator<Frame, void, undefined> {
  return checkedFrames(store, run, from);
}

async function* checkedFrames(store: JournalStore, run: string, from: number): AsyncGenerator<Frame, void, undefined> {
  const check = frameCheck(store, run, from);
  for await (const frame of store.read(run, from)) {
    check(frame);
    yield frame;
  }
}

/** Checks the frames of a run, one after another; what it returns throws a JournalError "damaged". */
export function frameCheck(store: JournalStore, run: string, from = 0): (frame: Frame) => void {
  let next: number | undefined;
  return (frame) => {
    const entry = next ?? from;
    const fault = faultOf(frame) ?? misplaced(frame, run, from, next) ?? wrongSum(frame);
    if (fault !== undefined) {
      throw new JournalError(
        `The record of the run "${run}" in ${store.name} is damaged at entry ${entry}: ${fault}.`,
        {
          reason: "damaged",
          run,
        },
      );
    }
    next = frame.first + frame.count;
  };
}

function misplaced(frame: Frame, run: string, from: number, next: number | undefined): string | undefined {
  if (frame.run !== run) return "the frame is of another run";
  if (next !== undefined) {
    return frame.first === next ? undefined : `the frame begins at entry ${frame.first}`;
  }
  if (frame.first <= from && from < frame.first + frame.count) return undefined;
  return `the first frame holds the entries from ${frame.first} to ${frame.first + frame.count - 1}`;
}

function wrongSum(frame: Frame): string | undefined {
  return frameSum(frame) === frame.sum ? undefined : "the sum of the frame is not that of its text";
}
