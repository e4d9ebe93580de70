// 1. One holder at a time: what it undoes is nobody else's.
// 2. Who waits is let in, in order; a holder that is gone for good lets the next one in.

/** Lets one transaction at a time at a session, or at resources that several evaluations share. */
export interface Gate {
  /** What leaves it again; a promise while somebody else is inside. */
  enter(): Leave | Promise<Leave>;
}
export type Leave = () => void;

export function createGate(): Gate {
  const waiting: ((leave: Leave) => void)[] = [];
  let held = false;
  const pass = (): Leave => {
    held = true;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      held = false;
      waiting.shift()?.(pass());
    };
  };
  return { enter: () => (held ? new Promise((resolve) => waiting.push(resolve)) : pass()) };
}

/** Through all of them, always in the same order, so that no two wait for each other. */
export function enterAll(all: readonly Gate[]): Leave | Promise<Leave> {
  const left: Leave[] = [];
  const leave = (): void => left.forEach((each) => each());
  for (const [index, gate] of all.entries()) {
    const entered = gate.enter();
    if (entered instanceof Promise) return enterRest(entered, all.slice(index + 1), left, leave);
    left.push(entered);
  }
  return leave;
}

async function enterRest(first: Promise<Leave>, rest: readonly Gate[], left: Leave[], leave: Leave): Promise<Leave> {
  left.push(await first);
  for (const gate of rest) left.push(await gate.enter());
  return leave;
}
