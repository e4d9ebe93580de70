// 1. A text without any of the forms costs about one look at every so many characters as the shortest form has.

/** Values of `hash`. */
const buckets = 1 << 12;

/** Does a text hold one of these? Looks at pairs of characters and skips what cannot be part of any (Wu and Manber). */
export function searchFor(forms: readonly string[]): (text: string) => boolean {
  const window = Math.min(...forms.map(({ length }) => length));
  // A pair has two characters.
  if (window < 2) return (text) => forms.some((form) => text.includes(form));
  const skips = new Uint16Array(buckets).fill(Math.min(window - 1, 0xffff));
  const endingIn = new Map<number, string[]>();
  for (const form of forms) {
    for (let at = 1; at < window; at++) {
      const pair = hash(form, at);
      skips[pair] = Math.min(skips[pair] as number, window - 1 - at);
    }
    const last = hash(form, window - 1);
    endingIn.set(last, [...(endingIn.get(last) ?? []), form]);
  }
  return (text) => {
    for (let at = window - 1; at < text.length;) {
      const pair = hash(text, at);
      const skip = skips[pair] as number;
      if (skip === 0 && endingIn.get(pair)?.some((form) => text.startsWith(form, at - window + 1))) return true;
      at += skip || 1;
    }
    return false;
  };
}

/** Hashes the character at `at` and the one before it. */
function hash(text: string, at: number): number {
  return (text.charCodeAt(at - 1) * 131 + text.charCodeAt(at)) & (buckets - 1);
}
