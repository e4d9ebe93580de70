// 1. One pass without a regular expression that repeats: a literal or a name may be as long as SQLite takes.

/**
 * The unquoted words in upper case, "'" for what is quoted, "?" for a named parameter, and each other character that is no
 * space and in no comment. Source: https://www.sqlite.org/lang_comment.html, https://www.sqlite.org/lang_keywords.html,
 * https://www.sqlite.org/lang_expr.html#parameters, and `sqlite3GetToken` in SQLite's tokenize.c.
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
    else if (isSigil(char) && isInWord(text.charCodeAt(at + 1))) {
      yield "?";
      at = endOfParameter(text, at + 1);
    } else if (isInWord(text.charCodeAt(at)) && !/\d|\$/.test(char)) {
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

/** What a named parameter begins with. `#` is for SQLite's own statements, and read like one. */
function isSigil(char: string): boolean {
  return char === "$" || char === "@" || char === ":" || char === "#";
}

/**
 * A name may have `::` in it, and a suffix in parentheses: `$name::part(suffix)`. Quotes, semicolons and comments mean
 * nothing in a suffix, which ends with `)`, or with a space, where SQLite refuses the text.
 */
function endOfParameter(text: string, from: number): number {
  let at = from;
  for (;;) {
    while (at < text.length && isInWord(text.charCodeAt(at))) at += 1;
    if (!text.startsWith("::", at)) break;
    at += 2;
  }
  if (text[at] !== "(") return at;
  while (at < text.length && text[at] !== ")" && !isAsciiSpace(text.charCodeAt(at))) at += 1;
  return text[at] === ")" ? at + 1 : at;
}

/** Millions of them may follow each other: ASCII is decided without a regular expression. */
function isSpace(code: number): boolean {
  return isAsciiSpace(code) || (code >= 0x80 && /\s/.test(String.fromCharCode(code)));
}

function isAsciiSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

/** Letters, digits, `_`, `$` and all that is not ASCII. */
function isInWord(code: number): boolean {
  const isLetter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
  return isLetter || (code >= 48 && code <= 57) || code === 95 || code === 36 || code >= 0x80;
}
