import { hostFilesystem } from "@proviso/node";
import { execFile } from "node:child_process";
import { chmod, link, lstat, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { rejectionOf, thrownBy } from "../../../runtime/test/state/support.ts";
import { host, type Undoable } from "./host-support.ts";
import { undoFolder } from "./temporary.ts";
import { fromSources } from "../../../../scripts/from-sources.ts";

const run = promisify(execFile);

test("FS-3 a file that is written over keeps its mode, and gets the very file back when that is undone", async () => {
  const { files, root, tree } = await host({ "script.sh": "old", "private.txt": "old" });
  await chmod(join(root, "script.sh"), 0o755);
  await chmod(join(root, "private.txt"), 0o600);
  const [before, { ino }] = [await tree(), await lstat(join(root, "script.sh"))];
  const snapshot = await files.snapshot();
  for (const path of ["script.sh", "private.txt"]) await files.write(path, "new");
  expect((await lstat(join(root, "script.sh"))).mode & 0o7777).toBe(0o755);
  expect((await lstat(join(root, "private.txt"))).mode & 0o7777).toBe(0o600);
  await files.restore(snapshot);
  expect(await tree()).toEqual(before);
  expect((await lstat(join(root, "script.sh"))).ino).toBe(ino);
});

test("FS-2 a write takes away the bits by which a program runs as its owner or group, and undoing gives them back", async () => {
  const { files, root, tree } = await host({ "user.sh": "old", "group.sh": "old", "sticky.sh": "old" });
  for (const [path, mode] of [
    ["user.sh", 0o4755],
    ["group.sh", 0o2755],
    ["sticky.sh", 0o1644],
  ] as const) {
    await chmod(join(root, path), mode);
  }
  const before = await tree();
  const snapshot = await files.snapshot();
  for (const path of ["user.sh", "group.sh", "sticky.sh"]) await files.write(path, "new");
  const modes = ["user.sh", "group.sh", "sticky.sh"].map(async (path) => (await lstat(join(root, path))).mode & 0o7777);
  expect(await Promise.all(modes)).toEqual([0o755, 0o755, 0o1644]);
  await files.restore(snapshot);
  expect(await tree()).toEqual(before);
});

test("FS-3 an undoing that got stuck is ended by whatever comes next, once it can be", async () => {
  const uses: readonly ((files: Undoable) => unknown)[] = [
    (files) => files.write("c.txt", "x"),
    (files) => files.read("b.txt"),
    (files) => files.snapshot(),
    (files) => files.glob("**"),
  ];
  for (const use of uses) {
    const { files, root, tree } = await host({ "folder/a.txt": "a", "b.txt": "b" });
    const before = await tree();
    const snapshot = await files.snapshot();
    await files.write("b.txt", "x");
    await files.write("folder/a.txt", "x");
    await rename(join(root, "folder"), join(root, "elsewhere"));
    expect(await rejectionOf(Promise.resolve(files.restore(snapshot)))).toMatchObject({ reason: "failed" });
    await files.release?.(snapshot);
    expect(await rejectionOf(files.write("c.txt", "x"))).toMatchObject({ reason: "failed" });
    await rename(join(root, "elsewhere"), join(root, "folder"));
    await use(files);
    expect((await tree()).filter((line) => !line.startsWith("c.txt "))).toEqual(before);
    // What was released meanwhile is forgotten.
    expect(await readdir(root)).not.toContain(undoFolder);
  }
});

test("FS-3 files of odd names, which no path reaches, are not shown, and come back when all is removed and undone", async () => {
  const { files, root, everything } = await host({ "a.txt": "text", "b:c.txt": "text", "d\\e": "text", "f.": "text" });
  const before = await everything();
  expect((await files.list()).map(({ name }) => name)).toEqual(["a.txt", "file.txt"]);
  expect(await files.glob("**")).toEqual(["a.txt", "file.txt"]);
  expect((await files.grep("text")).map(({ path }) => path)).toEqual(["a.txt"]);
  const snapshot = await files.snapshot();
  await files.remove("");
  expect(await readdir(root)).toEqual([undoFolder]);
  await files.restore(snapshot);
  expect(await everything()).toEqual(before);
});

test("FS-3 a removed folder comes back with its links, pipes, modes and odd names", async () => {
  const { files, root, everything, outside } = await host({ "folder/file.txt": "x", "folder/deep/inner.txt": "y" });
  const folder = join(root, "folder");
  await symlink(outside, join(folder, "link"));
  await run("mkfifo", [join(folder, "pipe")]);
  await writeFile(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]), "not UTF-8");
  await mkdir(join(folder, "closed"));
  await writeFile(join(folder, "closed/file.txt"), "z");
  await chmod(join(folder, "closed"), 0o500);
  await chmod(join(folder, "file.txt"), 0o000);
  const before = await everything();
  const snapshot = await files.snapshot();
  await files.remove("folder");
  await files.write("folder", "a file now");
  await files.restore(snapshot);
  expect(await everything()).toEqual(before);
  await files.remove("folder");
  await files.release?.(snapshot);
  expect(await readdir(root)).toEqual(["file.txt"]);
  expect(await readFile(join(outside, "file.txt"), "utf8")).toBe("secret");
});

test("FS-3 what others change where the call changed something goes as well, and elsewhere it stays", async () => {
  const { files, root, tree } = await host({ "a.txt": "a", "b.txt": "b", "c.txt": "c", "folder/d.txt": "d" });
  const before = await tree();
  const snapshot = await files.snapshot();
  await files.write("a.txt", "ours");
  await files.write("new/file.txt", "ours");
  await files.remove("b.txt");
  await files.remove("folder");
  await writeFile(join(root, "a.txt"), "theirs");
  await writeFile(join(root, "new/theirs.txt"), "theirs");
  await mkdir(join(root, "b.txt"));
  await writeFile(join(root, "folder"), "theirs");
  await files.restore(snapshot);
  expect(await tree()).toEqual(before);
  await files.write("a.txt", "ours");
  await writeFile(join(root, "c.txt"), "theirs");
  await files.restore(snapshot);
  expect(await readFile(join(root, "c.txt"), "utf8")).toBe("theirs");
  expect(await readFile(join(root, "a.txt"), "utf8")).toBe("a");
});

test("FS-3 what cannot be put back is reported, and can be tried again", async () => {
  const { files, root, tree } = await host({ "folder/a.txt": "a", "b.txt": "b" });
  const before = await tree();
  const snapshot = await files.snapshot();
  await files.write("b.txt", "x");
  await files.write("folder/a.txt", "x");
  await rename(join(root, "folder"), join(root, "elsewhere"));
  expect(await rejectionOf(Promise.resolve(files.restore(snapshot)))).toMatchObject({
    code: "filesystem",
    path: "folder/a.txt",
    message: expect.stringContaining("cannot be put back"),
  });
  // Nothing is built on what is half undone, and nothing of it is forgotten.
  expect(await rejectionOf(files.write("c.txt", "x"))).toMatchObject({ reason: "failed" });
  await files.release?.(snapshot);
  await rename(join(root, "elsewhere"), join(root, "folder"));
  await files.restore(snapshot);
  expect(await tree()).toEqual(before);
  await files.write("c.txt", "x");
});

test("FS-3 when what is kept for undoing was deleted, a restore says so", async () => {
  const { files, root } = await host();
  const snapshot = await files.snapshot();
  await files.write("file.txt", "x");
  await rm(join(root, undoFolder), { recursive: true });
  expect(await rejectionOf(Promise.resolve(files.restore(snapshot)))).toMatchObject({ code: "filesystem" });
});

test("FS-3 a snapshot touches nothing, and what is kept for undoing is there only while it is needed", async () => {
  const { files, root } = await host();
  const names = await readdir(root);
  const snapshot = files.snapshot();
  expect(snapshot).not.toBeInstanceOf(Promise);
  expect(await readdir(root)).toEqual(names);
  await files.write("file.txt", "x");
  expect(await readdir(root)).toEqual([undoFolder, ...names]);
  expect((await lstat(join(root, undoFolder))).mode & 0o777).toBe(0o700);
  expect(await readFile(join(root, undoFolder, ".gitignore"), "utf8")).toBe("*\n");
  await files.restore(snapshot);
  expect(await readdir(root)).toEqual(names);
  await files.write("file.txt", "x");
  await files.release?.(snapshot);
  expect(await readdir(root)).toEqual(names);
  await files.write("file.txt", "alone");
  expect(await readdir(root)).toEqual(names);
});

test("FS-3 what a failing change had begun is undone, and nothing is left of a refused one", async () => {
  const { files, root, everything } = await host({ "a.txt": "a" });
  const before = await everything();
  for (const change of [
    files.write("a.txt/b", "x"),
    files.write("", "x"),
    files.remove("none"),
    files.mkdir("a.txt"),
    files.write("x/../y", "x"),
  ]) {
    await rejectionOf(change);
  }
  expect(await everything()).toEqual(before);
  expect(await readdir(root)).not.toContain(undoFolder);
});

test("FS-3 a snapshot of another filesystem, or a released one, is not restored", async () => {
  const { files, open } = await host();
  const snapshot = await files.snapshot();
  const other = await open().snapshot();
  await files.release?.(snapshot);
  await files.release?.(snapshot);
  for (const no of [snapshot, other, {}]) {
    expect(await rejectionOf(Promise.resolve(files.restore(no)))).toMatchObject({ reason: "failed" });
  }
});

test("FS-3 a write replaces a file and leaves another name of it, outside the root too, as it was", async () => {
  const { files, root, outside } = await host();
  await link(join(outside, "file.txt"), join(root, "linked.txt"));
  await files.write("linked.txt", "changed");
  expect(await readFile(join(outside, "file.txt"), "utf8")).toBe("secret");
});

test("FS-3 a file that must not be written to is refused", async () => {
  const { files, root } = await host();
  await chmod(join(root, "file.txt"), 0o444);
  for (const folder of [root, join(root, "..")]) await chmod(folder, 0o777);
  const code = `process.setuid?.(65534); const files = (await import("@proviso/node")).hostFilesystem(process.argv[1]);
    await files.write("file.txt", "x").catch((error) => console.log(error.reason, error.path));
    await files.write("new.txt", "x").then(() => console.log("written"));`;
  const runtime = join(import.meta.dirname, "../..");
  const options = [...fromSources, "--input-type=module", "-e", code, root];
  const { stdout } = await run(process.execPath, options, { cwd: runtime });
  expect(stdout).toBe("failed file.txt\nwritten\n");
  expect((await files.read("file.txt")).text).toBe("inside");
});

test("FS-3 large contents are written whole", async () => {
  const { files } = await host();
  const content = new Uint8Array(5 * 1024 * 1024 + 3).map((_, index) => index % 251);
  const snapshot = await files.snapshot();
  await files.write("large.bin", content);
  expect(Buffer.compare(await files.readBytes("large.bin"), content)).toBe(0);
  await files.restore(snapshot);
  expect(await files.exists("large.bin")).toBe(false);
});

test("FS-1 a file where the folder for undoing has to be is reported", async () => {
  const { files, root } = await host({ [undoFolder]: "somebody's own" });
  expect(await rejectionOf(files.write("x.txt", "x"))).toMatchObject({ reason: "failed", path: undoFolder });
  expect((await files.list()).map(({ name }) => name)).toEqual(["file.txt"]);
  expect(await readFile(join(root, undoFolder), "utf8")).toBe("somebody's own");
});

test("FS-2 a link where the folder for undoing has to be is refused, and nothing goes through it", async () => {
  const { root, outside, outsideTree } = await host();
  const before = await outsideTree();
  await symlink(outside, join(root, undoFolder));
  expect(thrownBy(() => hostFilesystem(root))).toMatchObject({ reason: "outside_root" });
  expect((await hostFilesystem(root, { readOnly: true }).list()).map(({ name }) => name)).toEqual([
    "file.txt",
    "folder",
  ]);
  expect(await outsideTree()).toEqual(before);
});
