/** A usage error: one line for the person at the terminal. */
export class UsageError extends Error {}

/** Returns what to add to a message about an unknown name: the nearest known one, where one is near. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = known
    .map((one) => ({ one, distance: distanceOf(name, one) }))
    .filter(({ one, distance }) => distance <= Math.max(2, Math.floor(one.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)[0];
  return near === undefined ? "" : `; did you mean ${near.one}?`;
}

/** How many letters have to be added, removed, replaced or swapped with the next one. */
function distanceOf(a: string, b: string): number {
  // Only short names are near to another one.
  if (a.length > 50) return a.length;
  let before = Array.from({ length: b.length + 1 }, (_, at) => at);
  let beforeThat = before;
  for (let i = 1; i <= a.length; i++) {
    const now = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (before[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (beforeThat[j - 2] ?? 0) + 1 : replaced;
      now.push(Math.min(replaced, swapped, (before[j] ?? 0) + 1, (now[j - 1] ?? 0) + 1));
    }
    beforeThat = before;
    before = now;
  }
  return before[b.length] ?? 0;
}
