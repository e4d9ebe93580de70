// The data of an answer's files, where the answer says it again: a name stands in its place.
import { labelOf } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";

/** A file of an answer, and the base64 that it was made of. */
export interface FileData {
  readonly file: File;
  readonly base64: string;
}

/** Puts the names of files in the place of their data. */
export interface DataNames {
  inText(text: string): string;
  /** Returns the value itself where nothing in it is data of a file. */
  inValue(value: unknown): unknown;
}

/** Characters of the shortest data that is recognised, 48 bytes: anything shorter may be something else by chance. */
const shortest = 64;
const runs = /[A-Za-z0-9+/_-]{64,}={0,2}/g;

/** Base64 and base64url, with and without padding and line breaks, are recognised, also behind "data:…;base64,". */
export function dataNames(files: readonly FileData[]): DataNames {
  const names = new Map<string, string>();
  for (const { file, base64 } of files) {
    const letters = lettersOf(base64);
    if (letters.length >= shortest) names.set(letters, labelOf(file));
  }
  const inText = (text: string): string => {
    if (names.size === 0 || text.length < shortest) return text;
    const name = names.get(lettersOf(text));
    return name ?? text.replace(runs, (run) => names.get(lettersOf(run)) ?? run);
  };
  const inValue = (value: unknown): unknown => {
    if (names.size === 0) return value;
    if (typeof value === "string") return inText(value);
    if (Array.isArray(value)) {
      const items = value.map(inValue);
      return items.every((item, index) => item === value[index]) ? value : items;
    }
    if (!isRecord(value)) return value;
    const entries = Object.entries(value).map(([key, item]) => [key, inValue(item)] as const);
    return entries.every(([key, item]) => item === value[key]) ? value : Object.fromEntries(entries);
  };
  return { inText, inValue };
}

/** The letters that say which bytes it is: of base64url they are those of base64. */
function lettersOf(base64: string): string {
  return base64
    .replaceAll(/[\s=]+/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
}
