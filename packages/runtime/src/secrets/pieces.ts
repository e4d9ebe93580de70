// 1. What `add` returned so far, and `end` at last, is the whole text with its secrets replaced, however it was cut.
// 2. Nothing is returned that may turn out to be part of a secret.
// 3. Each character is taken once and returned once.
import type { Finder } from "./finder.ts";
import { replacement } from "./forms.ts";

/** A text that comes in pieces, to be shown without its secrets. */
export interface Pieces {
  /** What can be shown now; the rest is held back. */
  add(piece: string): string;
  /** The rest. */
  end(): string;
}

export function openPieces(finder: Finder): Pieces {
  const unshown = openQueue();
  const { found } = finder;

  const show = (until: number): string => {
    let shown = "";
    let done = 0;
    for (const { start, end } of found) {
      // A later one may still reach into it.
      if (end > until) break;
      shown += unshown.take(start) + replacement;
      unshown.take(end);
      done += 1;
    }
    if (done > 0) found.splice(0, done);
    return shown + unshown.take(Math.min(until, found[0]?.start ?? until));
  };
  return {
    add(piece) {
      unshown.add(piece);
      return show(finder.add(piece));
    },
    end: () => show(finder.end()),
  };
}

/** Text that is added at its end and taken from its beginning, up to a position in the whole of it. */
function openQueue(): { add(piece: string): void; take(until: number): string } {
  let pieces: string[] = [];
  let first = 0;
  let offset = 0;
  let taken = 0;
  return {
    add: (piece) => void pieces.push(piece),
    take(until) {
      let text = "";
      while (taken < until) {
        const piece = pieces[first] as string;
        const part = piece.slice(offset, offset + until - taken);
        text += part;
        taken += part.length;
        offset += part.length;
        if (offset < piece.length) continue;
        offset = 0;
        first += 1;
      }
      if (first * 2 > pieces.length) {
        pieces = pieces.slice(first);
        first = 0;
      }
      return text;
    },
  };
}
