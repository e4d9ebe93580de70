import { JournalError } from "@proviso/core";
import type { Frame, JournalStore } from "@proviso/journal";
import { memoryStore, readFrames } from "@proviso/journal/internal";
import { expect, test } from "vitest";
import { frame, listed } from "./support.ts";

/** A store that answers what it likes. */
function answering(frames: readonly Frame[]): JournalStore {
  return {
    ...memoryStore(),
    async *read() {
      yield* frames;
    },
  };
}

const whole = [frame({ first: 0, count: 2 }), frame({ first: 2 }), frame({ first: 3 })] as const;
const [begin, middle, end] = whole;

test("JST-5 a record without a fault is read as it is", async () => {
  expect(await listed(readFrames(answering(whole), "ada"))).toEqual(whole);
  expect(await listed(readFrames(answering(whole), "ada", 1))).toEqual(whole);
  expect(await listed(readFrames(answering([]), "ada"))).toEqual([]);
});

test.each<readonly [string, readonly Frame[], number, number]>([
  ["a gap", [begin, end], 0, 2],
  ["frames out of order", [begin, end, middle], 0, 2],
  ["a frame twice", [begin, middle, middle], 0, 3],
  ["no beginning", [middle, end], 0, 0],
  ["a beginning before the entry", [begin, middle, end], 2, 2],
  ["a frame of another run", [begin, frame({ run: "bob", first: 2 })], 0, 2],
  ["another text than the sum is of", [begin, { ...middle, body: "entry 9" }], 0, 2],
  ["another sum", [begin, { ...middle, sum: middle.sum ^ 1 }], 0, 2],
  ["a frame that was moved", [{ ...middle, first: 0 }], 0, 0],
  ["a frame without entries", [begin, { ...middle, count: 0 }], 0, 2],
  ["a body that is no text", [begin, { ...middle, body: 7 as unknown as string }], 0, 2],
])("JST-5 %s is damaged, and the entry is named", async (_what, frames, from, entry) => {
  const read: Frame[] = [];
  const reading = (async () => {
    for await (const one of readFrames(answering(frames), "ada", from)) read.push(one);
  })();
  const error = await reading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(JournalError);
  expect(error).toMatchObject({ code: "journal", reason: "damaged", run: "ada" });
  expect((error as Error).message).toContain(`The record of the run "ada" in memory is damaged at entry ${entry}: `);
  // What came before the fault was read.
  expect(read).toEqual(frames.slice(0, read.length));
  expect(read.reduce((sum, { first, count }) => Math.max(sum, first + count), from)).toBe(entry);
});
