import { fakeClock, fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

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
