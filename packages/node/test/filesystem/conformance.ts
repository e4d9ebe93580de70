import { FilesystemError, type Filesystem } from "@proviso/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fc, rejectionOf } from "../../../runtime/test/state/support.ts";

export type Tree = Readonly<Record<string, string | Uint8Array>>;

const deepFolder = Array.from({ length: 63 }, () => "d").join("/");
const longName = "é".repeat(127) + "x";

/** What every filesystem of the suite begins with. */
const tree: Tree = {
  "README.md": "# Title\n\nneedle here\nlast",
  "empty.txt": "",
  "src/a.ts": "one\ntwo needle\nthree\n",
  "src/a/inner.ts": "needle in a folder\n",
  "src/b.tsx": "needle.*\r\n(needle)\n",
  "src/[x].ts": "brackets\n",
  "binary.bin": new Uint8Array([110, 101, 101, 100, 108, 101, 0, 255]),
  "ünïcödé/日本.txt": "needle 日本\n",
  [`${deepFolder}/file.txt`]: "deep",
  [longName]: "long name",
};

export interface Opened {
  readonly filesystem: Filesystem;
  close(): Promise<void>;
}

async function faultOf(promise: Promise<unknown>): Promise<string> {
  const error = await rejectionOf(promise);
  expect(error).toBeInstanceOf(FilesystemError);
  return (error as unknown as FilesystemError).reason;
}

/** FS-1: the same results on every filesystem. */
export function describeFilesystem(
  name: string,
  open: (files: Tree) => Promise<Opened>,
  can: { write: boolean },
): void {
  describe(name, () => {
    describeReading(open);
    if (can.write) describeWriting(open);
  });
}

const invalid = {
  absolute: "/README.md",
  "the parent": "..",
  "a parent inside": "src/../../etc/passwd",
  "a parent that stays inside": "src/../README.md",
  NUL: "src/a\0.ts",
  "65 levels": `${deepFolder}/d/file.txt`,
  "a name of 256 bytes": "é".repeat(128),
  "the folder for undoing": ".proviso-undo/log",
  "the folder for undoing, inside": "src/.Proviso-Undo",
  "the folder for undoing, by a letter that counts as another one": ".provi\u017fo-undo/log",
  "the folder for undoing, by one without its dot": ".prov\u0131so-undo",
  "the folder for undoing, with a letter that does not show": ".proviso\u200b-undo",
  "the folder for undoing, abbreviated": "PROVIS~1/log",
  "half a character": "src/\ud800.ts",
  "a backslash": "..\\secret.txt",
  "a drive": "C:/secret.txt",
  "a stream": "README.md:stream",
  "a dot at the end of a name": "src./a.ts",
  "three dots": "src/...",
  "a space at the end of a name": "src/.. /secret.txt",
  ...Object.fromEntries(
    [
      "CON",
      "prn",
      "aux.c",
      "src/NUL",
      "nul .txt",
      "com1",
      "COM0.log",
      "LPT9/x",
      "lpt\u00b2",
      "CONIN$",
      "conout$.txt",
    ].map((path) => [`the device ${path}`, path]),
  ),
};

/** Much like what is refused. */
const valid = [
  ".proviso-undone",
  "a~1",
  "console",
  "con-tact/nul-l",
  "com",
  "com10",
  "lpt",
  "auxiliary.c",
  ".. x",
  " a",
  ".x",
  "..x",
];

function describeReading(open: (files: Tree) => Promise<Opened>): void {
  let opened: Opened;
  let files: Filesystem;
  beforeAll(async () => {
    opened = await open(tree);
    files = opened.filesystem;
  });
  afterAll(() => opened.close());

  test.each(Object.entries(invalid))("FS-1 a path that is or has %s is refused everywhere", async (_, path) => {
    const attempts = [
      files.read(path),
      files.readBytes(path),
      files.list(path),
      files.exists(path),
      files.write(path, "x"),
      files.remove(path),
      files.mkdir(path),
    ];
    expect(new Set(await Promise.all(attempts.map(faultOf)))).toEqual(new Set(["invalid_path"]));
  });

  test("FS-1 a path that is no text is refused", async () => {
    expect(await faultOf(files.read(undefined as never))).toBe("invalid_path");
  });

  test("FS-1 64 levels and a name of 255 bytes are read", async () => {
    expect((await files.read(`${deepFolder}/file.txt`)).text).toBe("deep");
    expect((await files.read(longName)).text).toBe("long name");
  });

  test("FS-1 empty names and dots are passed over; dots in a name are not", async () => {
    expect((await files.read("./src//a.ts")).totalLines).toBe(3);
    expect(await files.list(".")).toEqual(await files.list());
    expect(await files.exists("..a")).toBe(false);
  });

  test("FS-1 names that are only much like refused ones are taken", async () => {
    for (const path of valid) expect(await files.exists(path)).toBe(false);
  });

  test("FS-1 read tells the text, the number of its lines, and whether there is more", async () => {
    expect(await files.read("src/a.ts")).toEqual({ text: "one\ntwo needle\nthree\n", totalLines: 3, truncated: false });
    expect(await files.read("README.md")).toMatchObject({ totalLines: 4, truncated: false });
    expect(await files.read("empty.txt")).toEqual({ text: "", totalLines: 0, truncated: false });
    expect(await files.read("src/a.ts", { limit: 1 })).toEqual({ text: "one", totalLines: 3, truncated: true });
    expect(await files.read("src/a.ts", { offset: 1, limit: 1 })).toMatchObject({
      text: "two needle",
      truncated: true,
    });
    expect(await files.read("src/a.ts", { offset: 2 })).toMatchObject({ text: "three", truncated: false });
    expect(await files.read("src/a.ts", { offset: 9 })).toMatchObject({ text: "", truncated: false });
    expect(await files.read("src/a.ts", { limit: 0 })).toMatchObject({ text: "", truncated: true });
  });

  test("FS-1 a negative offset or limit counts as none", async () => {
    expect(await files.read("src/a.ts", { limit: -1 })).toMatchObject({ text: "", truncated: true });
    expect(await files.read("src/a.ts", { offset: -5, limit: 2 })).toMatchObject({ text: "one\ntwo needle" });
  });

  test("FS-1 the pages of a file together are its lines", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("README.md", "src/a.ts", "empty.txt"),
        fc.integer({ min: 1, max: 6 }),
        async (path, limit) => {
          const { text: whole, totalLines } = await files.read(path);
          const pages: string[] = [];
          for (let offset = 0; offset < totalLines; offset += limit) {
            const { text, truncated } = await files.read(path, { offset, limit });
            expect(truncated).toBe(offset + limit < totalLines);
            pages.push(text);
          }
          // A page that is the whole file ends as the file does.
          expect(pages.join("\n").replace(/\n$/, "")).toBe(whole.replace(/\n$/, ""));
        },
      ),
    );
  });

  test("FS-1 bytes come as they are, and text that is not UTF-8 shows as U+FFFD", async () => {
    expect([...(await files.readBytes("binary.bin"))]).toEqual([110, 101, 101, 100, 108, 101, 0, 255]);
    expect((await files.read("binary.bin")).text).toBe("needle\0\ufffd");
  });

  test("FS-1 what is missing, a folder or below a file is told apart", async () => {
    expect(await faultOf(files.read("none.txt"))).toBe("not_found");
    expect(await faultOf(files.read("src"))).toBe("not_a_file");
    expect(await faultOf(files.read(""))).toBe("not_a_file");
    expect(await faultOf(files.read("src/a.ts/x"))).toBe("not_found");
    expect(await faultOf(files.list("none"))).toBe("not_found");
    expect(await faultOf(files.list("src/a.ts"))).toBe("not_a_directory");
    expect(await faultOf(files.list("src/a.ts/x"))).toBe("not_found");
  });

  test("FS-1 exists knows files, folders and the root", async () => {
    const known = await Promise.all(["", ".", "src", "src/a.ts", "none", "src/none", "src/a.ts/x"].map(files.exists));
    expect(known).toEqual([true, true, true, true, false, false, false]);
  });

  test("FS-1 list is sorted by name and tells kind and size", async () => {
    expect(await files.list("src")).toEqual([
      { name: "[x].ts", kind: "file", size: 9 },
      { name: "a", kind: "directory", size: 0 },
      { name: "a.ts", kind: "file", size: 21 },
      { name: "b.tsx", kind: "file", size: 19 },
    ]);
    expect((await files.list()).map(({ name }) => name)).toEqual(
      ["README.md", "binary.bin", "d", "empty.txt", "src", longName, "ünïcödé"].toSorted(),
    );
  });

  test.each([
    ["*", ["README.md", "binary.bin", "empty.txt", longName]],
    ["src/*.ts", ["src/[x].ts", "src/a.ts"]],
    ["./src/*.ts", ["src/[x].ts", "src/a.ts"]],
    ["**/*.ts", ["src/[x].ts", "src/a.ts", "src/a/inner.ts"]],
    ["src/**", ["src/[x].ts", "src/a.ts", "src/a/inner.ts", "src/b.tsx"]],
    ["**/inner.ts", ["src/a/inner.ts"]],
    ["src/?.{ts,tsx}", ["src/a.ts", "src/b.tsx"]],
    ["src/[a-c].ts*", ["src/a.ts", "src/b.tsx"]],
    ["src/[!a].tsx", ["src/b.tsx"]],
    ["src/[-b].tsx", ["src/b.tsx"]],
    ["ünïcödé/??.txt", ["ünïcödé/日本.txt"]],
    ["src", []],
    ["../*", []],
  ])("FS-1 glob %s finds files, sorted", async (pattern, found) => {
    expect(await files.glob(pattern)).toEqual(found);
  });

  const longAlternatives = `${"{a,b}".repeat(8)}${"*?".repeat(400)}`;
  test("FS-1 FS-4 a glob that is absolute, too long or has too many alternatives is refused", async () => {
    for (const pattern of [
      "/etc/*",
      "x".repeat(1_001),
      "a\0b",
      "{a,b}".repeat(9),
      "{,}".repeat(300),
      longAlternatives,
    ]) {
      expect(await faultOf(files.glob(pattern))).toBe("invalid_path");
    }
  });

  test("FS-1 grep finds literal text, sorted by path, and passes binary files over", async () => {
    expect(await files.grep("needle")).toEqual([
      { path: "README.md", line: 3, text: "needle here" },
      { path: "src/a.ts", line: 2, text: "two needle" },
      { path: "src/a/inner.ts", line: 1, text: "needle in a folder" },
      { path: "src/b.tsx", line: 1, text: "needle.*\r" },
      { path: "src/b.tsx", line: 2, text: "(needle)" },
      { path: "ünïcödé/日本.txt", line: 1, text: "needle 日本" },
    ]);
    expect((await files.grep("needle.*")).map(({ path }) => path)).toEqual(["src/b.tsx"]);
    expect(await files.grep("(needle")).toHaveLength(1);
    expect(await files.grep("")).toEqual([]);
    expect(await files.grep("needle", { glob: "src/*.ts" })).toHaveLength(1);
    expect(await files.grep("needle", { maxMatches: 2 })).toMatchObject([{ path: "README.md" }, { path: "src/a.ts" }]);
  });
}

function describeWriting(open: (files: Tree) => Promise<Opened>): void {
  const opened = async (): Promise<Filesystem> => (await open({ "a.txt": "a", "folder/b.txt": "b" })).filesystem;

  test("FS-1 write makes the folders above and replaces a file", async () => {
    const files = await opened();
    await files.write("new/deep/file.txt", "one");
    await files.write("new/deep/file.txt", "two");
    expect((await files.read("new/deep/file.txt")).text).toBe("two");
    expect(await files.list("new")).toEqual([{ name: "deep", kind: "directory", size: 0 }]);
  });

  test("FS-1 nothing is written over a folder, and no file becomes a parent; nothing changes then", async () => {
    const files = await opened();
    const before = await files.glob("**");
    expect(await faultOf(files.write("folder", "x"))).toBe("not_a_file");
    expect(await faultOf(files.write("", "x"))).toBe("not_a_file");
    expect(await faultOf(files.write("a.txt/x", "x"))).toBe("not_a_directory");
    expect(await faultOf(files.write("a.txt/x/y", "x"))).toBe("not_a_directory");
    expect(await faultOf(files.mkdir("a.txt"))).toBe("not_a_directory");
    expect(await faultOf(files.mkdir("a.txt/x"))).toBe("not_a_directory");
    expect(await files.glob("**")).toEqual(before);
    expect((await files.list()).map(({ name }) => name)).toEqual(["a.txt", "folder"]);
  });

  test("FS-1 bytes that are given or read are copies, a Buffer's too", async () => {
    const files = await opened();
    const bytes = Buffer.from([1, 2, 3]);
    await files.write("bytes", bytes);
    bytes[0] = 9;
    (await files.readBytes("bytes"))[1] = 9;
    expect([...(await files.readBytes("bytes"))]).toEqual([1, 2, 3]);
  });

  test("FS-1 remove takes a file, or a folder with all in it; what is missing is told", async () => {
    const files = await opened();
    await files.write("folder2/c.txt", "c");
    await files.remove("folder");
    expect(await files.glob("**")).toEqual(["a.txt", "folder2/c.txt"]);
    expect(await faultOf(files.remove("folder"))).toBe("not_found");
    await files.remove("folder2/c.txt");
    expect(await files.exists("folder2")).toBe(true);
    expect(await files.list("folder2")).toEqual([]);
  });

  test("FS-1 mkdir makes folders, and one that is there stays", async () => {
    const files = await opened();
    await files.mkdir("x/y");
    await files.mkdir("folder");
    expect(await files.list("x")).toEqual([{ name: "y", kind: "directory", size: 0 }]);
    expect(await files.exists("folder/b.txt")).toBe(true);
  });
}
