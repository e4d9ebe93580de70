// What an attempt does without its queue.
import { FilesystemError, JournalError, provide, provideFactory, resourceKey } from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalStore } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { failingModel, fakeClock } from "@proviso/runtime/testing";
import { defineRun, type RunKindOptions } from "@proviso/worker";
import { expect, test } from "vitest";
import { attemptRun, waitBeforeAttempt, type AttemptEnd } from "../src/attempt.ts";
import { ProgressCount, type RunProgress } from "../src/progress.ts";
import { counting, until } from "./support.ts";

test("FLT-4 an attempt waits 1 s, doubled to 60 s, or the Retry-After where that is longer", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 1_000].map((failures) => waitBeforeAttempt(failures, undefined));
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  expect(waitBeforeAttempt(3, 3_999)).toBe(4_000);
  expect(waitBeforeAttempt(3, 90_000)).toBe(90_000);
});

test("FLT-4 a run whose journal cannot be written is tried again, and goes on once it can be", async () => {
  const store = memoryStore();
  let isFull = true;
  const failing: JournalStore = {
    ...store,
    append: (frames) => (isFull ? Promise.reject(new Error("The disk is full.")) : store.append(frames)),
  };
  const surroundings = { journal: createJournal(failing), signal: new AbortController().signal };
  const run = { id: "r", params: { name: "ada", upTo: 1 } };
  const kind = counting(() => {});
  expect(await attemptRun(kind, run, surroundings)).toMatchObject({ kind: "again", error: { reason: "journal" } });
  isFull = false;
  expect(await attemptRun(kind, run, surroundings)).toMatchObject({
    kind: "executed",
    response: { text: "1 for ada" },
  });
});

const busy = new FilesystemError("Another process uses the folder.", { reason: "busy", path: "" });

test.each<readonly [where: string, options: (open: () => object) => RunKindOptions]>([
  ["its resources are opened", (open) => ({ resources: [provideFactory(resourceKey("rows"), open, { eager: true })] })],
  ["its options are made", (open) => ({ resources: [provide(resourceKey("rows"), open())] })],
])(
  "FLT-4 a run is tried again that finds another one's lock when %s, and goes on once it is free",
  async (_, options) => {
    const surroundings = { journal: memoryJournal(), signal: new AbortController().signal };
    let isLocked = true;
    const open = (): object => {
      if (isLocked) throw busy;
      return {};
    };
    const kind = counting(
      () => {},
      () => options(open),
    );
    const run = { id: "r", params: { name: "ada", upTo: 1 } };
    expect(await attemptRun(kind, run, surroundings)).toMatchObject({ kind: "again" });
    isLocked = false;
    expect(await attemptRun(kind, run, surroundings)).toMatchObject({ kind: "executed" });
  },
);

test.each<readonly [reason: JournalError["reason"], end: AttemptEnd["kind"]]>([
  ["busy", "again"],
  ["failed", "again"],
  ["damaged", "failed"],
  ["closed", "failed"],
])("FLT-4 where a journal cannot be read because it is %s, the attempt is: %s", async (reason, end) => {
  const journal: Journal = {
    ...memoryJournal(),
    describe: () => Promise.reject(new JournalError("It cannot be read.", { reason })),
  };
  const surroundings = { journal, signal: new AbortController().signal };
  const run = { id: "r", params: { name: "ada", upTo: 1 } };
  expect(
    (
      await attemptRun(
        counting(() => {}),
        run,
        surroundings,
      )
    ).kind,
  ).toBe(end);
});

test("FLT-5 progress of a run is reported at most twice a second, and the last one always", async () => {
  // The journal writes in turns of the event loop of its own.
  const clock = fakeClock(undefined, { turns: 25 });
  const begun = clock.now();
  const reports: (readonly [ms: number, progress: RunProgress])[] = [];
  const session = createSession();
  const count = new ProgressCount("r", undefined, session, (each) => reports.push([clock.now() - begun, each]), clock);
  let called = 0;
  const kind = counting((number) => {
    called = number;
    return clock.sleep(90);
  });
  const running = kind.adapter.evaluate(kind.prompt.bind({ name: "ada", upTo: 20 }), {
    session,
    run: memoryJournal().run("r"),
  });
  for (let number = 1; number <= 20; number++) {
    // Whatever it loads before the first call and between two takes real time.
    await until(() => called === number);
    await clock.advance(90);
  }
  await clock.advance(10);
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

test("FLT-5 FLT-6 JRN-10 a run that is handed back stays open and is not pruned; the last of its attempts has failed", async () => {
  const journal = memoryJournal();
  const controller = new AbortController();
  const run = { id: "r", params: { name: "ada", upTo: 2 } };
  const kind = counting((number) => {
    if (number === 1) controller.abort();
  });
  const end = await attemptRun(kind, run, { journal, signal: controller.signal });
  expect(end.kind).toBe("stopped");
  expect((await journal.describe("r"))?.state).toBe("open");
  expect(await journal.prune({ keep: 0 })).toBe(0);
  const signal = new AbortController().signal;
  expect(await attemptRun(kind, run, { journal, signal })).toMatchObject({ kind: "executed" });
  const failing = defineRun({
    prompt: kind.prompt,
    adapter: modelAdapter(failingModel({ failure: "throttle", kind: "rate_limit", retry: false, message: "busy" })),
  });
  const states: unknown[] = [];
  for (const isLast of [false, true]) {
    const reports: RunProgress[] = [];
    const report = (progress: RunProgress): void => void reports.push(progress);
    await attemptRun(failing, { ...run, id: "t" }, { journal, signal, isLast, report });
    // Who follows its progress waits for an end.
    states.push([(await journal.describe("t"))?.state, reports.at(-1)?.state]);
  }
  expect(states).toEqual([
    ["open", "open"],
    ["failed", "failed"],
  ]);
});
