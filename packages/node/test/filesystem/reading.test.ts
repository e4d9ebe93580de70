import {
  defineTool,
  Filesystem,
  guardedFor,
  provide,
  RevokedError,
  type CallGuard,
  type Guardable,
} from "@proviso/core";
import { memoryFilesystem } from "@proviso/runtime";
import { invokeTool } from "@proviso/runtime/testing";
import { hostFilesystem } from "@proviso/node";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { decodeText, readLines, selectLines } from "@proviso/runtime/internal";
import { fc, rejectionOf } from "../../../runtime/test/state/support.ts";
import { withDescriptor } from "../../src/descriptors.ts";
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

test("FS-1 a text that is longer than texts can be is refused, its lines and bytes left to be read", async () => {
  const { files, root } = await host();
  const handle = await open(join(root, "huge.txt"), "w");
  await handle.truncate(2 ** 29);
  await handle.close();
  expect(await rejectionOf(files.read("huge.txt"))).toMatchObject({ reason: "too_large", path: "huge.txt" });
});

type Using = (files: Filesystem) => Promise<unknown>;
const long = "long.txt";
const usesOfLongFile: readonly (readonly [what: string, use: Using])[] = [
  ["lines", (files) => files.read(long, { offset: 0, limit: 1 })],
  ["a whole text", (files) => files.read(long)],
  ["bytes", (files) => files.readBytes(long)],
  ["a search", (files) => files.grep("x")],
  ["a search for names", (files) => files.glob("**")],
];
const withLongFile = async (): Promise<Filesystem> => {
  const { files, root } = await host({ "a/a.txt": "a", "b/b.txt": "b", "c/c.txt": "c" });
  const handle = await open(join(root, long), "w");
  await handle.truncate(64 * 1024 * 1024);
  await handle.close();
  return files;
};

test.each(usesOfLongFile)("FS-5 TX-3 %s: a reader whose call is over reads no further", async (_, use) => {
  const files = await withLongFile();
  let asked = 0;
  const guard: CallGuard = {
    isReadOnly: () => true,
    assertLive: () => {
      if (++asked > 3) throw new RevokedError("The call is over.");
    },
    assertMayChange: () => {},
    fail: () => {},
  };
  const view = (files as unknown as Guardable<Filesystem>)[guardedFor](guard);
  expect(await rejectionOf(use(view))).toBeInstanceOf(RevokedError);
  expect(asked).toBe(4);
  expect(await files.read("a/a.txt")).toMatchObject({ text: "a" });
});

test("FS-5 sixteen readers have something open at once, and the others wait in their order", async () => {
  const going = Promise.withResolvers<void>();
  const begun: number[] = [];
  const readers = Array.from({ length: 40 }, (_, n) =>
    withDescriptor(() => {
      begun.push(n);
      return going.promise;
    }),
  );
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toHaveLength(16);
  going.resolve();
  await Promise.all(readers);
  expect(begun).toEqual(Array.from({ length: 40 }, (_, n) => n));
});

test("FS-5 TX-3 readers that their calls left behind do not keep other calls from reading", async () => {
  const files = await withLongFile();
  const left: Promise<unknown>[] = [];
  const leave = defineTool({
    name: "leave",
    description: "Reads, and does not wait.",
    input: z.object({}),
    uses: [Filesystem],
    readOnly: true,
    execute(_, { resources }) {
      for (let n = 0; n < 40; n++)
        left.push(rejectionOf(resources.get(Filesystem).read(long, { offset: 0, limit: 1 })));
    },
  });
  const { result } = await invokeTool(leave, {}, { resources: [provide(Filesystem, files)] });
  expect(result.success).toBe(true);
  for (const error of await Promise.all(left)) expect(error).toBeInstanceOf(RevokedError);
});

test("FS-1 the bytes of a file of many megabytes are all there", async () => {
  const bytes = Uint8Array.from({ length: 3 * 1024 * 1024 + 5 }, (_, at) => at % 251);
  const { files } = await host({ "long.bin": bytes });
  expect(Buffer.compare(await files.readBytes("long.bin"), bytes)).toBe(0);
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

test.each([
  [
    "memory",
    async (text: string) => memoryFilesystem({ "a.txt": "a needle\n", "long.txt": text, "z.txt": "a needle" }),
  ],
  [
    "host",
    async (text: string) => {
      const files = hostFilesystem((await host()).root);
      await files.write("a.txt", "a needle\n");
      await files.write("long.txt", text);
      await files.write("z.txt", "a needle");
      return files;
    },
  ],
])(
  "FS-4 LIM-9 a line of more than 16 Mi characters is passed over, and what is around it is found (%s)",
  async (_, of) => {
    const files = await of(
      `a needle\n${"a needle ".repeat(1_900_000)}\nanother needle\n${"a needle ".repeat(1_900_000)}`,
    );
    const found = await files.grep("needle");
    expect(found.map(({ path, line }) => `${path}:${line}`)).toEqual([
      "a.txt:1",
      "long.txt:1",
      "long.txt:3",
      "z.txt:1",
    ]);
  },
);

test("FS-4 a pattern has 1,000 characters, 256 alternatives, equal ones counted, and 16,384 characters in them at most", async () => {
  const files = memoryFilesystem({ "a.txt": "a" });
  const choices = (count: number): string => `{${Array.from({ length: count }, () => "a").join(",")}}.txt`;
  expect(await files.glob(choices(256))).toEqual(["a.txt"]);
  expect(await rejectionOf(files.glob(choices(257)))).toMatchObject({ reason: "invalid_path" });
  // Two and 128 times as many characters: 64 · 256 are 16,384.
  const eight = "{a,b}".repeat(8);
  expect(await files.glob(`${eight}${"c".repeat(56)}`)).toEqual([]);
  expect(await rejectionOf(files.glob(`${eight}${"c".repeat(57)}`))).toMatchObject({ reason: "invalid_path" });
  expect(await files.glob("a".repeat(1_000))).toEqual([]);
  expect(await rejectionOf(files.glob("a".repeat(1_001)))).toMatchObject({ reason: "invalid_path" });
});

test("FS-1 alternatives of a glob may stand inside others", async () => {
  const files = memoryFilesystem({ "a.ts": "", "b.js": "", "b.mjs": "", "b.cjs": "", "a{b.ts": "" });
  expect(await files.glob("*.{ts,{m,c}js}")).toEqual(["a.ts", "a{b.ts", "b.cjs", "b.mjs"]);
  expect(await files.glob("{a,b{.m,.c{js}}}*")).toEqual(["a.ts", "a{b.ts", "b.cjs", "b.mjs"]);
  expect(await files.glob("a{b.{ts,js}")).toEqual(["a{b.ts"]);
  await expect(files.glob("{a,{b,c}}".repeat(9))).rejects.toThrow("more than 256 alternatives");
});
