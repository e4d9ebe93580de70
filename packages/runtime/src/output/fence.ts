/** What is in the first ```json block so far, and whether the block has ended; its marks do not count inside strings. */
export function jsonBlock(text: string): { readonly text: string; readonly closed: boolean } | undefined {
  const from = startOfBlock(text);
  if (from === undefined) return undefined;
  let inString = false;
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (char === "\n") inString = false;
    else if (char === '"') inString = !inString;
    else if (inString && char === "\\") i++;
    else if (!inString && char === "`" && text.startsWith("```", i)) return { text: text.slice(from, i), closed: true };
  }
  return { text: text.slice(from), closed: false };
}

/** A JSON string never holds a line's end or a bare quote: a fence that is quoted in a value is none. */
function startOfBlock(text: string): number | undefined {
  const marks = /```json/gi;
  const ends = /[\n"]/g;
  while (marks.test(text)) {
    ends.lastIndex = marks.lastIndex;
    const end = ends.exec(text);
    if (end === null) return undefined;
    if (end[0] === "\n") return ends.lastIndex;
    // Nothing before this quote begins a block either.
    marks.lastIndex = ends.lastIndex;
  }
  return undefined;
}
