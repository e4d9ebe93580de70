import { DefinitionError } from "@proviso/core";
import { contentHash, describeValue } from "@proviso/core/internal";
import type { Data } from "../definition.ts";
import { rowHash } from "./row-hash.ts";
import { idOf, readData } from "./rows.ts";

interface Drawn<Row> {
  /** The seed of the order. Default 1. */
  readonly seed?: number | undefined;
  /** What is drawn by. Default: the row's `id`, else its content. */
  readonly by?: ((row: Row) => string) | undefined;
}

/**
 * Returns the rows that come first in the order of the hash of seed and key: a larger sample has the smaller one in it.
 * @throws {DefinitionError} when it is read, for fewer rows than `size`.
 */
export function sample<Row extends object>(
  data: Data<Row>,
  options: Drawn<Row> & {
    /** How many rows. */
    readonly size: number;
  },
): AsyncIterable<Row> {
  const { size } = options;
  if (!Number.isSafeInteger(size) || size < 1) {
    throw new DefinitionError(`The size of a sample has to be a whole number from 1, not ${describeValue(size)}.`);
  }
  return onceMore(async () => {
    const rows = await readData(data);
    if (rows.length < size) throw new DefinitionError(`A sample of ${size} cannot be drawn from ${rows.length} rows.`);
    const keyed = await keysOf(rows, options);
    return keyed
      .toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
      .slice(0, size)
      .map(({ row }) => row);
  });
}

/**
 * Returns two parts that share no key. A row stays in its part when others are added or moved.
 * @throws {DefinitionError} for a share that is not between 0 and 1.
 */
export function split<Row extends object>(
  data: Data<Row>,
  options: Drawn<Row> & {
    /** The share of the test part, above 0 and below 1. */
    readonly test: number;
  },
): { readonly train: AsyncIterable<Row>; readonly test: AsyncIterable<Row> } {
  const { test } = options;
  if (!(test > 0 && test < 1))
    throw new DefinitionError(`The share of the test part has to be between 0 and 1, not ${describeValue(test)}.`);
  let reading: Promise<readonly Row[]> | undefined;
  // A generator is read once, for both parts.
  const rows = (): Promise<readonly Row[]> => (reading ??= readData(data));
  const part = (isTest: boolean) => async (): Promise<readonly Row[]> => {
    const keyed = await keysOf(await rows(), options);
    return keyed.filter(({ key }) => shareOf(key) < test === isTest).map(({ row }) => row);
  };
  return { train: onceMore(part(false)), test: onceMore(part(true)) };
}

async function keysOf<Row extends object>(rows: readonly Row[], { seed = 1, by }: Drawn<Row>) {
  const keyed: { readonly row: Row; readonly key: string }[] = [];
  // One after another: rows may hold large files.
  for (const row of rows) {
    const drawnBy = by === undefined ? idOf(row, await rowHash(row)) : by(row);
    keyed.push({ row, key: contentHash([seed, drawnBy]) });
  }
  return keyed;
}

/** A hash as a number from 0 to 1: its first 52 bits. */
function shareOf(hash: string): number {
  return Number.parseInt(hash.slice(0, 13), 16) / 2 ** 52;
}

function onceMore<Row>(read: () => Promise<readonly Row[]>): AsyncIterable<Row> {
  return {
    async *[Symbol.asyncIterator]() {
      yield* await read();
    },
  };
}
