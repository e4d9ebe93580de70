// The rows that a changeset names. Source of its format: https://www.sqlite.org/session/sqlite3session_changeset.html and
// the comments of ext/session/sqlite3session.c.
import type { ResourceChange } from "@proviso/core";

/** The codes of SQLite's operations. Source: https://www.sqlite.org/c3ref/c_alter_table.html */
const kinds: Readonly<Record<number, ResourceChange["kind"]>> = { 9: "removed", 18: "added", 23: "changed" };
/** UTF-16 units of a key that are shown. */
const longestKey = 200;

/** Yields a change for each row: `table#key`, where the key is the row's primary key. */
export function* changedRows(changeset: Uint8Array): Generator<ResourceChange, void, undefined> {
  const reader = new ChangesetReader(changeset);
  let table: Table = { name: "", keys: [] };
  while (!reader.isOver()) {
    const byte = reader.byte();
    if (byte === tableMark) {
      table = tableFrom(reader);
      continue;
    }
    const kind = kinds[byte];
    if (kind === undefined) throw new Error(`A changeset has the operation ${byte}, which is not known.`);
    reader.byte(); // Whether a trigger did it.
    // An update has the old values and the new ones, and its key stands among the old ones.
    const key = keyFrom(reader, table);
    if (kind === "changed") keyFrom(reader, table);
    if (!table.name.startsWith("proviso_")) yield { path: `${table.name}#${key}`, kind };
  }
}

/** "T" */
const tableMark = 0x54;

interface Table {
  readonly name: string;
  /** Whether a column is one of the key, for each of them. */
  readonly keys: readonly boolean[];
}

function tableFrom(reader: ChangesetReader): Table {
  const count = reader.varint();
  const keys = Array.from({ length: count }, () => reader.byte() !== 0);
  return { name: reader.textUntilNul(), keys };
}

/** Reads a row; a column that did not change is left out of it. */
function keyFrom(reader: ChangesetReader, { keys }: Table): string {
  const values: string[] = [];
  for (const isKey of keys) {
    const value = reader.value(isKey);
    if (isKey && value !== undefined) values.push(value);
  }
  const key = values.join(",");
  return key.length > longestKey ? `${key.slice(0, longestKey)}…` : key;
}

class ChangesetReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  isOver(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#at++);
  }

  /** Source: https://www.sqlite.org/fileformat2.html#varint; of the lengths here no more than 32 bits are used. */
  varint(): number {
    let value = 0;
    for (let count = 0; count < 9; count++) {
      const byte = this.byte();
      value = value * 128 + (byte & 0x7f);
      if (byte < 0x80) break;
    }
    return value;
  }

  textUntilNul(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    const text = this.#bytes.toString("utf8", this.#at, end);
    this.#at = end + 1;
    return text;
  }

  /** Returns the value as text where it is wanted; undefined: it did not change, or it is not wanted. */
  value(isWanted: boolean): string | undefined {
    const type = this.byte();
    if (type === 0) return undefined;
    if (type === 5) return "NULL";
    const length = type === 1 || type === 2 ? 8 : this.varint();
    const bytes = this.#bytes.subarray(this.#at, (this.#at += length));
    return isWanted ? shown(type, bytes) : undefined;
  }
}

function shown(type: number, bytes: Buffer): string {
  if (type === 1) return String(bytes.readBigInt64BE());
  if (type === 2) return String(bytes.readDoubleBE());
  // More units than are shown: a character has at most four bytes.
  const first = bytes.subarray(0, longestKey * 4);
  return type === 3 ? first.toString("utf8") : `x'${first.toString("hex")}'`;
}
