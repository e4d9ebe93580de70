// Rows of files: read whole and validated, and every fault is reported at once (EVL-1).
import { DefinitionError, type ObjectSchema, type OutputOf } from "@proviso/core";
import { describeIssues, isForbiddenKey, messageOf, parseWithSchema } from "@proviso/core/internal";
import { parseJson } from "@proviso/core/provider";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { listed, rowsOfFile } from "../data/rows.ts";

/** UTF-16 units of one line, at most. */
const longestLine = 64 * 1024 * 1024;

/** A value of the file, or what is wrong with it. */
type Found = { readonly line: number } & ({ readonly value: unknown } | { readonly fault: string });

/**
 * Reads rows from a file with a JSON object in each line. Empty lines are no rows. The file is read whole, each time that
 * the rows are.
 *
 * @throws {DefinitionError} when it is read: for a file that is not there or is no UTF-8, and for every line that is no JSON
 * or that the schema refuses, with file and line, at most 20 of them and then a count.
 */
export function jsonl<S extends ObjectSchema>(path: string, schema: S): AsyncIterable<OutputOf<S>> {
  return rowsOf(path, schema, (text) =>
    text.split("\n").flatMap((line, at): readonly Found[] => {
      if (line.trim() === "") return [];
      const json = parseJson(line, { maxLength: longestLine });
      return [json.ok ? { line: at + 1, value: json.value } : { line: at + 1, fault: json.error }];
    }),
  );
}

/**
 * Reads rows from a file of comma-separated values (RFC 4180). The first line has the names of the columns; cells are
 * texts, so a schema of numbers converts them. The file is read whole, each time that the rows are.
 *
 * @throws {DefinitionError} when it is read: for a file that is not there or is no UTF-8, for names of columns that are
 * missing, empty, given twice or could reach a prototype, and for every row with too few or too many cells or that the
 * schema refuses, with file and line, at most 20 of them and then a count.
 */
export function csv<S extends ObjectSchema>(path: string, schema: S): AsyncIterable<OutputOf<S>> {
  return rowsOf(path, schema, async (text) => {
    const [names, ...records] = await recordsOf(text);
    if (names === undefined) return [{ line: 1, fault: "no names of columns" }];
    if ("fault" in names) return [names];
    const faults = names.cells.flatMap((name, at): readonly Found[] => {
      const fault = nameFault(name, names.cells.indexOf(name), at);
      return fault === undefined ? [] : [{ line: names.line, fault }];
    });
    if (faults.length > 0) return faults;
    return records.map((record): Found => {
      if ("fault" in record) return record;
      const { line, cells } = record;
      if (cells.length === names.cells.length) {
        return { line, value: Object.fromEntries(names.cells.map((name, at) => [name, cells[at]])) };
      }
      return { line, fault: `${cells.length} cells for ${names.cells.length} columns` };
    });
  });
}

function nameFault(name: string, first: number, at: number): string | undefined {
  if (name.trim() === "") return `no name for column ${at + 1}`;
  if (isForbiddenKey(name)) return `the column "${name}" is not allowed`;
  return first === at ? undefined : `the columns ${first + 1} and ${at + 1} are both "${name}"`;
}

interface WithInfo {
  readonly record: readonly string[];
  readonly info: { readonly lines: number; readonly empty_lines: number };
}

type CsvRecord = { readonly line: number } & ({ readonly cells: readonly string[] } | { readonly fault: string });

/** Reads all records, up to the first that is no CSV. The library is loaded with the first file. */
async function recordsOf(text: string): Promise<readonly CsvRecord[]> {
  const { CsvError, parse } = await import("csv-parse/sync");
  const records: CsvRecord[] = [];
  // The line that the last record ended on, and the empty lines so far.
  let [ended, empty] = [0, 0];
  try {
    parse(text, {
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      on_record(given: unknown) {
        // The option `info` has a record come with its place.
        const { record, info } = given as WithInfo;
        records.push({ line: ended + 1 + (info.empty_lines - empty), cells: record });
        [ended, empty] = [info.lines, info.empty_lines];
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    records.push({ line: ended + 1, fault: `not CSV: ${error.message}` });
  }
  return records;
}

function rowsOf<S extends ObjectSchema>(
  path: string,
  schema: S,
  read: (text: string) => readonly Found[] | Promise<readonly Found[]>,
): AsyncIterable<OutputOf<S>> {
  if (typeof path !== "string" || path === "") throw new DefinitionError("Rows are read from the path of a file.");
  // The process may go elsewhere later.
  const file = resolve(path);
  return rowsOfFile({
    async *[Symbol.asyncIterator]() {
      const faults: string[] = [];
      const rows: OutputOf<S>[] = [];
      for (const found of await read(await textOf(file))) {
        if ("fault" in found) {
          faults.push(`line ${found.line}: ${found.fault}`);
          continue;
        }
        const parsed = await parseWithSchema(schema, found.value);
        if (parsed.ok) rows.push(parsed.value as OutputOf<S>);
        else faults.push(`line ${found.line}: ${describeIssues(parsed.issues, parsed.unlisted)}`);
      }
      if (faults.length > 0) throw new DefinitionError(`The rows of ${file} cannot be used: ${listed(faults)}.`);
      yield* rows;
    },
  });
}

/** @throws {DefinitionError} for a file that cannot be read as UTF-8. */
async function textOf(file: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file));
  } catch (cause) {
    throw new DefinitionError(`The rows of ${file} cannot be read: ${messageOf(cause)}.`, { cause });
  }
}
