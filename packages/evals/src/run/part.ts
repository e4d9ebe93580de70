// A run of a part of an eval: fewer rows, fewer variants, another number of attempts.
import { DefinitionError } from "@proviso/core";
import { contentHash } from "@proviso/core/internal";
import { listed, type NamedRow } from "../data/rows.ts";
import type { AnyDefinition, ReadyVariant } from "../define/define-eval.ts";
import type { RunOptions } from "./options.ts";

type PartOptions = Pick<RunOptions, "onlyRows" | "onlyVariants" | "sampleSize" | "repetitions" | "seed">;

/** Returns the definition with the run's own number of attempts. */
export function repeated(definition: AnyDefinition, { repetitions }: PartOptions): AnyDefinition {
  return repetitions === undefined ? definition : { ...definition, repetitions };
}

/** Returns the variants that are run, in the order of the definition. @throws {DefinitionError} for an unknown name. */
export function variantsToRun(
  variants: readonly ReadyVariant[],
  { onlyVariants }: PartOptions,
): readonly ReadyVariant[] {
  if (onlyVariants === undefined) return variants;
  const names = variants.map(({ name }) => name);
  requireKnown("variant", onlyVariants, names, `The variants are ${names.map((name) => `"${name}"`).join(", ")}.`);
  return variants.filter(({ name }) => onlyVariants.includes(name));
}

/**
 * Returns the rows that are run: those of `onlyRows`, and of them the sample. A larger sample has the smaller one in it.
 * @throws {DefinitionError} for an id that no row has, and for a sample of more rows than there are.
 */
export function rowsToRun<Row>(
  rows: readonly NamedRow<Row>[],
  { onlyRows, sampleSize, seed = 1 }: PartOptions,
): readonly NamedRow<Row>[] {
  let left = rows;
  if (onlyRows !== undefined) {
    const ids = new Set(rows.map(({ id }) => id));
    requireKnown("row", onlyRows, ids, `There are ${rows.length} rows.`);
    const wanted = new Set(onlyRows);
    left = rows.filter(({ id }) => wanted.has(id));
  }
  if (sampleSize === undefined) return left;
  if (left.length < sampleSize) {
    throw new DefinitionError(`A sample of ${sampleSize} cannot be drawn from ${left.length} rows.`);
  }
  const keyed = left.map((row) => ({ row, key: contentHash([seed, row.id]) }));
  const drawn = keyed.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).slice(0, sampleSize);
  return drawn.map(({ row }) => row);
}

function requireKnown(what: string, given: readonly string[], known: Iterable<string>, hint: string): void {
  const names = new Set(known);
  const unknown = given.filter((name) => !names.has(name));
  if (unknown.length === 0) return;
  throw new DefinitionError(`There is no ${what} ${listed(unknown.map((name) => `"${name}"`))}. ${hint}`);
}
