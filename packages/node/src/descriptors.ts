// 1. Of all readers of this process only so many have something open at once; the others wait, first come first served.
// 2. A reader that has a place never asks for a second one.
// 3. A reader that finds no descriptor left tries again when another one has ended. One that finds none while no
//    other reads is refused.
import { lacksDescriptors } from "./faults.ts";

/** Enough for the four threads that read; each place may need two descriptors. */
const most = 16;
let open = 0;
const waiting: (() => void)[] = [];
let stalled: (() => void)[] = [];

/** Runs work that opens something and closes it again; it may be begun more than once, until there are descriptors. */
export async function withDescriptor<T>(work: () => T | Promise<T>): Promise<T> {
  await enter();
  try {
    return await untilOpened(work);
  } finally {
    leave();
  }
}

/** What `open` opens; closing it lets the next reader in. */
export async function opened<T extends Disposable>(open: () => T): Promise<{ readonly it: T } & Disposable> {
  await enter();
  try {
    const it = await untilOpened(open);
    return {
      it,
      [Symbol.dispose]() {
        it[Symbol.dispose]();
        leave();
      },
    };
  } catch (error) {
    leave();
    throw error;
  }
}

async function untilOpened<T>(work: () => T | Promise<T>): Promise<T> {
  for (;;) {
    const wasAlone = isAlone();
    try {
      return await work();
    } catch (error) {
      if (!lacksDescriptors(error) || (wasAlone && isAlone())) throw error;
      // The last one of those who tried at once tries again without them.
      if (!isAlone()) await new Promise<void>((resolve) => stalled.push(resolve));
    }
  }
}

/** No other reader has, or is about to have, something open. */
function isAlone(): boolean {
  return open - stalled.length <= 1;
}

async function enter(): Promise<void> {
  if (open < most) open++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
}

function leave(): void {
  const next = waiting.shift();
  if (next === undefined) open--;
  else next();
  const again = stalled;
  stalled = [];
  for (const resume of again) resume();
}
