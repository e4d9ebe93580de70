/** A JSON string never holds a line's end or a bare quote: a fence that is quoted in a value is none. */
const opening = /```json[^\n"]*\n/i;

/** What is in the first ```json block so far, and whether the block has ended; its marks do not count inside strings. */
export function jsonBlock(text: string): { readonly text: string; readonly closed: boolean } | undefined {
  const fence = opening.exec(text);
  if (fence === null) return undefined;
  const from = fence.index + fence[0].length;
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
