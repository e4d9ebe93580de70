import { DefinitionError } from "@proviso/core";
import { defineEval, runEval } from "@proviso/evals";
import { csv, jsonl } from "@proviso/evals/node";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { triage, wordList } from "./support.ts";

const folder = await mkdtemp(join(tmpdir(), "proviso-evals-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;

async function fileOf(content: string | Uint8Array): Promise<string> {
  const path = join(folder, `rows-${++files}.txt`);
  await writeFile(path, content);
  return path;
}

const Mail = z.object({ id: z.string(), text: z.string() });
async function rowsOf(rows: AsyncIterable<object>): Promise<readonly object[]> {
  const all: object[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

const refused = async (rows: AsyncIterable<object>): Promise<string> => {
  const error: unknown = await rowsOf(rows).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DefinitionError);
  return (error as Error).message;
};

test("EVL-1 jsonl reads an object of each line, and empty lines are no rows", async () => {
  const path = await fileOf('\uFEFF{"id":"a","text":"one\\ntwo"}\r\n\n{"id":"b","text":"é"}');
  const rows = jsonl(path, Mail);
  expect(await rowsOf(rows)).toEqual([
    { id: "a", text: "one\ntwo" },
    { id: "b", text: "é" },
  ]);
  // They can be read again, by a split or a second run.
  expect(await rowsOf(rows)).toHaveLength(2);
});

test("EVL-1 all bad lines are listed with file, line and path, at most 20 and then a count", async () => {
  const path = await fileOf('{"id":"a","text":"one"}\n{"id":\n{"id":7,"text":"x"}\n{"__proto__":{"id":"a"}}\n[1]\n');
  const message = await refused(jsonl(path, Mail));
  expect(message).toContain(`The rows of ${path} cannot be used`);
  expect(message).toMatch(/line 2: not JSON.*; line 3: id: .*; line 4: the key "__proto__" is not allowed; line 5: /u);
  expect(message).not.toMatch(/line 1\b/u);
  const many = await refused(jsonl(await fileOf("no\n".repeat(25)), Mail));
  expect(many).toContain("line 20: not JSON");
  expect(many).not.toContain("line 21");
  expect(many).toContain("and 5 more");
});

test("EVL-1 csv names cells by the first line, with quotes, line ends in cells and empty lines", async () => {
  const text = '\uFEFFid,text\r\na,"one, ""two""\nthree"\r\n\r\nb,\r\n';
  expect(await rowsOf(csv(await fileOf(text), Mail))).toEqual([
    { id: "a", text: 'one, "two"\nthree' },
    { id: "b", text: "" },
  ]);
  const Number = z.object({ count: z.coerce.number() });
  expect(await rowsOf(csv(await fileOf("count\n12\n"), Number))).toEqual([{ count: 12 }]);
});

test.each([
  ["given twice", "id,text,id\na,b,c\n", 'line 1: the columns 1 and 3 are both "id"'],
  ["empty", "id,,text, \na,b,c,d\n", "line 1: no name for column 2; line 1: no name for column 4"],
  ["__proto__", "\nid,__proto__\na,b\n", 'line 2: the column "__proto__" is not allowed'],
  ["constructor", "constructor\na\n", 'line 1: the column "constructor" is not allowed'],
  ["missing", "", "line 1: no names of columns"],
])("EVL-1 names of columns that are %s are refused with their line", async (_name, text, message) => {
  expect(await refused(csv(await fileOf(text), Mail))).toContain(message);
});

test("EVL-1 rows with too few or too many cells, or that the schema refuses, are listed with the line they begin on", async () => {
  const text = 'id,text\na\n\nb,"two\nlines"\nc,d,e\nf,"long\n\ncell",g\nh,i\n';
  const message = await refused(csv(await fileOf(text), z.object({ id: z.string(), text: z.string().max(3) })));
  expect(message).toContain("line 2: 1 cells for 2 columns");
  expect(message).toContain("line 4: text: ");
  expect(message).toContain("line 6: 3 cells");
  expect(message).toContain("line 7: 3 cells");
  expect(message).not.toContain("line 10");
});

test("EVL-1 what is no CSV is refused with the line of the fault", async () => {
  const message = await refused(csv(await fileOf('id,text\na,b\nc,"open\nd,e\n'), Mail));
  expect(message).toMatch(/line 3: not CSV: /u);
});

test("EVL-1 a file that is not there, or is no UTF-8, is a DefinitionError that names it", async () => {
  const missing = join(folder, "missing.jsonl");
  const latin = await fileOf(new Uint8Array([0x7b, 0xe9, 0x7d]));
  for (const read of [jsonl, csv]) {
    expect(await refused(read(missing, Mail))).toContain(`The rows of ${missing} cannot be read`);
    expect(await refused(read(latin, Mail))).toContain(`The rows of ${latin} cannot be read`);
    expect(() => read("", Mail)).toThrow(DefinitionError);
  }
});

test("EVL-1 an eval of a file with a bad line asks nothing", async () => {
  const asked: string[] = [];
  const path = await fileOf('{"id":"a","text":"one"}\n{"id":"b"}\n');
  const of = defineEval({
    name: "files",
    data: jsonl(path, Mail),
    prompt: ({ text }) => triage.bind({ text }),
    adapter: wordList(["one"], asked),
    scorers: { any: ({ row }) => row.text.length > 0 },
  });
  await expect(runEval(of)).rejects.toThrow(`The rows of ${path} cannot be used: line 2: text`);
  expect(asked).toEqual([]);
});
