// 1. Reads no further than JSON goes: text that is none costs as much as its first wrong character is away.
const space = /[ \t\n\r]*/y;
const word = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const closingOf: Readonly<Record<string, string | undefined>> = { "{": "}", "[": "]" };

/** Where the object or array at `start` ends; undefined where it is no JSON, "deep" where it nests beyond `maxDepth`. */
export function endOfContainer(text: string, start: number, maxDepth: number): number | "deep" | undefined {
  const open: string[] = [];
  const reader = readAt(text, start);
  for (;;) {
    const closing = reader.takeOpening();
    if (closing === undefined) {
      if (!reader.takeScalar()) return undefined;
    } else if (open.push(closing) > maxDepth) return "deep";
    else if (!reader.take(closing)) {
      if (closing === "}" && !reader.takeKey()) return undefined;
      continue;
    } else open.pop();
    while (open.length > 0 && reader.take(open.at(-1) as string)) open.pop();
    if (open.length === 0) return reader.position();
    if (!reader.take(",") || (open.at(-1) === "}" && !reader.takeKey())) return undefined;
  }
}

function readAt(text: string, start: number) {
  let at = start;
  const takeAll = (token: RegExp): boolean => {
    token.lastIndex = at;
    if (!token.test(text)) return false;
    at = token.lastIndex;
    return true;
  };
  const take = (char: string): boolean => {
    takeAll(space);
    if (text[at] !== char) return false;
    at += 1;
    return true;
  };
  const takeString = (): boolean => {
    if (!take('"')) return false;
    while (at < text.length && text[at] !== '"' && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1;
    return take('"');
  };
  return {
    position: () => at,
    take,
    /** The bracket that closes the one taken. */
    takeOpening(): string | undefined {
      takeAll(space);
      const closing = closingOf[text[at] ?? ""];
      if (closing !== undefined) at += 1;
      return closing;
    },
    takeKey: () => takeString() && take(":"),
    takeScalar: () => takeString() || takeAll(word),
  };
}
