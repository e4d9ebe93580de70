// JSON that is the same text for equal values, and the hashes of it.
import { deepestCopy, notPlain } from "./json.ts";
import { sha256 } from "./sha256.ts";
import { isRecord } from "./values.ts";

/** A JSON value with its keys sorted: equal values give equal texts. bigint is written as a string. */
export function canonicalJson(value: unknown): string {
  // What stands in order already is written without a copy.
  if (isInOrder(value, 0)) return JSON.stringify(value) ?? "null";
  const plain = sortedPlain(value, 0);
  if (plain !== notPlain) return JSON.stringify(plain) ?? "null";
  return (
    JSON.stringify(value, (_key, item: unknown) => {
      if (typeof item === "bigint") return item.toString();
      if (!isRecord(item)) return item;
      return Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    }) ?? "null"
  );
}

/** Whether a value is plain data whose keys are sorted at every depth. false: perhaps not. */
function isInOrder(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "bigint";
  if (depth > deepestCopy || "toJSON" in value) return false;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (!isInOrder(value[at], depth + 1)) return false;
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  let before = "";
  for (const key of Object.keys(value)) {
    if (key < before || key === "__proto__" || !isInOrder((value as Record<string, unknown>)[key], depth + 1)) {
      return false;
    }
    before = key;
  }
  return true;
}

/** A copy of plain data with its keys sorted, which JSON.stringify writes several times as fast as with a replacer. */
function sortedPlain(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? value.toString() : value;
  if (depth > deepestCopy) return notPlain;
  if (Array.isArray(value)) {
    if ("toJSON" in value) return notPlain;
    const items: unknown[] = [];
    for (const item of value) {
      const sorted = sortedPlain(item, depth + 1);
      if (sorted === notPlain) return notPlain;
      items.push(sorted);
    }
    return items;
  }
  // An object of a class, or with a method toJSON, says itself how it is written.
  if (Object.getPrototypeOf(value) !== Object.prototype || "toJSON" in value) return notPlain;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) {
    if (key === "__proto__") return notPlain;
    const sorted = sortedPlain((value as Record<string, unknown>)[key], depth + 1);
    if (sorted === notPlain) return notPlain;
    copy[key] = sorted;
  }
  return copy;
}

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The first 128 bits of the SHA-256 over canonical JSON, in base64url: 22 characters. */
export function shortHash(value: unknown): string {
  const text = sha256(canonicalJson(value), "base64url");
  // 22 characters hold 132 bits: the last four are cleared.
  return text.slice(0, 21) + base64url.charAt(base64url.indexOf(text.charAt(21)) & 0b110000);
}

/** SHA-256 over canonical JSON, in hexadecimal. */
export function contentHash(value: unknown): string {
  return sha256(canonicalJson(value), "hex");
}
