import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FilesystemError, NotSupportedError, type Filesystem } from "@proviso/core";
import { memoryFilesystem } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/runtime/node";
import { describe, expect, onTestFinished, test } from "vitest";

const files = { "a.txt": "one\ntwo\nthree\n", "b/c.ts": "let x;\n", "b/d/e.ts": "x = two;", "b/bin": "\0two" };

async function temporary(tree: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "files-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(tree)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

const makers = [
  ["memory", async (): Promise<Filesystem> => memoryFilesystem(files)],
  ["host", async (): Promise<Filesystem> => hostFilesystem(await temporary(files), { readOnly: true })],
] as const;
const reason = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no error",
    (error: unknown) => (error instanceof FilesystemError ? error.reason : error),
  );

describe.each(makers)("%s filesystem", (_, make) => {
  test("FS-1 paths are relative, stay below the root and have limits", async () => {
    const filesystem = await make();
    for (const path of ["/etc/passwd", "../x", "b/../../x", "a\0b", "x".repeat(256), Array(66).fill("d").join("/")]) {
      expect(await reason(filesystem.readBytes(path))).toBe("invalid_path");
      expect(await reason(filesystem.list(path))).toBe("invalid_path");
      expect(await reason(filesystem.write(path, ""))).toBe("invalid_path");
    }
    expect((await filesystem.read("./b//c.ts")).text).toBe("let x;\n");
  });

  test("FS-1 files are read whole, by lines and as bytes", async () => {
    const filesystem = await make();
    expect(await filesystem.read("a.txt")).toEqual({ text: files["a.txt"], totalLines: 3, truncated: false });
    expect(await filesystem.read("a.txt", { offset: 1, limit: 1 })).toEqual({
      text: "two",
      totalLines: 3,
      truncated: true,
    });
    expect(await filesystem.read("a.txt", { offset: 2, limit: 9 })).toEqual({
      text: "three",
      totalLines: 3,
      truncated: false,
    });
    expect([...(await filesystem.readBytes("b/bin"))]).toEqual([0, 116, 119, 111]);
    expect(await reason(filesystem.read("nope"))).toBe("not_found");
    expect(await reason(filesystem.read("b"))).toBe("not_a_file");
    expect(await reason(filesystem.read("a.txt/x"))).toBe("not_found");
  });

  test("FS-1 list, exists, glob and grep say the same", async () => {
    const filesystem = await make();
    expect(await filesystem.list()).toEqual([
      { name: "a.txt", kind: "file", size: 14 },
      { name: "b", kind: "directory", size: 0 },
    ]);
    expect((await filesystem.list("b")).map(({ name }) => name)).toEqual(["bin", "c.ts", "d"]);
    expect(await reason(filesystem.list("a.txt"))).toBe("not_a_directory");
    expect(await reason(filesystem.list("nope"))).toBe("not_found");
    expect([await filesystem.exists("b/d"), await filesystem.exists("b/x"), await filesystem.exists("")]).toEqual([
      true,
      false,
      true,
    ]);
    expect(await filesystem.glob("**/*.ts")).toEqual(["b/c.ts", "b/d/e.ts"]);
    expect(await filesystem.glob("{a,z}.t?t")).toEqual(["a.txt"]);
    expect(await filesystem.grep("two")).toEqual([
      { path: "a.txt", line: 2, text: "two" },
      { path: "b/d/e.ts", line: 1, text: "x = two;" },
    ]);
    expect(await filesystem.grep("two", { glob: "b/**", maxMatches: 1 })).toHaveLength(1);
    expect(await filesystem.grep(".*")).toEqual([]);
  });
});

test("FS-1 no writing over a folder, no file as a parent; folders are made and removed whole", async () => {
  const filesystem = memoryFilesystem(files);
  expect(await reason(filesystem.write("b", "x"))).toBe("not_a_file");
  expect(await reason(filesystem.write("a.txt/x", "x"))).toBe("not_a_directory");
  expect(await reason(filesystem.mkdir("a.txt"))).toBe("not_a_directory");
  await filesystem.write("new/deep/file", new Uint8Array([104, 105]));
  expect((await filesystem.read("new/deep/file")).text).toBe("hi");
  await filesystem.remove("b");
  expect(await filesystem.glob("**")).toEqual(["a.txt", "new/deep/file"]);
  expect(await reason(filesystem.remove("b"))).toBe("not_found");
});

test("FS-1 a host filesystem is read-only for now: writes are refused, and leaving readOnly out too", async () => {
  const root = await temporary(files);
  const filesystem = hostFilesystem(root, { readOnly: true });
  expect(await reason(filesystem.write("x", "x"))).toBe("read_only");
  expect(await reason(filesystem.remove("a.txt"))).toBe("read_only");
  expect(await reason(filesystem.mkdir("x"))).toBe("read_only");
  expect(() => hostFilesystem(root)).toThrow(NotSupportedError);
});

test("FS-2 no link leads out of the root, by whatever component, in list, glob or grep", async () => {
  const outside = await temporary({ "secret.txt": "secret", "in/secret.txt": "secret" });
  const root = await temporary({ "ok/a.txt": "fine" });
  await symlink(join(outside, "secret.txt"), join(root, "file"));
  await symlink(outside, join(root, "folder"));
  await symlink("ok", join(root, "inner"));
  await symlink(join(outside, "in"), join(root, "ok/deep"));
  const filesystem = hostFilesystem(root, { readOnly: true });
  for (const path of ["file", "folder/secret.txt", "ok/deep/secret.txt", "inner/a.txt"]) {
    expect(await reason(filesystem.readBytes(path))).toBe("outside_root");
  }
  expect(await reason(filesystem.list("folder"))).toBe("outside_root");
  expect((await filesystem.list()).map(({ name }) => name)).toEqual(["ok"]);
  expect(await filesystem.glob("**")).toEqual(["ok/a.txt"]);
  expect(await filesystem.grep("secret")).toEqual([]);
});

test("FS-2 a root that is itself a link is followed once", async () => {
  const root = await temporary(files);
  const link = `${root}-link`;
  await symlink(root, link);
  onTestFinished(() => rm(link));
  expect((await hostFilesystem(link, { readOnly: true }).read("a.txt")).totalLines).toBe(3);
});

test("FS-2 special files are refused without waiting for them", async () => {
  const root = await temporary(files);
  execFileSync("mkfifo", [join(root, "pipe")]);
  const filesystem = hostFilesystem(root, { readOnly: true });
  expect(await reason(filesystem.read("pipe"))).toBe("special_file");
  expect((await filesystem.list()).map(({ name }) => name)).toEqual(["a.txt", "b"]);
});

test("FS-2 a link swapped in meanwhile shows nothing from outside", async () => {
  const outside = await temporary({ "f.txt": "secret" });
  const root = await temporary({ "d/f.txt": "fine" });
  const filesystem = hostFilesystem(root, { readOnly: true });
  await symlink(outside, join(root, "link"));
  let stop = false;
  const swapping = (async () => {
    while (!stop) {
      await rename(join(root, "d"), join(root, "real"));
      await rename(join(root, "link"), join(root, "d"));
      await rename(join(root, "d"), join(root, "link"));
      await rename(join(root, "real"), join(root, "d"));
    }
  })();
  const seen = new Set<string>();
  for (let i = 0; i < 400; i++) {
    const read = await filesystem.read("d/f.txt").catch((error: unknown) => error);
    if (!(read instanceof FilesystemError)) seen.add((read as { text: string }).text);
    for (const { path, text } of await filesystem.grep("secret")) seen.add(`${path}: ${text}`);
  }
  stop = true;
  await swapping;
  expect([...seen].filter((text) => text.includes("secret"))).toEqual([]);
});
