import { filesystemTools } from "@proviso/toolkit";
import { expect, test } from "vitest";
import { call, invoked, work } from "./support.ts";

const files = { "a.ts": "one\ntwo\nthree\n", "src/b.ts": "two\ntwo", "src/c.md": "text" };
const tools = filesystemTools({ linesAPage: 2, entriesAnAnswer: 2, charactersAnAnswer: 100 });

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
])("KIT-3 %s with %o fails and tells the model what to do", async (name, input, says) => {
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
  expect(answer.length).toBeLessThan(150);
  expect(answer).toMatch(/…$/);
});
