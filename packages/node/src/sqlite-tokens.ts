// 1. One pass without a regular expression that repeats: a literal or a name may be as long as SQLite takes.

/**
 * The unquoted words in upper case, "'" for what is quoted, and each other character that is no space and in no comment.
 * Source: https://www.sqlite.org/lang_comment.html, https://www.sqlite.org/lang_keywords.html
 */
export function* tokensOf(sql: string): Generator<string> {
  // SQLite reads up to the first NUL.
  const nul = sql.indexOf("\0");
  const text = nul === -1 ? sql : sql.slice(0, nul);
  for (let at = 0; at < text.length;) {
    const char = text[at] as string;
    const closing = closingQuote[char];
    if (closing !== undefined) {
      // The content of the quotes does not matter.
      yield "'";
      at = char === "[" ? after(text, "]", at + 1) : endOfQuoted(text, closing, at + 1);
    } else if (isSpace(text.charCodeAt(at))) {
      while (isSpace(text.charCodeAt(at))) at += 1;
    } else if (text.startsWith("--", at)) at = after(text, "\n", at + 2);
    else if (text.startsWith("/*", at)) at = after(text, "*/", at + 2);
    else if (isInWord(text.charCodeAt(at)) && !/\d|\$/.test(char)) {
      const start = at;
      while (at < text.length && isInWord(text.charCodeAt(at))) at += 1;
      yield text.slice(start, at).toUpperCase();
    } else {
      yield char;
      at += 1;
    }
  }
}

const closingQuote: Readonly<Record<string, string | undefined>> = { "'": "'", '"': '"', "`": "`", "[": "]" };

/** The place after the next one; the end of the text where there is none. */
function after(text: string, what: string, from: number): number {
  const found = text.indexOf(what, from);
  return found === -1 ? text.length : found + what.length;
}

/** A quote within is written twice. */
function endOfQuoted(text: string, quote: string, from: number): number {
  let at = after(text, quote, from);
  while (text[at] === quote) at = after(text, quote, at + 1);
  return at;
}

/** Millions of them may follow each other: ASCII is decided without a regular expression. */
function isSpace(code: number): boolean {
  return code <= 32 ? code === 32 || (code >= 9 && code <= 13) : code >= 0x80 && /\s/.test(String.fromCharCode(code));
}

/** Letters, digits, `_`, `$` and all that is not ASCII. */
function isInWord(code: number): boolean {
  const isLetter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
  return isLetter || (code >= 48 && code <= 57) || code === 95 || code === 36 || code >= 0x80;
}
