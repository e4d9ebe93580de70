import { parseJson } from "@proviso/core";
import { crc32 } from "node:zlib";
import { pathNames } from "../resources/paths.ts";
import { decodeText } from "../resources/reading.ts";
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

export interface UndoHistory {
  /** In the order in which they happened. */
  readonly changes: readonly Change[];
  /** How many of them stay whatever happens. */
  readonly kept: number;
  /** Bytes of the log that were wholly written. */
  readonly size: number;
}

/** What a log tells; undefined for one of another version. */
export function readHistory(log: Uint8Array): UndoHistory | undefined {
  const { records, size } = readable(log);
  const [first, ...rest] = records;
  if (first !== undefined && first["proviso"] !== version) return undefined;
  let changes: Change[] = [];
  let kept = 0;
  for (const record of rest) {
    if (isChange(record)) changes.push(record);
    else {
      changes = changes.slice(0, Number(record["length"]));
      kept = Number(record["kept"]);
    }
  }
  return { changes, kept, size };
}

function line(value: object): Uint8Array {
  const json = JSON.stringify(value);
  return encoder.encode(`${crc32(json).toString(16)} ${json}\n`);
}

type Parsed = Readonly<Record<string, unknown>>;
const newline = 10;

/** Up to the first line that was not wholly written: what it tells had not begun. */
function readable(log: Uint8Array): { readonly records: readonly Parsed[]; readonly size: number } {
  const records: Parsed[] = [];
  let size = 0;
  for (let end = log.indexOf(newline); end !== -1; end = log.indexOf(newline, size)) {
    const text = decodeText(log.subarray(size, end));
    const space = text.indexOf(" ");
    const json = text.slice(space + 1);
    const parsed = crc32(json).toString(16) === text.slice(0, space) ? parseJson(json) : undefined;
    if (parsed?.ok !== true) break;
    records.push(parsed.value as Parsed);
    size = end + 1;
  }
  return { records, size };
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
