// The log: a line with the folder that it belongs to, two places for how many changes stay, then a line for each change.
// Every line is `<crc-32 in hexadecimal> <JSON>`. To undo needs no room on the disk: a change that is undone is cut off,
// and how many stay is written over the older one of the two places, which have always the same length.
import { parseJson } from "@proviso/core/provider";
import { crc32 } from "node:zlib";
import { decodeText } from "@proviso/runtime/internal";
import { namesOf, type Change } from "./exchange.ts";
import type { Identity } from "./folders.ts";

/** A change that is written down, and where its line begins. */
export interface WrittenChange {
  readonly change: Change;
  readonly at: number;
}

export interface UndoHistory {
  /** The identity of the folder that the log was written in. */
  readonly identity: Identity;
  /** The changes in the order in which they happened. */
  readonly changes: readonly WrittenChange[];
  /** How many of them stay whatever happens. */
  readonly kept: number;
}

const version = 2;
const encoder = new TextEncoder();
/** An upper bound for the length of the first line. */
export const longestHeader = 1024;
const placeSize = 80;
const places = 2;

/** What a log begins with. */
export function encodeHeader(identity: Identity): Uint8Array {
  const empty = " ".repeat(placeSize - 1) + "\n";
  return Buffer.concat([encodeLine({ proviso: version, ...identity }), encoder.encode(empty.repeat(places))]);
}

export function encodeChange(change: Change): Uint8Array {
  return encodeLine(change);
}

/** The n-th note of how many changes stay, and where in a log of this identity it is written. */
export function encodeKept(identity: Identity, turn: number, kept: number): { bytes: Uint8Array; at: number } {
  const line = lineOf({ turn, kept }).padEnd(placeSize - 1) + "\n";
  const header = encodeLine({ proviso: version, ...identity }).length;
  return { bytes: encoder.encode(line), at: header + (turn % places) * placeSize };
}

/**
 * Reads which folder a log belongs to; undefined where its first line was not wholly written: nothing had begun then.
 */
export function readIdentity(log: Uint8Array): Identity | "another version" | undefined {
  const end = log.indexOf(newline);
  const header = end === -1 ? undefined : parsedLine(log.subarray(0, end));
  if (header === undefined) return undefined;
  const { proviso, device, inode } = header;
  if (proviso !== version || typeof device !== "string" || typeof inode !== "string") return "another version";
  return { device, inode };
}

/** Reads a log; undefined where nothing had begun. */
export function readHistory(log: Uint8Array): UndoHistory | undefined {
  const identity = readIdentity(log);
  if (typeof identity !== "object") return undefined;
  const start = log.indexOf(newline) + 1;
  const first = start + places * placeSize;
  const notes = Array.from({ length: places }, (_, n) => start + n * placeSize)
    .map((at) => parsedLine(log.subarray(at, at + placeSize)))
    .toSorted((a, b) => Number(b?.["turn"] ?? -1) - Number(a?.["turn"] ?? -1));
  const changes = [...changesIn(log, first)];
  return { identity, changes, kept: Math.min(changes.length, Number(notes[0]?.["kept"] ?? 0)) };
}

function lineOf(value: object): string {
  const json = JSON.stringify(value);
  return `${crc32(json).toString(16)} ${json}`;
}

function encodeLine(value: object): Uint8Array {
  return encoder.encode(`${lineOf(value)}\n`);
}

type Parsed = Readonly<Record<string, unknown>>;
const newline = 10;

/** undefined: it was not wholly written. */
function parsedLine(line: Uint8Array): Parsed | undefined {
  const text = decodeText(line).trimEnd();
  const space = text.indexOf(" ");
  const json = text.slice(space + 1);
  const parsed = crc32(json).toString(16) === text.slice(0, space) ? parseJson(json) : undefined;
  return parsed?.ok === true ? (parsed.value as Parsed) : undefined;
}

/** Reads changes up to the first line that was not wholly written: its change had not begun. */
function* changesIn(log: Uint8Array, first: number): Generator<WrittenChange> {
  let at = first;
  for (let end = log.indexOf(newline, at); end !== -1; end = log.indexOf(newline, at)) {
    const change = parsedLine(log.subarray(at, end));
    if (change === undefined || !isChange(change)) return;
    yield { change, at };
    at = end + 1;
  }
}

/** @throws {FilesystemError} for a path that leads out of the root. */
function isChange(record: object): record is Change {
  const { path, had, was, now = was } = record as Partial<Change>;
  if (typeof path !== "string") return false;
  return namesOf(path).length > 0 && typeof had === "boolean" && isNumber(was) && isNumber(now);
}

function isNumber(name: unknown): boolean {
  return typeof name === "string" && /^\d+$/.test(name);
}
