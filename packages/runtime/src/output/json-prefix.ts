// 1. Reads no further than JSON goes: text that is none costs as much as its first wrong character is away.
// 2. A bracket that was read as part of a value around it is not read again. So each character is read twice at the most,
//    as part of a text and as part of what is around texts, wherever one begins to read.
const spaces = new Set([" ", "\t", "\n", "\r"]);
const word = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** What is still to be read of a number or a word that is not written to its end. */
const beginning = /(?:-|\.|[eE][+-]?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)?$/y;
const closingOf: Readonly<Record<string, string | undefined>> = { "{": "}", "[": "]" };

/** The objects and arrays of a text, asked for from left to right. */
export interface Containers {
  /** Where the one that begins there ends; undefined where it is no JSON, "deep" where it nests beyond `maxDepth`. */
  endOf(start: number): number | "deep" | undefined;
}

export function containersIn(text: string, maxDepth: number): Containers {
  const ends = new Map<number, number>();
  const broken = new Set<number>();
  const reader = readerOf(text);
  return {
    endOf(start) {
      if (broken.has(start)) return undefined;
      const known = ends.get(start);
      if (known !== undefined) return known;
      const read = readContainer(reader, start, maxDepth);
      if (read.end === "wrong" || read.end === "cut") {
        for (const open of read.open) broken.add(open);
        if (read.inner !== undefined) ends.set(read.inner.start, read.inner.end);
        return undefined;
      }
      return read.end;
    },
  };
}

interface Read {
  /** "cut" where the text ends before it, "wrong" where it is no JSON. */
  readonly end: number | "deep" | "cut" | "wrong";
  /** Where what is not closed begins. */
  readonly open: readonly number[];
  /** The first one within that is closed. */
  readonly inner: { readonly start: number; readonly end: number } | undefined;
}

function readContainer(reader: Reader, start: number, maxDepth: number): Read {
  const closings: string[] = [];
  const open: number[] = [];
  let inner: Read["inner"];
  reader.moveTo(start);
  const stopped = (end: Read["end"]): Read => ({ end, open, inner });
  const failed = (): Read => stopped(reader.isAtEnd() ? "cut" : "wrong");
  const close = (): void => {
    closings.pop();
    const from = open.pop() as number;
    if (inner === undefined || from < inner.start) inner = { start: from, end: reader.position() };
  };
  for (;;) {
    const closing = reader.takeOpening();
    if (closing === undefined) {
      if (!reader.takeScalar()) return failed();
    } else {
      open.push(reader.position() - 1);
      if (closings.push(closing) > maxDepth) return stopped("deep");
      if (!reader.take(closing)) {
        if (closing === "}" && !reader.takeKey()) return failed();
        continue;
      }
      close();
    }
    while (closings.length > 0 && reader.take(closings.at(-1) as string)) close();
    if (closings.length === 0) return stopped(reader.position());
    if (!reader.take(",") || (closings.at(-1) === "}" && !reader.takeKey())) return failed();
  }
}

type Reader = ReturnType<typeof readerOf>;

function readerOf(text: string) {
  let at = 0;
  const takeSpaces = (): void => {
    while (spaces.has(text[at] ?? "")) at += 1;
  };
  const take = (char: string): boolean => {
    takeSpaces();
    if (text[at] !== char) return false;
    at += 1;
    return true;
  };
  const takeString = (): boolean => {
    if (!take('"')) return false;
    while (at < text.length && text[at] !== '"' && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1;
    return take('"');
  };
  const takeWord = (): boolean => {
    word.lastIndex = at;
    if (!word.test(text)) return false;
    at = word.lastIndex;
    return true;
  };
  return {
    moveTo(start: number): void {
      at = start;
    },
    position: () => at,
    take,
    /** Whether the text ends here, but for the beginning of a number or a word. */
    isAtEnd(): boolean {
      beginning.lastIndex = at;
      return at >= text.length || beginning.test(text);
    },
    /** The bracket that closes the one taken. */
    takeOpening(): string | undefined {
      takeSpaces();
      const closing = closingOf[text[at] ?? ""];
      if (closing !== undefined) at += 1;
      return closing;
    },
    takeKey: () => takeString() && take(":"),
    takeScalar: () => takeString() || takeWord(),
  };
}
