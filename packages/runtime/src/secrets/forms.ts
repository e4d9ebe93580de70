import { EscapeReader, jsonInJson } from "./escapes.ts";

/** What stands in a secret's place. */
export const replacement = "[secret]";

/** A piece of base64 that is shorter could stand in any text. */
const shortestPiece = 8;

/**
 * Every text in which a secret may show: as it is, trimmed, as JSON, addresses and headers write it. Other escapes are read
 * before: as JSON writes it, it may stand directly behind a backslash, which is read as the beginning of an escape then.
 */
export function formsOf(secrets: readonly string[]): readonly string[] {
  const forms = new Set(secrets.flatMap((secret) => [secret, secret.trim()]).flatMap(encodings));
  forms.delete("");
  // What is redacted twice stays as it is after the first time.
  if ([...forms].some((form) => replacement.includes(form))) forms.add(replacement);
  return [...forms];
}

function encodings(secret: string): readonly string[] {
  return [secret, ...behindBackslash(secret), ...jsonTexts(secret), ...urlTexts(secret), ...base64Texts(secret)];
}

/** What is an escape together with a backslash before it; what stands for itself then is found as it is. */
const escapeLetters = /^(?:[bfnrt]|u[\da-fA-F]{4})/;

/**
 * Returns what a secret with escaped letters reads as directly behind a backslash, which is read as an escape together with
 * its first letter: none where that is no escape. A short one would be found in many texts.
 */
function behindBackslash(secret: string): readonly string[] {
  const [first] = escapeLetters.exec(secret) ?? [];
  if (first === undefined) return [];
  const read = new EscapeReader().read(`\\${first}`) + secret.slice(first.length);
  return read.length < shortestPiece ? [] : [read];
}

/** What JSON may add to a secret, in characters. One of many backslashes would become twice as long each time. */
const mostEscapes = 256;

/** Returns a secret as JSON has it, and as JSON inside JSON has it, where few of its characters are escaped. */
function jsonTexts(secret: string): readonly string[] {
  const texts: string[] = [];
  let text = secret;
  for (let left = jsonInJson; left > 0; left--) {
    text = JSON.stringify(text).slice(1, -1);
    if (text.length > secret.length + mostEscapes) break;
    texts.push(text);
  }
  return texts;
}

/**
 * What is not escaped in an address, by programs and by parts of an address. Sources: URL Standard, "percent-encode
 * sets"; RFC 3986, section 2.3; the documentation of Python's `quote`, Go's `PathEscape` and ECMAScript's `encodeURI`.
 */
const unescaped: readonly RegExp[] = [
  // PHP's rawurlencode and Go's QueryEscape, Python's quote, Go's PathEscape.
  /[\w.~-]/,
  /[\w.~/-]/,
  /[\w.~$&+=:@-]/,
  // encodeURIComponent, encodeURI.
  /[\w.~!*'()-]/,
  /[\w.~!*'();/?:@&=+$,#-]/,
  // The fragment, the query of an ordinary and of a special address, the path, the user of the URL Standard.
  /[^\0-\x20"<>`\x7f-\u{10ffff}]/u,
  /[^\0-\x20"#<>\x7f-\u{10ffff}]/u,
  /[^\0-\x20"#<>'\x7f-\u{10ffff}]/u,
  /[^\0-\x20"#<>?^`{}\x7f-\u{10ffff}]/u,
  /[^\0-\x20"#<>?^`{}/:;=@[\\\]|\x7f-\u{10ffff}]/u,
];

/** Returns a secret as a path, a query and a form have it; with small letters in the escapes, too. */
function urlTexts(secret: string): readonly string[] {
  const text = secret.toWellFormed();
  const form = new URLSearchParams([["", text]]).toString().slice(1);
  const texts = [...unescaped.map((pattern) => escapedBut(text, pattern)), form, form.replaceAll("+", "%20")];
  return texts.flatMap((written) => [written, written.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

function escapedBut(text: string, pattern: RegExp): string {
  return Array.from(text, (char) => (pattern.test(char) ? char : percents(char))).join("");
}

function percents(char: string): string {
  const codes = Array.from(new TextEncoder().encode(char), (byte) => byte.toString(16).toUpperCase().padStart(2, "0"));
  return `%${codes.join("%")}`;
}

/** Alone, and inside a longer text (`user:password`): what is before it shifts the letters in one of three ways. */
function base64Texts(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const pieces = [0, 1, 2].map((before) =>
    // Letters that hold bits of a neighbour are not the secret's own.
    btoa("\0".repeat(before) + binary).slice(
      Math.ceil((before * 8) / 6),
      Math.floor(((before + bytes.length) * 8) / 6),
    ),
  );
  const texts = [btoa(binary), ...pieces].filter((text) => text.length >= shortestPiece);
  // Some programs write it for addresses, and addresses may escape it.
  return texts.flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_"), ...urlTexts(text)]);
}
