import { DefinitionError } from "@proviso/core";
import { checkedId, describeValue } from "@proviso/core/internal";
import type { Frame } from "./store.ts";

/** UTF-16 units of a run's id. */
const longestId = 200;

/**
 * Returns the id of a run, where it is one: 1 to 200 UTF-16 units without control characters and half surrogate pairs.
 * @throws {DefinitionError} for anything else.
 */
export function runId(id: unknown): string {
  return checkedId("run", id, longestId);
}

/** Whether a run may have this id. */
export function isRunId(id: string): boolean {
  try {
    return runId(id) === id;
  } catch {
    return false;
  }
}

/**
 * Returns what is wrong with the form of a frame, undefined for nothing. A text with half of a surrogate pair or with a
 * NUL would not come back from every database as it was given.
 */
export function faultOf({ first, count, writer, begunBy = "", body, summary, sum }: Frame): string | undefined {
  if (!Number.isSafeInteger(first) || first < 0) return `its first is ${describeValue(first)}`;
  if (!Number.isSafeInteger(count) || count < 1) return `its count is ${describeValue(count)}`;
  if (!Number.isSafeInteger(first + count)) return "it ends beyond the largest safe integer";
  if (!Number.isInteger(sum) || sum < 0 || sum > 0xffffffff) return `its sum is ${describeValue(sum)}`;
  return (
    textFault("writer", writer) ??
    textFault("begunBy", begunBy) ??
    textFault("body", body) ??
    textFault("summary", summary)
  );
}

function textFault(name: string, text: unknown): string | undefined {
  if (typeof text !== "string") return `its ${name} is no text`;
  if (!text.isWellFormed()) return `its ${name} has half of a surrogate pair`;
  return text.includes("\0") ? `its ${name} has a NUL` : undefined;
}

/** Whether a frame goes on with another run of its id than the one that is there, whose first frame has this writer. */
export function isOfOtherRun({ first, begunBy }: Pick<Frame, "first" | "begunBy">, begun: string | undefined): boolean {
  return first > 0 && begunBy !== undefined && begunBy !== begun;
}

/** Stores call it before they keep anything. @throws {DefinitionError} for what is no frame. */
export function checkFrames(frames: readonly Frame[]): void {
  for (const frame of frames) {
    const run = runId(frame.run);
    const fault = faultOf(frame);
    if (fault !== undefined) throw new DefinitionError(`A frame of the run "${run}" cannot be kept: ${fault}.`);
  }
}

/** Returns the id of the run whose frames these are. @throws {DefinitionError} for anything but one run, whole from its first entry on. */
export function checkRun(frames: readonly Frame[]): string {
  checkFrames(frames);
  const run = runId(frames[0]?.run);
  let length = 0;
  for (const frame of frames) {
    if (frame.run !== run || frame.first !== length) {
      throw new DefinitionError(`The frames of the run "${run}" do not follow each other from its first entry on.`);
    }
    length += frame.count;
  }
  return run;
}
