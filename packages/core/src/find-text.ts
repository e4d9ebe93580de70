/** So many steps for each character of a text are taken at the most where it is not prepared for. */
const longestUnprepared = 32;

/**
 * Where a text next stands in others, from a place on (default 0); -1 where it does not. Unlike `indexOf`, whose time can
 * be the product of both lengths, it takes time that grows with their sum: for texts that a model chose.
 */
export function textFinder(find: string): (text: string, from?: number) => number {
  if (find.length <= longestUnprepared) return (text, from = 0) => text.indexOf(find, from);
  const fallback = fallbackOf(find);
  return (text, from = 0) => {
    let matched = 0;
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      while (matched > 0 && find.charCodeAt(matched) !== code) matched = fallback[matched - 1] as number;
      if (find.charCodeAt(matched) === code) matched += 1;
      if (matched === find.length) return at + 1 - matched;
    }
    return -1;
  };
}

/** Computes, for each beginning of the text, how much of its end begins the text again (Knuth, Morris and Pratt). */
function fallbackOf(find: string): Int32Array {
  const fallback = new Int32Array(find.length);
  let matched = 0;
  for (let at = 1; at < find.length; at++) {
    const code = find.charCodeAt(at);
    while (matched > 0 && find.charCodeAt(matched) !== code) matched = fallback[matched - 1] as number;
    if (find.charCodeAt(matched) === code) matched += 1;
    fallback[at] = matched;
  }
  return fallback;
}
