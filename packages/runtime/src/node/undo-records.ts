import { parseJson } from "@proviso/core";
import { crc32 } from "node:zlib";
import { pathNames } from "../resources/paths.ts";
import type { Change } from "./exchange.ts";

/**
 * One line of the log, `<crc-32 in hexadecimal> <JSON>`: a change that is about to happen, or how many of the changes
 * still count and how many of these stay whatever happens.
 */
export type UndoRecord = Change | { readonly length: number; readonly kept: number };

const version = 1;
const encoder = new TextEncoder();

export const header: Uint8Array = line({ proviso: version });

export function encodeRecord(record: UndoRecord): Uint8Array {
  return line(record);
}

/** What has to be undone, in the order in which it happened; undefined for a log of another version. */
export function changesToUndo(log: string): readonly Change[] | undefined {
  const [first, ...records] = readable(log);
  if (first === undefined) return [];
  if (first["proviso"] !== version) return undefined;
  let changes: Change[] = [];
  let kept = 0;
  for (const record of records) {
    if (isChange(record)) changes.push(record);
    else {
      changes = changes.slice(0, Number(record["length"]));
      kept = Number(record["kept"]);
    }
  }
  return changes.slice(kept);
}

function line(value: object): Uint8Array {
  const json = JSON.stringify(value);
  return encoder.encode(`${crc32(json).toString(16)} ${json}\n`);
}

/** Up to the first line that was not wholly written: what it tells had not begun. */
function readable(log: string): readonly Readonly<Record<string, unknown>>[] {
  const records: Readonly<Record<string, unknown>>[] = [];
  for (const text of log.split("\n").slice(0, -1)) {
    const space = text.indexOf(" ");
    const json = text.slice(space + 1);
    const parsed = crc32(json).toString(16) === text.slice(0, space) ? parseJson(json) : undefined;
    if (parsed?.ok !== true) break;
    records.push(parsed.value as Readonly<Record<string, unknown>>);
  }
  return records;
}

/** @throws {FilesystemError} for a path that leads out of the root. */
function isChange(record: object): record is Change {
  const { path, had, was, now = was } = record as Partial<Change>;
  if (typeof path !== "string") return false;
  return pathNames(path).length > 0 && typeof had === "boolean" && isNumber(was) && isNumber(now);
}

function isNumber(name: unknown): boolean {
  return typeof name === "string" && /^\d+$/.test(name);
}
