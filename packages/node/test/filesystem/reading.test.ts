import { memoryFilesystem } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decodeText, readLines, selectLines } from "@proviso/runtime/internal";
import { fc, rejectionOf } from "../../../runtime/test/state/support.ts";
import { host } from "./host-support.ts";

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test("FS-1 lines read in chunks are those of the whole text, wherever a chunk ends", async () => {
  const text = fc.array(fc.constantFrom("\n", "a", "é", "日", "\u{1f600}", "\ufeff", "\r"), { maxLength: 20 });
  const number = fc.option(fc.integer({ min: -1, max: 12 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), number, number, async (parts, size, offset, limit) => {
      const bytes = new TextEncoder().encode(parts.join(""));
      const range = { ...(offset !== undefined && { offset }), ...(limit !== undefined && { limit }) };
      expect(await readLines(inChunks(bytes, size), range)).toEqual(selectLines(decodeText(bytes), range));
    }),
    { numRuns: 1_000 },
  );
});

test("FS-1 lines of a file of many megabytes are the same on a host folder as in memory", async () => {
  const text = Array.from({ length: 200_000 }, (_, n) => `line ${n} of many, ünïcödé\n`).join("");
  const { files } = await host({ "long.txt": text });
  const memory = memoryFilesystem({ "long.txt": text });
  for (const range of [{ offset: 150_000, limit: 3 }, { limit: 1 }, { offset: 199_999 }, { offset: 300_000 }]) {
    expect(await files.read("long.txt", range)).toEqual(await memory.read("long.txt", range));
  }
  expect(await files.grep("line 123456 ")).toEqual(await memory.grep("line 123456 "));
});

test("FS-1 lines may be as short and as many as they like", async () => {
  const { files } = await host({ "empty-lines.txt": "\n".repeat(2_000_000) });
  const { text, totalLines } = await files.read("empty-lines.txt", { offset: 1 });
  expect([text.length, totalLines]).toEqual([1_999_998, 2_000_000]);
});

test("FS-1 a text that is longer than texts can be is told, its lines and bytes left to be read", async () => {
  const { files, root } = await host();
  const handle = await open(join(root, "huge.txt"), "w");
  await handle.truncate(2 ** 29);
  await handle.close();
  expect(await rejectionOf(files.read("huge.txt"))).toMatchObject({ reason: "too_large", path: "huge.txt" });
});

test.each([
  ["memoryFilesystem", async (text: string) => memoryFilesystem({ "a.txt": text })],
  ["hostFilesystem", async (text: string) => hostFilesystem((await host({ "a.txt": text })).root)],
])(
  "FS-4 %s takes an expression for text, and no text or glob makes it hang",
  async (_, of) => {
    const files = await of(`${"a".repeat(50_000)}!\n(a+)+$ is text\n`);
    expect(await files.grep("(a+)+$")).toEqual([{ path: "a.txt", line: 2, text: "(a+)+$ is text" }]);
    expect(await files.grep(".*")).toEqual([]);
    for (const glob of ["*a*a*a*a*a*a*a*a*b", "**/**/**/**/**/**/x", "(a+)+$", "[a-z]*{a,b}{a,b}{a,b}?"]) {
      expect(await files.glob(glob)).toEqual([]);
      expect(await files.grep("text", { glob })).toEqual([]);
    }
  },
  5_000,
);

test("FS-1 alternatives of a glob may stand inside others", async () => {
  const files = memoryFilesystem({ "a.ts": "", "b.js": "", "b.mjs": "", "b.cjs": "", "a{b.ts": "" });
  expect(await files.glob("*.{ts,{m,c}js}")).toEqual(["a.ts", "a{b.ts", "b.cjs", "b.mjs"]);
  expect(await files.glob("{a,b{.m,.c{js}}}*")).toEqual(["a.ts", "a{b.ts", "b.cjs", "b.mjs"]);
  expect(await files.glob("a{b.{ts,js}")).toEqual(["a{b.ts"]);
  await expect(files.glob("{a,{b,c}}".repeat(9))).rejects.toThrow("more than 256 alternatives");
});
