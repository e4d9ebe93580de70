// What an attempt does without its queue.
import { memoryJournal } from "@proviso/journal";
import { createSession } from "@proviso/runtime";
import { fakeClock } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { waitBeforeAttempt } from "../src/attempt.ts";
import { ProgressCount, type RunProgress } from "../src/progress.ts";
import { counting } from "./support.ts";

test("FLT-4 an attempt waits 1 s, doubled to 60 s, or the Retry-After where that is longer", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 1_000].map((failures) => waitBeforeAttempt(failures, undefined));
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  expect(waitBeforeAttempt(3, 3_999)).toBe(4_000);
  expect(waitBeforeAttempt(3, 90_000)).toBe(90_000);
});

test("FLT-5 progress of a run is reported at most twice a second, and the last one always", async () => {
  // The journal writes in turns of the event loop of its own.
  const clock = fakeClock(undefined, { turns: 25 });
  const begun = clock.now();
  const reports: (readonly [ms: number, progress: RunProgress])[] = [];
  const session = createSession();
  const count = new ProgressCount("r", undefined, session, (each) => reports.push([clock.now() - begun, each]), clock);
  const kind = counting(() => clock.sleep(90));
  const running = kind.adapter.evaluate(kind.prompt.bind({ name: "ada", upTo: 20 }), {
    session,
    run: memoryJournal().run("r"),
  });
  await clock.advance(20 * 90 + 10);
  await running;
  count.end("executed");
  expect(reports.map(([ms]) => ms)).toEqual([0, 500, 1_000, 1_500, 1_810]);
  expect(reports.at(-1)?.[1]).toMatchObject({
    id: "r",
    attempt: 1,
    turn: 21,
    steps: 41,
    tool: "note",
    state: "executed",
  });
  await clock.advance(1_000);
  expect(reports).toHaveLength(5);
});
