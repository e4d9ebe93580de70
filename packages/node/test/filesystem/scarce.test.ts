import { isSnapshotable } from "@proviso/core";
import { hostFilesystem } from "@proviso/node";
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { rejectionOf } from "../../../runtime/test/state/support.ts";
import { host } from "./host-support.ts";
import { noDisk, smallDisk } from "./small-disk.ts";
import { digestOfFolder, undoFolder } from "./temporary.ts";
import { fromSources } from "../../../../scripts/from-sources.ts";

const disks = [
  ["50 files", "size=1m", 18_000],
  ["63 files", "size=1m", 14_000],
  ["126 files", "size=1m", 7_000],
  ["250 files", "size=1m", 4_000],
  ["one file that does not fit", "size=1m", 2_000_000],
  ["more files than the disk has numbers for", "size=8m,nr_inodes=200", 10],
] as const;

/** Writes until the disk takes no more. @returns how many files. */
async function fill(write: (name: string, content: string) => Promise<void>, size: number): Promise<number> {
  for (let count = 0; ; count++) {
    try {
      await write(`filler-${size}-${count}.txt`, "z".repeat(size));
    } catch {
      return count;
    }
  }
}

test.for(disks)(
  "FS-3 a call that fills the disk is undone on the full disk: %s",
  async ([, options, size], context) => {
    const root = smallDisk(options);
    if (root === undefined) return context.skip(noDisk);
    await writeFile(join(root, "keep.txt"), "kept");
    const before = await digestOfFolder(root);
    const files = hostFilesystem(root);
    if (!isSnapshotable(files)) throw new Error("It is not snapshotable.");
    const snapshot = await files.snapshot();
    await files.remove("keep.txt");
    for (const each of [size, 4_096, 1]) await fill(files.write, each);
    expect(await rejectionOf(files.write("more.txt", "z".repeat(8_192)))).toMatchObject({
      name: "FilesystemError",
      reason: "failed",
      path: "more.txt",
    });
    await files.restore(snapshot);
    await files.release?.(snapshot);
    expect(await digestOfFolder(root)).toEqual(before);
    await files.write("again.txt", "x");
  },
);

/** Going back so that one can go forward again takes a line in the log for each change: so many fit in what is set aside. */
const fewChanges = disks.filter(([name]) => /^(50|63|126) files/.test(name));
test.for(fewChanges)(
  "FS-3 a full disk does not keep a call from going back while a newer snapshot lives: %s",
  async ([, options, size], context) => {
    const root = smallDisk(options);
    if (root === undefined) return context.skip(noDisk);
    await writeFile(join(root, "keep.txt"), "kept");
    const before = await digestOfFolder(root);
    const files = hostFilesystem(root);
    if (!isSnapshotable(files)) throw new Error("It is not snapshotable.");
    const snapshot = await files.snapshot();
    await files.remove("keep.txt");
    for (const each of [size, 4_096, 1]) await fill(files.write, each);
    const newer = await files.snapshot({ savepoint: true });
    await files.restore(snapshot);
    expect(await digestOfFolder(root, [undoFolder])).toEqual(before);
    await files.release?.(newer);
    await files.release?.(snapshot);
    expect(await digestOfFolder(root)).toEqual(before);
  },
);

test("FS-3 a restore that a full disk stops halfway says what is not restored, and nothing is changed until it has ended", async (context) => {
  const root = smallDisk("size=4m");
  if (root === undefined) return context.skip(noDisk);
  const names = Array.from({ length: 200 }, (_, n) => `file-${n}-${"x".repeat(80)}.txt`);
  for (const name of names) await writeFile(join(root, name), "before");
  const before = await digestOfFolder(root);
  const files = hostFilesystem(root);
  if (!isSnapshotable(files)) throw new Error("It is not snapshotable.");
  const snapshot = await files.snapshot();
  for (const name of names) await files.write(name, "after");
  const newer = await files.snapshot({ savepoint: true });
  const after = await digestOfFolder(root, [undoFolder]);
  // Somebody else fills the disk.
  for (const size of [100_000, 4_096, 1]) await fill((name, content) => writeFile(join(root, name), content), size);
  const left = async (): Promise<readonly string[]> => {
    const contents = await Promise.all(names.map((name) => readFile(join(root, name), "utf8")));
    return names.filter((_, n) => contents[n] === "after");
  };

  const error = await rejectionOf(Promise.resolve(files.restore(snapshot)));
  const notRestored = await left();
  expect(notRestored.length).toBeGreaterThan(10);
  expect(notRestored.length).toBeLessThan(190);
  expect(error).toMatchObject({ name: "FilesystemError", reason: "failed" });
  expect(error.message).toContain(`${notRestored.length} paths are not restored:`);
  expect(error.message).toContain("ENOSPC");
  for (const name of /restored: (.*?) and/.exec(error.message)?.[1]?.split(", ") ?? ["none"]) {
    expect(notRestored).toContain(name);
  }
  const refused = await rejectionOf(files.write("more.txt", "more"));
  expect(refused.message).toContain("Nothing can be changed: earlier changes could not be undone");
  expect(refused.message).toContain("paths are not restored:");

  for (const name of readdirSync(root)) if (name.startsWith("filler")) await rm(join(root, name));
  await files.restore(snapshot);
  expect(await left()).toEqual([]);
  await files.restore(newer);
  expect(await digestOfFolder(root, [undoFolder])).toEqual(after);
  await files.restore(snapshot);
  await files.release?.(newer);
  await files.release?.(snapshot);
  expect(await digestOfFolder(root)).toEqual(before);
});

test("FS-3 a restore that a full disk refused ends once the newer snapshots are released", async (context) => {
  const root = smallDisk("size=1m");
  if (root === undefined) return context.skip(noDisk);
  await writeFile(join(root, "keep.txt"), "kept");
  const before = await digestOfFolder(root);
  const files = hostFilesystem(root);
  if (!isSnapshotable(files)) throw new Error("It is not snapshotable.");
  const snapshot = await files.snapshot();
  await files.remove("keep.txt");
  for (const size of [4_000, 1]) await fill(files.write, size);
  const newer = await files.snapshot({ savepoint: true });
  expect(await rejectionOf(Promise.resolve(files.restore(snapshot)))).toMatchObject({ reason: "failed" });
  await files.release?.(newer);
  await files.restore(snapshot);
  await files.release?.(snapshot);
  expect(await digestOfFolder(root)).toEqual(before);
});

/** A process each: the least of files, and what runs out of numbers for them. */
const some = inject("exhaustive") ? disks : [disks[0], disks[5]];
test.for(some)("FS-3 the next process undoes it on the still full disk: %s", async ([, options, size], context) => {
  const root = smallDisk(options);
  if (root === undefined) return context.skip(noDisk);
  await writeFile(join(root, "keep.txt"), "kept");
  const before = await digestOfFolder(root);
  expect(await ended(root, ["fill", `${size}`])).toMatchObject({ signal: "SIGKILL" });
  expect(await digestOfFolder(root)).not.toEqual(before);
  // Others take what is left.
  await fill((name, content) => writeFile(join(root, undoFolder, name), content), 4_096);
  await fill((name, content) => writeFile(join(root, undoFolder, name), content), 1);
  hostFilesystem(root);
  expect(await digestOfFolder(root)).toEqual(before);
});

/** Plays the script in a process of its own, with so many descriptors at most. */
function ended(root: string, inputs: readonly string[], descriptors = 1_024, name = "scarce.ts"): Promise<Ended> {
  const script = join(import.meta.dirname, "processes", name);
  const command = `ulimit -n ${descriptors} && exec "$0" "$@"`;
  const options = ["-c", command, process.execPath, ...fromSources, script, root, ...inputs];
  const child = spawn("/bin/sh", options, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (data: Buffer) => void (output += data.toString()));
  return new Promise((resolve) => child.on("close", (code, signal) => resolve({ output, code, signal })));
}
interface Ended {
  readonly output: string;
  readonly code: number | null;
  readonly signal: string | null;
}

test("FS-3 a call that used up the descriptors is undone without any", async () => {
  const { root, everything } = await host({ "keep.txt": "kept", "folder/a.txt": "a" });
  const before = await everything();
  expect(await ended(root, ["undo"], 120)).toEqual({ output: "FilesystemError", code: 0, signal: null });
  expect(await everything()).toEqual(before);
});

test.each([
  ["passes", 3, "undefined"],
  ["lasts for a while", 7, "failed"],
])("FS-3 a fault of the system that %s does not make a folder unusable", async (_, refusals, told) => {
  const { root, everything } = await host({ "keep.txt": "kept", "folder/a.txt": "a" });
  const before = await everything();
  expect(await ended(root, ["wait", `${refusals}`])).toEqual({ output: told, code: 0, signal: null });
  expect(await everything()).toEqual(before);
});

test.each(inject("exhaustive") ? [40, 6] : [6])(
  "FS-5 hundreds of readers at once need few descriptors: %i",
  async (descriptors) => {
    const files = Array.from({ length: 50 }, (_, n) => [`${n}.txt`, `first\n${"more\n".repeat(n)}`] as const);
    const { root } = await host({ ...Object.fromEntries(files), "file.txt": "first" });
    expect(await ended(root, ["read", `${descriptors}`], 120)).toEqual({ output: "0 0", code: 0, signal: null });
  },
);

const endings = ["back", "forward", "commit", "undone", "killed", "killedLater"];
/** Which calls fail (the first one, and every so manyth after it), with what, how many in a row, and how it ends. */
const all = [
  ...["EMFILE", "EIO", "ENOSPC"].flatMap((code) => endings.map((end) => [code, "1", end] as const)),
  ...["ENFILE", "EDQUOT", "EAGAIN", "EINTR", "EBUSY"].map((code, n) => [code, "1", endings[n] as string] as const),
  ...endings.map((end) => ["EMFILE", "3", end] as const),
  // What is released while undoing is stuck for so long is not durable yet: a process that dies then undoes it (FS-3).
  ...endings.filter((end) => end !== "undone").map((end) => ["EINTR", "40", end] as const),
].map(([code, times, end]) => [code, "1", "1", times, end] as const);
const slice = [
  // Where undoing again used to delete what it needed, and the journal stayed.
  ["EMFILE", "3", "9", "1", "forward"],
  ["EMFILE", "2", "37", "3", "back"],
  ["EIO", "3", "37", "1", "undone"],
  ["ENOSPC", "1", "37", "1", "killed"],
  ["EINTR", "4", "37", "40", "killedLater"],
] as const;
const more = [
  ["EMFILE", "2", "11", "1", "commit"],
  ["EIO", "5", "37", "1", "forward"],
] as const;

test.each<readonly string[]>(inject("exhaustive") ? [...all, ...slice, ...more] : slice)(
  "FS-6 FS-3 whichever call of the system fails with %s (from %s on, every %s), %s in a row, the error is a FilesystemError, the tree is as before or as after, and no journal is left: %s",
  async (...inputs) => {
    const { root } = await host();
    const { output } = await ended(root, inputs, 4_096, "faulty.ts");
    const { calls, faults, wrong } = JSON.parse(output) as { calls: number; faults: number; wrong: readonly string[] };
    expect(wrong).toEqual([]);
    expect(calls).toBeGreaterThan(200);
    // It ended behind the last call, not before.
    expect(faults).toBeGreaterThanOrEqual(Math.floor(calls / Number(inputs[2])));
  },
  300_000,
);
