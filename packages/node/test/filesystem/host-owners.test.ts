import { hostFilesystem } from "@proviso/node";
import { spawn } from "node:child_process";
import fs from "node:fs";
import { readFile, readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, inject, onTestFinished, test } from "vitest";
import { rejectionOf, thrownBy } from "../../../runtime/test/state/support.ts";
import { host, later } from "./host-support.ts";
import { leftBehind, logLine } from "./left-behind.ts";
import { undoFolder } from "./temporary.ts";
import { fromSources } from "../../../../scripts/from-sources.ts";

/** Begins a call in another process and stays in it. */
async function elsewhere(root: string): Promise<{ pid: number; kill(): Promise<void> }> {
  const code = `const files = (await import("@proviso/node")).hostFilesystem(process.argv[1]);
    globalThis.snapshot = await files.snapshot();
    await files.write("file.txt", "theirs");
    console.log("written");
    setInterval(() => {}, 1000);`;
  const options = [...fromSources, "--input-type=module", "-e", code, root];
  const cwd = join(import.meta.dirname, "../..");
  const child = spawn(process.execPath, options, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  later(kill);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return { pid: child.pid as number, kill };
}

/** The number is no process's: where the system does not tell one boot from another, that is what is asked. */
const nobody = {
  host: hostname(),
  boot: process.platform === "linux" ? "an earlier one" : "",
  space: "",
  pid: 2 ** 31 - 2,
  startedAt: "1",
};
const stranger = { host: "another machine", boot: "x", space: "y", pid: 1, startedAt: "1" };

test("FS-3 while one filesystem has something to undo, another of the same root changes nothing and says why", async () => {
  const { files, open, root } = await host();
  const other = open();
  const snapshot = await files.snapshot();
  await files.write("file.txt", "ours");
  for (const change of [other.write("x.txt", "x"), other.remove("folder"), other.mkdir("y"), open().write("z", "z")]) {
    expect(await rejectionOf(change)).toMatchObject({
      code: "filesystem",
      reason: "busy",
      message: expect.stringContaining(`process ${process.pid}`),
    });
  }
  expect((await other.read("file.txt")).text).toBe("ours");
  await files.release?.(snapshot);
  await other.write("x.txt", "x");
  expect((await readdir(root)).toSorted()).toEqual(["file.txt", "folder", "x.txt"]);
});

test("FS-3 the changes of a process that lives are let alone, and undone once it is killed", async () => {
  const { files, root } = await host();
  const there = await elsewhere(root);
  expect(await rejectionOf(files.write("x.txt", "x"))).toMatchObject({
    reason: "busy",
    message: expect.stringContaining(`process ${there.pid}`),
  });
  expect((await hostFilesystem(root).read("file.txt")).text).toBe("theirs");
  await there.kill();
  await files.write("x.txt", "x");
  expect((await files.read("file.txt")).text).toBe("inside");
  expect(await readdir(root)).not.toContain(undoFolder);
});

test("FS-3 a crash is undone when the root is opened, but not by a filesystem that only reads", async () => {
  const made = await host();
  await leftBehind(made, nobody);
  const readOnly = hostFilesystem(made.root, { readOnly: true });
  expect((await readOnly.read("file.txt")).text).toBe("inside");
  expect((await readOnly.list()).map(({ name }) => name)).toEqual(["file.txt", "folder"]);
  hostFilesystem(made.root);
  expect(await readFile(join(made.root, "file.txt"), "utf8")).toBe("before");
  expect(await readdir(made.root)).not.toContain(undoFolder);
});

test.each([
  ["is on another machine", stranger],
  ["is in another container", { ...nobody, host: "container", boot: "x" }],
  ["left no name", undefined],
  ["left nonsense", { host: 1 }],
])("FS-3 an owner that %s is not taken for dead without takeOver", async (_, owner) => {
  const made = await host();
  await leftBehind(made, owner);
  const files = made.open();
  expect((await files.read("file.txt")).text).toBe("inside");
  expect(await rejectionOf(files.write("x.txt", "x"))).toMatchObject({
    reason: "busy",
    message: expect.stringContaining("takeOver: true"),
  });
  made.open({ takeOver: true });
  expect((await files.read("file.txt")).text).toBe("before");
  await files.write("x.txt", "x");
});

test("FS-3 a process of the same number that began at another time is another one", async () => {
  const { files, root, open } = await host();
  const snapshot = await files.snapshot();
  await files.write("file.txt", "ours");
  const lock = join(root, undoFolder, "lock-1");
  const owner = JSON.parse(await readlink(lock)) as { pid: number; startedAt: string };
  expect(owner.pid).toBe(process.pid);
  await rm(lock);
  await symlink(JSON.stringify({ ...owner, startedAt: "1" }), lock);
  open();
  expect(await readFile(join(root, "file.txt"), "utf8")).toBe("inside");
  expect(snapshot).toBeDefined();
});

test.each([1, 3])("FS-3 a log of version %i is not read, and does no harm", async (proviso) => {
  const made = await host();
  await leftBehind(made, nobody);
  const log = join(made.root, undoFolder, "log");
  await writeFile(log, logLine({ proviso }) + logLine({ path: "file.txt", had: true, was: "1" }));
  const before = await made.everything();
  made.open({ takeOver: true });
  const error = await rejectionOf(made.files.write("x", "x"));
  expect(error).toMatchObject({ reason: "busy", message: expect.stringContaining("another version") });
  expect(await made.everything()).toEqual(before);
});

test("FS-3 a log that was cut off does no harm", async () => {
  const cut = await host();
  await leftBehind(cut, nobody);
  const log = join(cut.root, undoFolder, "log");
  await writeFile(log, (await readFile(log)).subarray(0, -3));
  cut.open();
  expect((await cut.files.read("file.txt")).text).toBe("inside");
  expect(await readdir(cut.root)).not.toContain(undoFolder);
});

test("FS-2 a forged log does not lead out of the root", async () => {
  const paths = ["../outside/file.txt", "/etc/hostname", "folder/../../outside/file.txt", ""];
  for (const [path, was] of [...paths.map((each) => [each, "1"]), ["file.txt", "../../outside/file.txt"]]) {
    const made = await host();
    const before = await made.outsideTree();
    await leftBehind(made, nobody, [{ path, had: true, was }]);
    try {
      hostFilesystem(made.root);
    } catch (error) {
      expect(error).toMatchObject({ code: "filesystem" });
    }
    expect(await made.outsideTree()).toEqual(before);
    expect((await made.files.read("file.txt")).text).toBe("inside");
  }
  const linked = await host();
  await leftBehind(linked, nobody, [{ path: "linked/file.txt", had: true, was: "1" }]);
  await symlink(linked.outside, join(linked.root, "linked"));
  expect(thrownBy(() => hostFilesystem(linked.root))).toMatchObject({ reason: "outside_root" });
  expect(await readFile(join(linked.outside, "file.txt"), "utf8")).toBe("secret");
});

test("FS-3 of processes that want to change the root at once, one after the other does, after what a dead one left", async () => {
  const made = await host();
  await leftBehind(made, nobody);
  const script = join(import.meta.dirname, "processes/writer.ts");
  const names = ["a", "b", "c", "d"];
  const calls = inject("exhaustive") ? 25 : 10;
  const ended = names.map((name) => {
    const options = [...fromSources, script, made.root, name, `${calls}`];
    const child = spawn(process.execPath, options, { stdio: ["ignore", "ignore", "inherit"] });
    return new Promise((resolve) => child.on("close", resolve));
  });
  expect(await Promise.all(ended)).toEqual([0, 0, 0, 0]);
  expect(await readFile(join(made.root, "file.txt"), "utf8")).toBe("before");
  for (const name of names) expect(await readdir(join(made.root, name))).toHaveLength((calls * 4) / 5);
  expect(await readdir(made.root)).not.toContain(undoFolder);
});

/** Calls the function once, before this process makes a link of that name. */
function beforeLink(name: string, act: () => void): void {
  const { symlinkSync } = fs;
  const restore = (): void => {
    fs.symlinkSync = symlinkSync;
    syncBuiltinESMExports();
  };
  fs.symlinkSync = (...given) => {
    if (String(given[1]).endsWith(name)) {
      restore();
      act();
    }
    symlinkSync(...given);
  };
  syncBuiltinESMExports();
  onTestFinished(restore);
}

test("FS-3 who takes a dead owner's place that was taken and left again meanwhile does not own the folder", async () => {
  // What the lock of a living owner says.
  const other = await host();
  const held = await other.files.snapshot();
  await other.files.write("file.txt", "ours");
  const living = await readlink(join(other.root, undoFolder, "lock-1"));
  await other.files.release?.(held);
  const made = await host();
  await leftBehind(made, nobody);
  const lock = join(made.root, undoFolder, "lock-1");
  beforeLink("lock-2", () => {
    fs.rmSync(lock);
    fs.symlinkSync(living, lock);
  });
  expect(await rejectionOf(made.files.write("x.txt", "x"))).toMatchObject({ code: "filesystem", reason: "busy" });
  expect((await readdir(join(made.root, undoFolder))).filter((name) => name.startsWith("lock-"))).toEqual(["lock-1"]);
  expect(await readdir(made.root)).not.toContain("x.txt");
});

test("FS-3 a lock that is left and made again while it is looked for is looked for again", async () => {
  const made = await host();
  await leftBehind(made, nobody);
  const lock = join(made.root, undoFolder, "lock-1");
  const owner = await readlink(lock);
  const { lstatSync } = fs;
  const replaced = fs as { lstatSync: typeof lstatSync };
  const restore = (): void => {
    replaced.lstatSync = lstatSync;
    syncBuiltinESMExports();
  };
  onTestFinished(restore);
  let looks = 0;
  replaced.lstatSync = ((...given: Parameters<typeof lstatSync>) => {
    if (!String(given[0]).endsWith("lock-1") || looks++ > 0) return lstatSync(...given);
    fs.rmSync(lock);
    const nothing = lstatSync(...given);
    fs.symlinkSync(owner, lock);
    return nothing;
  }) as typeof lstatSync;
  syncBuiltinESMExports();
  await made.files.write("x.txt", "x");
  expect(looks).toBeGreaterThan(1);
  expect((await made.files.read("x.txt")).text).toBe("x");
  expect((await made.files.read("file.txt")).text).toBe("before");
});

test("FS-3 a snapshot without references is forgotten, with what was kept for it", async () => {
  const { files, root } = await host();
  await (async () => {
    await files.snapshot({ savepoint: true });
    await files.write("file.txt", "x");
  })();
  expect(await readdir(root)).toContain(undoFolder);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let tries = 0; tries < 100 && (await readdir(root)).includes(undoFolder); tries++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(await readdir(root)).not.toContain(undoFolder);
  expect((await files.read("file.txt")).text).toBe("x");
});

test("FS-3 a process that ends with a savepoint leaves the tree as it is", async () => {
  const { root } = await host();
  const code = `const files = (await import("@proviso/node")).hostFilesystem(process.argv[1]);
    globalThis.savepoint = await files.snapshot({ savepoint: true });
    await files.write("file.txt", "theirs");`;
  const options = [...fromSources, "--input-type=module", "-e", code, root];
  const child = spawn(process.execPath, options, { cwd: join(import.meta.dirname, "../..") });
  await new Promise((resolve) => child.on("close", resolve));
  expect(await readdir(root)).toContain(undoFolder);
  hostFilesystem(root);
  expect(await readFile(join(root, "file.txt"), "utf8")).toBe("theirs");
  expect(await readdir(root)).not.toContain(undoFolder);
});
