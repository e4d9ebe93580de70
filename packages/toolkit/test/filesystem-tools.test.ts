import { DefinitionError, Filesystem, provideFactory, type Tool } from "@proviso/core";
import { memoryFilesystem } from "@proviso/runtime";
import { invokeTool } from "@proviso/runtime/testing";
import { filesystemTools } from "@proviso/toolkit";
import { expect, test } from "vitest";
import { call, invoked, work } from "./support.ts";

const files = { "a.ts": "one\ntwo\nthree\n", "src/b.ts": "two\ntwo", "src/c.md": "text" };
const tools = filesystemTools({ maxLinesPerPage: 2, maxEntriesPerAnswer: 2, maxCharactersPerAnswer: 100 });

test("KIT-1 the tools are these, and fewer where nothing may change", () => {
  const names = (readOnly: boolean) => filesystemTools({ readOnly }).map(({ name }) => name);
  expect(names(true)).toEqual(["list_files", "read_file", "glob_files", "grep_files"]);
  expect(names(false)).toEqual([...names(true), "write_file", "edit_file", "remove_file"]);
});

test.each([
  ["list_files", {}, "a.ts (14)\nsrc/"],
  ["list_files", { path: "src" }, "b.ts (7)\nc.md (4)"],
  ["list_files", { path: "src", offset: 1 }, "c.md (4)"],
  ["read_file", { path: "a.ts" }, "lines 1-2 of 3; go on with fromLine 3\none\ntwo"],
  ["read_file", { path: "a.ts", fromLine: 3 }, "lines 3-3 of 3\nthree"],
  ["glob_files", { pattern: "**/*.ts" }, "a.ts\nsrc/b.ts"],
  ["glob_files", { pattern: "**" }, "a.ts\nsrc/b.ts\n(1 more paths; go on with offset 2)"],
  ["glob_files", { pattern: "*.py" }, "No file fits the pattern."],
  ["grep_files", { text: "two" }, "a.ts:2: two\nsrc/b.ts:1: two\n(more: narrow it with a glob or a longer text)"],
  ["grep_files", { text: "two", glob: "*.ts" }, "a.ts:2: two"],
  ["grep_files", { text: "nowhere" }, "No line contains it."],
])("KIT-2 %s with %o answers in pages", async (name, input, answer) => {
  expect((await invoked(tools, name, input, files)).trimEnd()).toBe(answer);
});

test.each([
  ["read_file", { path: "nope.ts" }, /nope\.ts.*Look with list_files or glob_files\./],
  ["read_file", { path: "../up" }, /Paths are relative/],
  ["read_file", { path: "/etc/passwd" }, /Paths are relative/],
  ["read_file", { path: "src" }, /It is a folder: list it\./],
  ["read_file", { path: "a.ts", fromLine: 9 }, /a\.ts ends at line 3\./],
  ["read_file", { path: "binary" }, /not a text file/],
  ["list_files", { path: "a.ts" }, /It is a file: read it\./],
  ["edit_file", { path: "a.ts", find: "four", replace: "x" }, /does not contain that text/],
  ["edit_file", { path: "src/b.ts", find: "two", replace: "x" }, /2 times.*or set all/],
  ["remove_file", { path: "nope" }, /nope/],
])("KIT-3 %s with %o fails, and the message for the model has what to do", async (name, input, says) => {
  const answer = await invoked(filesystemTools(), name, input, { ...files, binary: new Uint8Array([0, 1, 2]) });
  expect(answer).toMatch(/^failed: /);
  expect(answer).toMatch(says);
});

test("KIT-4 what is written, edited and removed is there, edited and gone", async () => {
  const { results, filesystem } = await work(
    { tools: filesystemTools() },
    [
      call("write_file", { path: "new/d.ts", text: "let $& = 1;" }),
      call("edit_file", { path: "new/d.ts", find: "$&", replace: "$1 $$" }),
      call("edit_file", { path: "src/b.ts", find: "two", replace: "2", all: true }),
      call("remove_file", { path: "src/c.md" }),
    ],
    files,
  );
  expect(results.every((result) => !result.startsWith("failed"))).toBe(true);
  expect((await filesystem.read("new/d.ts")).text).toBe("let $1 $$ = 1;");
  expect((await filesystem.read("src/b.ts")).text).toBe("2\n2");
  expect(await filesystem.exists("src/c.md")).toBe(false);
});

test("KIT-2 one endless line is cut", async () => {
  const answer = await invoked(tools, "read_file", { path: "x" }, { x: "y".repeat(1_000) });
  expect(answer.length).toBeLessThan(200);
  expect(answer).toMatch(/^lines 1-1 of 1; line 1 is too long and cut, find the rest of it with grep_files\n/);
  expect(answer).toMatch(/…$/);
});

test("KIT-2 the result reports matches that are left out, and of a long line shows what is around the text", async () => {
  const many = Array.from({ length: 4 }, (_, index) => `${index} needle ${"y".repeat(40)}`).join("\n");
  const answer = await invoked(
    filesystemTools({ maxCharactersPerAnswer: 100 }),
    "grep_files",
    { text: "needle" },
    { many },
  );
  expect(answer).toMatch(/^many:1: 0 needle y+\n\(more: narrow it/);
  const long = `${"a".repeat(5_000)}needle${"b".repeat(5_000)}`;
  const around = await invoked(filesystemTools(), "grep_files", { text: "needle" }, { long, other: "needle" });
  expect(around).toMatch(/^long:1: …a+needleb+…\nother:1: needle$/);
  expect(around.length).toBeLessThan(500);
});

test("KIT-2 long paths are paged by their length, and a page past the end says so", async () => {
  const paths = Array.from({ length: 5 }, (_, index) => `${String(index).repeat(40)}.txt`);
  const folder = Object.fromEntries(paths.map((path) => [path, ""]));
  const few = filesystemTools({ maxCharactersPerAnswer: 100 });
  const found: string[] = [];
  for (let offset = 0; offset < 5;) {
    const lines = (await invoked(few, "glob_files", { pattern: "*", offset }, folder)).split("\n");
    found.push(...lines.filter((line) => line.endsWith(".txt")));
    offset = Number(/offset (\d+)\)$/.exec(lines.at(-1) ?? "")?.[1] ?? 5);
  }
  expect(found).toEqual(paths);
  expect(await invoked(few, "glob_files", { pattern: "*", offset: 5 }, folder)).toMatch(
    /^failed: There are only 5 paths/,
  );
  expect(await invoked(few, "list_files", { offset: 9 }, folder)).toMatch(/^failed: There are only 5 entries/);
  expect(await invoked(few, "list_files", {}, {})).toBe("The folder is empty.");
  expect(await invoked(few, "read_file", { path: "empty" }, { empty: "" })).toBe("empty is empty.");
});

test("KIT-4 an edit changes no other byte: a mark at the beginning stays, and what is no UTF-8 is refused", async () => {
  const edit = (path: string) => call("edit_file", { path, find: "b", replace: "c" });
  const latin = new Uint8Array([0x61, 0xe9, 0x62]);
  const { results, filesystem } = await work({ tools }, [edit("mark"), edit("latin")], {
    mark: "\u{feff}b\r\n",
    latin,
  });
  expect(results[0]).toBe("Replaced 1 in mark.");
  expect(results[1]).toMatch(/^failed: latin is not UTF-8 text/);
  expect(new TextDecoder("utf-8", { ignoreBOM: true }).decode(await filesystem.readBytes("mark"))).toBe(
    "\u{feff}c\r\n",
  );
  expect(await filesystem.readBytes("latin")).toEqual(latin);
});

test.each([
  ["edit_file", { path: "crlf", find: "a\nb", replace: "x" }, /end with \\r\\n/],
  ["grep_files", { text: "a\nb" }, /a text of one line/],
  ["remove_file", { path: "." }, /the whole workspace/],
  ["remove_file", { path: ".//./" }, /the whole workspace/],
])("KIT-3 %s with %o says what is wrong with it", async (name, input, says) => {
  const answer = await invoked(filesystemTools(), name, input, { ...files, crlf: "a\r\nb\r\n" });
  expect(answer).toMatch(/^failed: /);
  expect(answer).toMatch(says);
});

test("KIT-1 a filesystem that is made asynchronously will do", async () => {
  const read = filesystemTools().find(({ name }) => name === "read_file") as Tool<object, unknown>;
  const resources = [provideFactory(Filesystem, async () => memoryFilesystem(files))];
  const { result } = await invokeTool(read, { path: "a.ts" }, { resources });
  expect(result.success).toBe(true);
});

test("KIT-2 pages of no size are refused when the tools are made", () => {
  for (const options of [{ maxLinesPerPage: 0 }, { maxEntriesPerAnswer: -1 }, { maxCharactersPerAnswer: Number.NaN }]) {
    expect(() => filesystemTools(options)).toThrow(DefinitionError);
  }
});

test("KIT-2 a name with a line break is one entry", async () => {
  const odd = { "a\nb": "needle", c: "needle", d: "" };
  expect(await invoked(tools, "list_files", {}, odd)).toMatch(
    /^"a\\nb" \(6\)\nc \(6\)\n\(1 more entries; .*offset 2\)$/,
  );
  expect(await invoked(tools, "glob_files", { pattern: "*" }, odd)).toMatch(/^"a\\nb"\nc\n\(1 more paths/);
  expect(await invoked(tools, "grep_files", { text: "needle" }, odd)).toBe('"a\\nb":1: needle\nc:1: needle');
});

test("KIT-4 a text whose second place begins within its first names no one place", async () => {
  const brackets = "a {\n  b {\n    c {\n}\n}\n}\nend\n";
  const edited = { path: "f.txt", find: "}\n}\n", replace: "}\n// here\n}\n" };
  expect(await invoked(filesystemTools(), "edit_file", edited, { "f.txt": brackets })).toContain(
    "contains that text again, beginning within the first place. Give more of it.",
  );
  expect(await invoked(filesystemTools(), "edit_file", { ...edited, all: true }, { "f.txt": brackets })).toContain("1");
});

test("KIT-4 an edit makes no file longer than 16 MiB of characters, and changes nothing then", async () => {
  const edit = (replace: string) => call("edit_file", { path: "a", find: "a", replace, all: true });
  const text = "a".repeat(250_000);
  const tools = filesystemTools();
  const { results, filesystem } = await work({ tools }, [edit("b".repeat(500)), edit("b".repeat(16))], { a: text });
  expect(results[0]).toMatch(/would have 125000000 characters.*no file longer than 16777216/);
  expect(results[1]).toBe("Replaced 250000 in a.");
  expect((await filesystem.read("a")).text.length).toBe(4_000_000);
});

test("KIT-4 LIM-9 an edit replaces at most 250,000 places, and changes nothing where there are more", async () => {
  const text = "a".repeat(250_001);
  const edit = call("edit_file", { path: "a", find: "a", replace: "b", all: true });
  const { results, filesystem } = await work({ tools: filesystemTools() }, [edit], { a: text });
  expect(results[0]).toBe(
    "failed: a contains that text more than 250000 times: an edit replaces no more. Give more of it.",
  );
  expect((await filesystem.read("a")).text).toBe(text);
});

test.each([
  ["edit_file", { path: "a", find: "start \ud83d", replace: "begin" }],
  ["edit_file", { path: "a", find: "start", replace: "\ude00" }],
  ["write_file", { path: "a", text: "a\ud800b" }],
])("KIT-4 FS-1 %s takes no half of a surrogate pair, which a file cannot hold", async (name, input) => {
  const { results, filesystem } = await work({ tools: filesystemTools() }, [call(name, input)], { a: "start 😀 end" });
  expect(results[0]).toMatch(/^failed: .*half of a surrogate pair/s);
  expect((await filesystem.read("a")).text).toBe("start 😀 end");
});

test("KIT-4 a file that is longer may be edited as long as it does not grow", async () => {
  const edit = (replace: string) => call("edit_file", { path: "a", find: "b", replace });
  const lengths = [16_777_216, 16_777_217];
  const outcomes = await Promise.all(
    lengths.map(async (length) => {
      const files = { a: `b${"a".repeat(length - 1)}` };
      const { results } = await work({ tools: filesystemTools() }, [edit("bb"), edit("b"), edit("")], files);
      return results.map((text) => /would have \d+|Replaced 1/.exec(text)?.[0]);
    }),
  );
  expect(outcomes).toEqual([
    ["would have 16777217", "Replaced 1", "Replaced 1"],
    ["would have 16777218", "Replaced 1", "Replaced 1"],
  ]);
});

test("KIT-4 LIM-2 a file of more than 64 MiB is not edited: no deadline would be noticed meanwhile", async () => {
  const large = new Uint8Array(64 * 1024 * 1024 + 1).fill(0x61);
  large[0] = 0x62;
  const edit = call("edit_file", { path: "large", find: "b", replace: "c" });
  const { results } = await work({ tools: filesystemTools() }, [edit], { large });
  expect(results[0]).toBe("failed: large has 67108865 bytes: a file of more than 67108864 cannot be edited.");
});
