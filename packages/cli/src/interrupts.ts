// 1. SIGINT is taken only while a command waits for something: else it ends the process.
// 2. What a command waits for then keeps the process: a listener for SIGINT and the runtime's own timers do not.
// 3. A SIGINT that no command waits for any more ends the process at once.

import { MessageChannel } from "node:worker_threads";

/** The interruptions of one command line. */
export interface Interrupts {
  /** Returns a signal that fires at the next SIGINT. */
  next(): AbortSignal;
  /** Listens no more. */
  close(): void;
}

let isTaken = false;

/** Whether a command takes the SIGINTs of this process. */
export function takesInterrupts(): boolean {
  return isTaken;
}

/** The SIGINTs of this process. `atSecond` is called for one that comes while none is waited for. */
export function processInterrupts(atSecond: () => void): Interrupts {
  let waiting: AbortController | undefined;
  let kept: MessageChannel | undefined;
  const onInterrupt = (): void => {
    if (waiting === undefined || waiting.signal.aborted) atSecond();
    else waiting.abort(interrupted());
  };
  return {
    next() {
      if (waiting === undefined) process.on("SIGINT", onInterrupt);
      isTaken = true;
      kept ??= new MessageChannel();
      kept.port1.ref();
      waiting = new AbortController();
      return waiting.signal;
    },
    close() {
      kept?.port1.close();
      process.removeListener("SIGINT", onInterrupt);
      isTaken = false;
    },
  };
}

/** Makes one interruption of a signal. */
export function interruptsOf(signal: AbortSignal): Interrupts {
  return { next: () => signal, close: () => {} };
}

function interrupted(): Error {
  return new Error("It was interrupted.");
}

/** Waits until a signal fires. */
export async function fired(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((done) => {
    signal.addEventListener("abort", () => done(), { once: true });
  });
}
