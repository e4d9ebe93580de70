/**
 * Returns the known name that is spelled like a given one, capitals, hyphens and underscores aside; undefined: none is near
 * enough. Of several the nearest, then the first.
 */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  // Only short names are near to another one.
  if (name.length > 60) return undefined;
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[_-]/g, "");
  const near = names
    .map((other) => ({ other, distance: distanceOf(plain(name), plain(other)) }))
    .toSorted((a, b) => a.distance - b.distance)[0];
  if (near === undefined) return undefined;
  const longer = Math.max(name.length, near.other.length);
  return near.distance <= Math.min(2, Math.floor(longer / 3)) ? near.other : undefined;
}

/**
 * Letters to change, add, take away, or exchange with their neighbour. Source: Damerau, "A technique for computer
 * detection and correction of spelling errors", in its restricted form.
 */
function distanceOf(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const changed = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchanged = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? at(i - 2, j - 2) + 1 : Infinity;
      rows[i]?.push(Math.min(changed, exchanged, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(a.length, b.length);
}
