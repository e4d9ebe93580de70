import { hostFilesystem } from "@proviso/node";
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { rejectionOf, thrownBy } from "../../../runtime/test/state/support.ts";
import { host } from "./host-support.ts";
import { leftBehind } from "./left-behind.ts";
import { undoFolder } from "./temporary.ts";

const run = promisify(execFile);
/** The number is no process's: where the system does not tell one boot from another, that is what is asked. */
const nobody = {
  host: hostname(),
  boot: process.platform === "linux" ? "an earlier one" : "",
  space: "",
  pid: 2 ** 31 - 2,
  startedAt: "1",
};
const harmful = [
  { path: ".git", had: false, was: "2" },
  { path: "file.txt", had: true, was: "1" },
];

test.each([{ takeOver: false }, { takeOver: true }])(
  "FS-2 a folder for undoing that came with an archive undoes nothing, %o",
  async (options) => {
    const made = await host({ ".git/config": "x", "file.txt": "inside" });
    await leftBehind(made, nobody, harmful, { inode: "12345" });
    const before = await made.everything();
    const files = made.open(options);
    expect(await rejectionOf(files.write("x.txt", "x"))).toMatchObject({
      name: "FilesystemError",
      reason: "busy",
      message: expect.stringContaining("unpacked"),
    });
    expect((await files.read("file.txt")).text).toBe("inside");
    expect(await made.everything()).toEqual(before);
    await rm(join(made.root, undoFolder), { recursive: true });
    await files.write("x.txt", "x");
  },
);

test("FS-2 a copy of a folder with unfinished changes undoes nothing, also while the first one's owner lives", async () => {
  const { files, root, outside } = await host();
  const snapshot = await files.snapshot();
  await files.write("file.txt", "ours");
  const copy = join(outside, "copy");
  await cp(root, copy, { recursive: true, verbatimSymlinks: true });
  const copied = hostFilesystem(copy);
  expect(await rejectionOf(copied.write("x.txt", "x"))).toMatchObject({ message: expect.stringContaining("copied") });
  expect((await copied.read("file.txt")).text).toBe("ours");
  await files.restore(snapshot);
});

test("FS-3 a folder that is moved with its unfinished changes has them undone", async () => {
  const made = await host();
  await leftBehind(made, nobody);
  const moved = join(made.outside, "moved");
  await rename(made.root, moved);
  await mkdir(made.root);
  hostFilesystem(moved);
  expect(await readFile(join(moved, "file.txt"), "utf8")).toBe("before");
});

test("FS-3 where the disk has another number since, the changes are undone when that is asked for", async () => {
  const made = await host();
  await leftBehind(made, nobody, undefined, { device: "12345" });
  const files = made.open();
  expect(await rejectionOf(files.write("x.txt", "x"))).toMatchObject({
    reason: "busy",
    message: expect.stringContaining("takeOver: true"),
  });
  made.open({ takeOver: true });
  expect((await files.read("file.txt")).text).toBe("before");
});

test.each(["lock-1", "log"])("FS-2 a pipe in the place of %s is refused and not waited for", async (name) => {
  const made = await host();
  await mkdir(join(made.root, undoFolder));
  await run("mkfifo", [join(made.root, undoFolder, name)]);
  const before = await made.everything();
  for (const options of [{}, { takeOver: true }]) {
    expect(thrownBy(() => hostFilesystem(made.root, options))).toMatchObject({
      name: "FilesystemError",
      reason: "special_file",
    });
  }
  expect(await made.everything()).toEqual(before);
});

test.each(["log", ".gitignore", "reserve"])(
  "FS-2 a link in the place of %s in the folder for undoing is not written through",
  async (name) => {
    const made = await host();
    const before = await made.outsideTree();
    await mkdir(join(made.root, undoFolder));
    await symlink(join(made.outside, "file.txt"), join(made.root, undoFolder, name));
    await made.files.write("x.txt", "x").catch(() => {});
    expect(await made.outsideTree()).toEqual(before);
  },
);

test("FS-3 a lock of any size is read no further than one can be", async () => {
  const made = await host();
  await mkdir(join(made.root, undoFolder));
  await writeFile(join(made.root, undoFolder, "lock-1"), "[".repeat(1_000_000));
  expect(await rejectionOf(made.files.write("x.txt", "x"))).toMatchObject({ reason: "busy" });
  expect(await readdir(made.root)).toContain(undoFolder);
});
