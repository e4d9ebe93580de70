// Work on many runs is done between other work of the process, not before it.
import { systemClock } from "@proviso/core";
import { pausesOf } from "@proviso/core/internal";

/** How long work goes on before timers and sockets have their turn, in milliseconds. */
const longestMs = 5;

/** Returns a function to call between two steps of long work: it waits for the next turn of the event loop now and then. */
export const turnsBetween = (): (() => Promise<void> | undefined) => pausesOf(systemClock, longestMs);

/** Yields what is listed, and lets other work have its turns. */
export async function* inTurns<T>(listed: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  const turn = turnsBetween();
  for await (const one of listed) {
    await turn();
    yield one;
  }
}
