import { DefinitionError } from "@proviso/core";
import { contentHash, messageOf } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { hiddenField } from "@proviso/runtime/internal";
import { bounded, Unsettled, type Bounds } from "../bounded.ts";
import type { Data } from "../definition.ts";
import { rowHash } from "./row-hash.ts";

/** A row with its names. */
export interface NamedRow<Row> {
  readonly row: Row;
  readonly id: string;
  /** undefined: rows have no groups. */
  readonly group: string | undefined;
  /** The hash of its content. */
  readonly hash: string;
}

/** Digits of a hash that name a row. */
const digits = 16;
/** Faults that an error lists. */
const mostListed = 20;

const ofFiles = hiddenField<true>();

/** Data that read their file each time. */
export function rowsOfFile<Row>(data: AsyncIterable<Row>): AsyncIterable<Row> {
  ofFiles.set(data, true);
  return data;
}

/** Whether the rows are the same when they are read again: a generator is read once. */
export function canBeReadAgain(data: Data<object>): boolean {
  return Array.isArray(data) || ofFiles.of(data) === true;
}

/** Names a row by its content where nothing else does. */
export function idOf<Row extends object>(row: Row, hash: string, given?: (row: Row) => string): string {
  if (given !== undefined) return given(row);
  const { id } = row as { readonly id?: unknown };
  return typeof id === "string" || typeof id === "number" ? String(id) : hash.slice(0, digits);
}

/**
 * Reads all of the data. A generator is read once.
 * @throws {Unsettled} where a row does not come within the bounds.
 */
export async function readData<Row extends object>(data: Data<Row>, bounds?: Bounds): Promise<readonly Row[]> {
  if (Array.isArray(data)) return data as readonly Row[];
  const rows: Row[] = [];
  const reading = (data as AsyncIterable<Row>)[Symbol.asyncIterator]();
  for (;;) {
    const next = reading.next();
    const row = await (bounds === undefined
      ? next
      : bounded(next, bounds).catch((error: unknown) => giveUp(reading, error)));
    if (row.done === true) return rows;
    rows.push(row.value);
  }
}

/** Ends the reading of what does not answer, without a wait. */
function giveUp(reading: AsyncIterator<unknown>, error: unknown): never {
  if (!(error instanceof Unsettled)) throw error;
  void Promise.resolve(reading.return?.()).catch(() => {});
  throw new Unsettled(error.why, `The data of the eval: ${error.message}`);
}

/**
 * Reads the rows and names them.
 * @throws {DefinitionError} for rows that are no objects or have no id, two of one id, and no rows at all; all of them at once.
 */
export async function namedRows<Row extends object>(
  data: Data<Row>,
  { id, group }: NamesOf<Row>,
  bounds?: Bounds,
): Promise<readonly NamedRow<Row>[]> {
  const rows = await readData(data, bounds);
  if (rows.length === 0) throw new DefinitionError("The data of an eval have no rows.");
  const named: NamedRow<Row>[] = [];
  const faults: string[] = [];
  const places = new Map<string, number>();
  for (const [place, row] of rows.entries()) {
    if (!isRecord(row)) {
      faults.push(`row ${place + 1} is no object`);
      continue;
    }
    const read = await readNames(row, { id, group }, bounds);
    if ("fault" in read) {
      faults.push(`row ${place + 1} ${read.fault}`);
      continue;
    }
    const { hash, names } = read;
    if (typeof names.id !== "string" || names.id === "") faults.push(`row ${place + 1} has no id`);
    else if (!names.id.isWellFormed()) {
      faults.push(
        `row ${place + 1} has the id ${JSON.stringify(names.id)}, in which half of a surrogate pair is missing`,
      );
    }
    if (group !== undefined && typeof names.group !== "string") faults.push(`row ${place + 1} has no group`);
    const before = places.get(names.id);
    if (before !== undefined) faults.push(`rows ${before + 1} and ${place + 1} have the id "${names.id}"`);
    places.set(names.id, place);
    named.push({ row, hash, ...names });
  }
  if (faults.length > 0) throw new DefinitionError(`The data cannot be used: ${listed(faults)}.`);
  return named;
}

interface NamesOf<Row> {
  readonly id?: ((row: Row) => string) | undefined;
  readonly group?: ((row: Row) => string) | undefined;
}

/** The hash and the names of a row, or why it has none. */
async function readNames<Row extends object>(row: Row, { id, group }: NamesOf<Row>, bounds: Bounds | undefined) {
  let hash: string;
  try {
    const hashing = rowHash(row);
    hash = await (bounds === undefined ? hashing : bounded(hashing, bounds));
  } catch (error) {
    if (error instanceof Unsettled) throw new Unsettled(error.why, `The data of the eval: ${error.message}`);
    return { fault: `cannot be written as JSON: ${messageOf(error)}` };
  }
  try {
    return { hash, names: { id: idOf(row, hash, id), group: group?.(row) } };
  } catch (error) {
    return { fault: `cannot be named: ${messageOf(error)}` };
  }
}

/** Joins faults, at most 20 of them and then a count. */
export function listed(faults: readonly string[]): string {
  const shown = faults.slice(0, mostListed).join("; ");
  return faults.length > mostListed ? `${shown}; and ${faults.length - mostListed} more` : shown;
}

/**
 * Orders rows by the hash of seed and group, then of seed and id: the same on every machine, and adding a row moves no
 * others.
 */
export function ordered<Row>(rows: readonly NamedRow<Row>[], seed: number): readonly NamedRow<Row>[] {
  const groups = new Map<string, string>();
  const hashOf = (group: string): string => {
    let hash = groups.get(group);
    if (hash === undefined) groups.set(group, (hash = contentHash([seed, group])));
    return hash;
  };
  return rows
    .map((row) => {
      const by = contentHash([seed, row.id]);
      const of = row.group === undefined ? by : hashOf(row.group);
      return { row, of, by };
    })
    .toSorted((a, b) => (a.of < b.of ? -1 : a.of > b.of ? 1 : a.by < b.by ? -1 : a.by > b.by ? 1 : 0))
    .map(({ row }) => row);
}
