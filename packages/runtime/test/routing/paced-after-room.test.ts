// Requests that have their turn at a pace, and wait for room in a shared budget then.
import { deadlineAt, trackBudget, type ModelProvider, type Pace } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fallback, paced, sharedPace } from "@proviso/runtime/routing";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fromSources } from "../../../../scripts/from-sources.ts";
import { rejection } from "../support.ts";

/** Smaller than one answer that nothing bounds: there is room for one request at a time, until one has shown how long they are. */
const tight = { maxTotalTokens: 16_000 };

/** A model whose first answer takes a minute, behind a pace of 60 requests a minute; and when it was asked. */
function slowAtFirst(chained: boolean, around = (pace: Pace): Pace => pace) {
  const environment = fakeEnvironment(1, { turns: 1 });
  const { clock } = environment;
  const sent: number[] = [];
  const provider: ModelProvider = {
    name: "m",
    model: "m",
    capabilities: { tools: false, nativeOutput: false, outputLimit: { least: 1 } },
    async generate({ signal }) {
      sent.push(clock.now());
      await clock.sleep(sent.length === 1 ? 60_000 : 10, signal);
      const message = { role: "assistant", text: "ok", toolCalls: [] } as const;
      return { message, finishReason: "stop", usage: { inputTokens: 5, outputTokens: 5 } };
    },
  };
  const pace = sharedPace({ clock, requestsPerMinute: 60 });
  const one = paced(modelAdapter(provider, environment), around(pace));
  return { clock, pace, sent, adapter: chained ? fallback([one]) : one };
}

const most = (sent: readonly number[], ms: number): number =>
  Math.max(...sent.map((at) => sent.filter((other) => other >= at && other < at + ms).length));

const isIdle = (pace: Pace): boolean => pace.state().queued + pace.state().inFlight === 0;

test.each([
  ["a model", false],
  ["a chain", true],
])("PAC-2 PAC-4 requests to %s that waited for room go out by the pace of then", async (_, chained) => {
  const { clock, pace, sent, adapter } = slowAtFirst(chained);
  const budget = trackBudget(tight);
  const all = Promise.all(Array.from({ length: 120 }, () => adapter.evaluate("Say hi.", { budget })));
  await clock.advance(300_000);
  await all;
  expect(sent.length).toBe(120);
  expect(most(sent, 60_000)).toBeLessThanOrEqual(61);
  expect(most(sent, 1_000)).toBeLessThanOrEqual(2);
  expect(isIdle(pace)).toBe(true);
});

test("PAC-4 a request that waits for room leaves its turn to others", async () => {
  const { clock, sent, adapter } = slowAtFirst(false);
  const budget = trackBudget(tight);
  const waiting = Array.from({ length: 30 }, () => adapter.evaluate("Say hi.", { budget }));
  await clock.advance(10_000);
  // The turns of those that wait are no part of the limit.
  const others = Array.from({ length: 5 }, () => adapter.evaluate("Say hi."));
  await clock.advance(6_000);
  await Promise.all(others);
  expect(sent.length).toBe(6);
  await clock.advance(120_000);
  await Promise.all(waiting);
});

test.each(["deadline", "aborted"])(
  "PAC-3 PAC-4 LIM-2 the second wait ends too: %s, and nothing stays held",
  async (code) => {
    for (const chained of [false, true]) {
      const { clock, pace, adapter } = slowAtFirst(chained);
      const budget = trackBudget(tight);
      const others = Array.from({ length: 6 }, () => adapter.evaluate("Say hi.", { budget }));
      const controller = new AbortController();
      const limits =
        code === "deadline" ? { deadline: deadlineAt(new Date(clock.now() + 61_500)) } : { signal: controller.signal };
      const failing = rejection(adapter.evaluate("Say hi.", { budget, ...limits }));
      await clock.advance(61_500);
      controller.abort();
      expect(await failing).toMatchObject({ code });
      await clock.advance(120_000);
      await Promise.all(others);
      expect(isIdle(pace)).toBe(true);
      expect(budget.remaining().totalTokens).toBe(16_000 - budget.consumed.totalTokens);
    }
  },
);

const broken: readonly (readonly [string, (pace: Pace) => Pace])[] = [
  [
    "enters again",
    (inner) => {
      let entered = 0;
      const enter: Pace["enter"] = async (...given) => {
        if (++entered === 3) throw new Error("The pace is broken.");
        return inner.enter(...given);
      };
      return { enter, state: () => inner.state() };
    },
  ],
  [
    "pauses",
    (inner) => {
      const enter: Pace["enter"] = async (...given) => {
        const entry = await inner.enter(...given);
        const pause = (): never => {
          throw new Error("The pace is broken.");
        };
        return entry.ok ? { ok: true, turn: { ...entry.turn, pause } } : entry;
      };
      return { enter, state: () => inner.state() };
    },
  ],
];

test.each(broken)("LIM-5 PAC-4 a pace that throws as a request %s keeps nothing of the budget", async (_, around) => {
  for (const chained of [false, true]) {
    const { clock, adapter, pace } = slowAtFirst(chained, around);
    const budget = trackBudget(tight);
    const first = adapter.evaluate("Say hi.", { budget });
    const failing = rejection(adapter.evaluate("Say hi.", { budget }));
    await clock.advance(120_000);
    await first;
    expect((await failing).message).toContain("The pace is broken.");
    expect(budget.remaining().totalTokens).toBe(16_000 - budget.consumed.totalTokens);
    expect(isIdle(pace)).toBe(true);
  }
});

test("PAC-4 PAC-6 a request does not wait for its own turn where the host has no AsyncLocalStorage", () => {
  const program = join(import.meta.dirname, "processes", "without-async-hooks.mjs");
  const { stdout } = spawnSync(process.execPath, [...fromSources, program], { encoding: "utf8" });
  expect(JSON.parse(stdout)).toEqual({ texts: ["ok", "ok", "ok"], queued: 0, inFlight: 0 });
});
