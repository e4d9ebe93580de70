import { folderBlobs } from "@proviso/node";
import { spawn } from "node:child_process";
import { rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test, vi } from "vitest";
import { fromSources } from "../../../../scripts/from-sources.ts";
import { noDisk, smallDisk } from "../filesystem/small-disk.ts";
import { filesIn, folder, pathOf } from "./support.ts";

// Processes and a disk that others use, too.
vi.setConfig({ testTimeout: 300_000 });

const writer = join(import.meta.dirname, "processes/writer.ts");
const killer = join(import.meta.dirname, "../filesystem/processes/kill-at.mjs");

interface Ended {
  readonly lines: readonly string[];
  readonly signal: string | null;
}

/** Runs the writer to its end, or until its n-th change on disk kills it. */
function run(args: readonly (string | number)[], killAt = -1): Promise<Ended> {
  const child = spawn(process.execPath, [...fromSources, "--import", killer, writer, ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, KILL_AT: String(killAt) },
  });
  let output = "";
  child.stdout.on("data", (data: Buffer) => void (output += data.toString()));
  return new Promise((resolve) =>
    child.on("close", (_, signal) => resolve({ lines: output.split("\n").slice(0, -1), signal })),
  );
}

/** Runs another program to its end; what it prints is JSON. */
async function program(name: string, args: readonly string[]): Promise<unknown> {
  const script = join(import.meta.dirname, "processes", name);
  const child = spawn(process.execPath, [...fromSources, script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (data: Buffer) => void (output += data.toString()));
  await new Promise((resolve) => child.on("close", resolve));
  return JSON.parse(output);
}

test("BLOB-1 processes that put the same files at once keep each of them once, and whole", async () => {
  const root = join(await folder(), "blobs");
  const count = inject("exhaustive") ? 300 : 100;
  const writers = await Promise.all(Array.from({ length: 3 }, () => run([root, "put", count, 20_000])));
  const [first] = writers;
  expect(first?.lines).toHaveLength(count);
  for (const { lines } of writers) expect(lines).toEqual(first?.lines);
  const blobs = folderBlobs(root);
  for (const hash of first?.lines ?? []) expect((await blobs.get(hash))?.length).toBe(20_000);
  expect(filesIn(root)).toEqual([...new Set(first?.lines)].map(pathOf).toSorted());
});

test("BLOB-1 a process killed at any change of the disk leaves each name whole or not there", async () => {
  const put = [3, 2_500_000];
  const counted = await run([join(await folder(), "blobs"), "put", ...put], 0);
  const calls = Number(/calls (\d+)/.exec(counted.lines.join(" "))?.[1]);
  expect(calls).toBeGreaterThan(15);
  const hashes = counted.lines.slice(0, 3);
  const stride = inject("exhaustive") ? 1 : 14;
  for (let at = 1; at <= calls; at += stride) {
    const root = join(await folder(), "blobs");
    const { lines, signal } = await run([root, "put", ...put], at);
    expect(signal).toBe("SIGKILL");
    const blobs = folderBlobs(root);
    const found = await Promise.all(hashes.map((hash) => blobs.get(hash)));
    const there = found.map((bytes) => bytes?.length);
    expect(there.filter((length) => length !== undefined && length !== 2_500_000)).toEqual([]);
    // What was told as kept is there.
    expect(there.slice(0, lines.length)).toEqual(lines.map(() => 2_500_000));
    // The next process goes on as if nothing had been.
    expect((await run([root, "put", ...put])).lines).toEqual(hashes);
    expect(await Promise.all(hashes.map(async (hash) => (await blobs.get(hash))?.length))).toEqual(
      hashes.map(() => 2_500_000),
    );
    await rm(root, { recursive: true });
  }
}, 900_000);

test("BLOB-5 what another process puts right before a sweep takes it away stays, and is found meanwhile", async () => {
  const root = join(await folder(), "blobs");
  const { lines } = await run([root, "put", 1, 5_000]);
  const [hash = ""] = lines;
  const at = join(root, pathOf(hash));
  await utimes(at, 1, 1);
  // The sweep is stopped where it takes the file away, and where it gives it back; the writer runs meanwhile.
  const other = [...fromSources, writer, root];
  const swept = await program("race.ts", [root, JSON.stringify(other), hash]);
  expect(swept).toEqual({ put: `${hash}\n`, found: "5000\n", removed: 0 });
  expect((await folderBlobs(root).get(hash))?.length).toBe(5_000);
  expect(filesIn(root)).toEqual([pathOf(hash)]);
});

const disks = [
  ["a file that does not fit", "size=1m", 2_000_000],
  ["many files", "size=1m", 30_000],
  ["more files than the disk has numbers for", "size=8m,nr_inodes=120", 10],
] as const;
test.for(disks)(
  "BLOB-1 a full disk is an error of the store, and what was kept before is whole: %s",
  async ([, options, size], context) => {
    const root = smallDisk(options);
    if (root === undefined) return context.skip(noDisk);
    const { lines } = await run([join(root, "blobs"), "full", size]);
    const [reason, kept] = (lines[0] ?? "").split(" ");
    expect(reason).toBe("failed");
    expect(lines[1]).toBe(kept);
    expect(filesIn(root).filter((path) => path.endsWith(".new"))).toEqual([]);
    // A sweep makes room again.
    const blobs = folderBlobs(join(root, "blobs"));
    expect(await blobs.sweep({ keep: [], olderThanMs: 0 })).toBe(Number(kept) * size);
    if (size < 1_000_000) expect((await blobs.put(new Uint8Array(size))).bytes).toBe(size);
  },
);

test("BLOB-1 where the system refuses a write halfway, nothing of the file is left", async () => {
  const root = join(await folder(), "blobs");
  const { wrong, faults } = (await program("faulty.ts", [root])) as { wrong: readonly string[]; faults: number };
  expect(wrong).toEqual([]);
  expect(faults).toBeGreaterThan(30);
});
