/** What stands in a secret's place. */
export const replacement = "[secret]";

/** A piece of base64 that is shorter could stand in any text. */
const shortestPiece = 8;

/** Every text in which a secret may show: as it is, trimmed, and as the wire, addresses and headers write it. */
export function formsOf(secrets: readonly string[]): readonly string[] {
  const forms = new Set(secrets.flatMap((secret) => [secret, secret.trim()]).flatMap(encodings));
  forms.delete("");
  // What is redacted twice stays as it is after the first time.
  if ([...forms].some((form) => replacement.includes(form))) forms.add(replacement);
  return [...forms];
}

function encodings(secret: string): readonly string[] {
  return [secret, ...jsonTexts(secret), ...urlTexts(secret), ...base64Texts(secret)];
}

/** JSON text inside JSON text, so many times: a tool's arguments in the body of an answer in the payload of an error. */
const jsonInJson = 4;

/**
 * Returns a secret as JSON writes it, and JSON inside JSON: payloads are shown as they came. Some programs write ASCII
 * only, or `\/`, or escape what a page would take for markup (Go's and PHP's do).
 */
function jsonTexts(secret: string): readonly string[] {
  const once = jsonText(secret);
  const ascii = once.replaceAll(/[\u007f-\uffff]/g, escaped);
  const forPages = once.replaceAll(/[&<>']/g, escaped);
  let texts = [...new Set([once, ascii, once.replaceAll("/", "\\/"), forPages, upperCase(forPages)])];
  const all = [...texts];
  for (let depth = 1; depth < jsonInJson; depth++) all.push(...(texts = texts.map(jsonText)));
  return all;
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function upperCase(text: string): string {
  return text.replaceAll(/\\u[\da-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`);
}

function jsonText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Returns a secret as a path, a query and a form have it; with small letters in the escapes, too. */
function urlTexts(secret: string): readonly string[] {
  const text = secret.toWellFormed();
  const form = new URLSearchParams([["", text]]).toString().slice(1);
  const texts = [encodeURI(text), encodeURIComponent(text), form, form.replaceAll("+", "%20")];
  return texts.flatMap((written) => [written, written.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
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
  return texts.flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")]);
}
