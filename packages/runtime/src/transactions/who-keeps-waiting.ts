// The search for waits that could never end: it runs whenever a transaction begins to wait in line.
//
// 1. A wait never ends where one of those in front of it cannot end before its own transaction has: because that one is
//    around it, or waits in turn, over however many others, for it or for one around it.
// 2. So the search goes back from the transaction, over all that wait for it: a newcomer for which none waits joins a line
//    at once, however long the line is.
// 3. A search looks at each place of a line once, however many transactions it comes from.
// 4. A transaction that has a lock for reading and wants to write stands first in line, and does not wait for itself: if
//    another stood in front, that one would wait for its hold.
import { around, type Lock, type LockOwner, type PlaceInLine, type Wait } from "./lock-state.ts";

/** The transaction in front that cannot end before `owner` has: the first that is found going back over the waits; undefined: the wait ends. */
export function whoKeepsWaiting(owner: LockOwner, place: PlaceInLine): LockOwner | undefined {
  const found = new Set(around(owner));
  const reached = new Map<Lock, number>();
  const add = (waits: readonly Wait[]): void => {
    for (const { listedAt } of waits) for (const one of listedAt) found.add(one);
  };
  const addBehind = (lock: Lock, position: number): void => {
    const { queue } = lock;
    let at = reached.get(lock) ?? queue.length;
    for (let last = queue[at - 1]; last !== undefined && last.position > position; last = queue[--at - 1])
      add(last.waits);
    reached.set(lock, at);
  };
  for (const one of found) {
    if (standsInFront(one, place)) return one;
    for (const { lock } of one.holds) {
      const [first] = lock.queue;
      add(lock.beside);
      addBehind(lock, first?.lacking === one ? first.position : 0);
    }
    for (const { lock, position } of one.places) addBehind(lock, position);
  }
  return undefined;
}

/** Whether it holds the lock, or gets it before: on behalf of one inside, then it keeps it for longer than that one. */
function standsInFront(one: LockOwner, { lock, lacking, position }: PlaceInLine): boolean {
  if (one === lacking) return false;
  return (
    one.holds.some((held) => held.lock === lock) ||
    one.places.some((other) => other.lock === lock && other.position < position)
  );
}
