import { modelAdapter } from "@proviso/runtime";
import { fakeClock, fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test, vi } from "vitest";

async function turnsOf(clock: ReturnType<typeof fakeClock>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = async (): Promise<void> => {
    while (!isOver) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      turns += 1;
    }
  };
  const counting = count();
  await clock.advance(10);
  const given = turns;
  isOver = true;
  await counting;
  return given;
}

test("THR-2 a fake clock gives a program five turns of the event loop before time moves on, or as many as it is set to", async () => {
  expect(await turnsOf(fakeClock())).toBe(5);
  expect(await turnsOf(fakeClock(0, { turns: 1 }))).toBe(1);
  expect(await turnsOf(fakeEnvironment(1, { turns: 2 }).clock)).toBe(2);
});

test("THR-2 one turn is enough for a long chain of promises, and those that sleep wake in order", async () => {
  const clock = fakeClock(0, { turns: 1 });
  const woken: string[] = [];
  const sleep = async (name: string, ms: number): Promise<void> => {
    for (let i = 0; i < 1_000; i++) await Promise.resolve();
    await clock.sleep(ms);
    for (let i = 0; i < 1_000; i++) await Promise.resolve();
    woken.push(`${name} at ${clock.now()}`);
  };
  const all = [sleep("second", 10), sleep("third", 10), sleep("first", 5), sleep("last", 20)];
  await clock.advance(20);
  expect(woken).toEqual(["first at 5", "second at 10", "third at 10", "last at 20"]);
  await Promise.all(all);
});

test("THR-2 a fake clock moves on where a test runner's fake timers replace the globals", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "setImmediate", "queueMicrotask", "Date"] });
  try {
    const environment = fakeEnvironment(1);
    const busy = { failure: "throttle", kind: "rate_limit", retryAfterMs: 2_000, message: "Busy." } as const;
    const evaluation = modelAdapter(scriptedModel([busy, { text: "Hello." }]), environment).evaluate("Say hello.");
    await environment.clock.advance(5_000);
    expect((await evaluation).output).toBe("Hello.");
  } finally {
    vi.useRealTimers();
  }
});

test("THR-2 environments of one seed give the same ids and numbers, of two seeds none in common", () => {
  const drawn = (seed?: number): readonly (string | number)[] => {
    const { newId = () => "", random = () => 0 } = fakeEnvironment(seed);
    return Array.from({ length: 20 }, () => [newId(), random()]).flat();
  };
  expect(drawn()).toEqual(drawn(1));
  const first = new Set(drawn(1));
  for (const seed of [2, 3, 11]) expect(drawn(seed).filter((one) => first.has(one))).toEqual([]);
});

test("THR-2 without setImmediate, as in browsers, time moves too", async () => {
  vi.stubGlobal("setImmediate", undefined);
  // The query makes it another module, which is loaded now.
  const another: string = "../src/testing/fake-clock.ts?in-browsers";
  const { fakeClock: inBrowser } = (await import(another)) as { readonly fakeClock: typeof fakeClock };
  const clock = inBrowser();
  const woken: number[] = [];
  for (const ms of [1_000, 2_000]) void clock.sleep(ms).then(() => woken.push(clock.now()));
  const startedAt = clock.now();
  await clock.advance(1_500);
  expect(woken.map((at) => at - startedAt)).toEqual([1_000]);
  await clock.advance(1_500);
  expect(woken.map((at) => at - startedAt)).toEqual([1_000, 2_000]);
});
