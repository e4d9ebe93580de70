import type { Filesystem } from "@proviso/core";
import { hostFilesystem } from "@proviso/node";
import { execFile } from "node:child_process";
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, inject, test } from "vitest";
import { rejectionOf } from "../../../runtime/test/state/support.ts";
import { temporaryFolder } from "./temporary.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A root with a file and a folder, and beside it what must not be seen. */
async function open(): Promise<{ files: Filesystem; root: string; outside: string }> {
  const { root: top, close } = await temporaryFolder({
    "root/file.txt": "inside",
    "root/folder/file.txt": "inside",
    "outside/file.txt": "secret",
    "outside/folder/file.txt": "secret",
  });
  closing.push(close);
  const root = join(top, "root");
  return { files: hostFilesystem(root, { readOnly: true }), root, outside: join(top, "outside") };
}

/** What every way of looking at the path rejects with. */
function rejections(files: Filesystem, path: string): Promise<readonly Error[]> {
  const attempts = [files.read(path), files.readBytes(path), files.list(path), files.exists(path)];
  return Promise.all(attempts.map(rejectionOf));
}

test("FS-2 every write is refused as read_only and changes nothing", async () => {
  const { files, root } = await open();
  const attempts = [
    files.write("file.txt", "x"),
    files.write("new.txt", "x"),
    files.remove("file.txt"),
    files.mkdir("n"),
  ];
  for (const error of await Promise.all(attempts.map(rejectionOf)))
    expect(error).toMatchObject({ reason: "read_only" });
  expect(await readFile(join(root, "file.txt"), "utf8")).toBe("inside");
  expect((await files.list()).map(({ name }) => name)).toEqual(["file.txt", "folder"]);
});

test("FS-2 a link is refused at every component, by whatever it leads to", async () => {
  const { files, root, outside } = await open();
  await symlink(join(outside, "file.txt"), join(root, "link.txt"));
  await symlink(outside, join(root, "linked"));
  await symlink("../outside", join(root, "relative"));
  await symlink(join(outside, "folder"), join(root, "folder", "inner"));
  await symlink("file.txt", join(root, "within.txt"));
  await symlink("nowhere", join(root, "dangling"));
  await symlink("loop", join(root, "loop"));
  const paths = ["link.txt", "linked/file.txt", "relative/file.txt", "linked/folder/file.txt", "folder/inner/file.txt"];
  for (const path of [...paths, "linked", "within.txt", "dangling", "loop"]) {
    for (const error of await rejections(files, path)) {
      expect(error).toMatchObject({ code: "filesystem", reason: "outside_root", path });
    }
  }
});

test("FS-2 links are passed over in list, glob and grep", async () => {
  const { files, root, outside } = await open();
  await symlink(join(outside, "file.txt"), join(root, "link.txt"));
  await symlink(outside, join(root, "linked"));
  await symlink(root, join(root, "folder", "up"));
  expect((await files.list()).map(({ name }) => name)).toEqual(["file.txt", "folder"]);
  expect(await files.list("folder")).toHaveLength(1);
  for (const pattern of ["**", "*/*", "linked/**", "**/*.txt"]) {
    for (const path of await files.glob(pattern)) expect(["file.txt", "folder/file.txt"]).toContain(path);
  }
  expect(await files.grep("secret")).toEqual([]);
  expect(await files.grep("inside")).toHaveLength(2);
});

test("FS-2 a root that is a link itself, or has one above it, is fine", async () => {
  const { root } = await open();
  await symlink(root, `${root}-link`);
  const files = hostFilesystem(`${root}-link`, { readOnly: true });
  expect((await files.read("folder/file.txt")).text).toBe("inside");
  expect(await files.glob("**")).toEqual(["file.txt", "folder/file.txt"]);
});

test("FS-2 a relative root is that of the moment it was given", async () => {
  const { root } = await open();
  const before = process.cwd();
  try {
    process.chdir(root);
    const files = hostFilesystem("folder", { readOnly: true });
    process.chdir(before);
    expect((await files.read("file.txt")).text).toBe("inside");
  } finally {
    process.chdir(before);
  }
});

test("FS-2 a root that is missing is reported as not found", async () => {
  const { root } = await open();
  const files = hostFilesystem(join(root, "none"), { readOnly: true });
  expect(await rejectionOf(files.list())).toMatchObject({ reason: "not_found" });
});

test("FS-2 pipes and sockets are refused without waiting for them, and passed over in list, glob and grep", async () => {
  const { files, root } = await open();
  await promisify(execFile)("mkfifo", [join(root, "pipe")]);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(root, "socket"), resolve));
  closing.push(() => new Promise((resolve) => server.close(() => resolve())));
  for (const path of ["pipe", "socket"]) {
    for (const error of await rejections(files, path)) expect(error).toMatchObject({ reason: "special_file" });
  }
  expect((await files.list()).map(({ name }) => name)).toEqual(["file.txt", "folder"]);
  expect(await files.glob("**")).toEqual(["file.txt", "folder/file.txt"]);
  expect(await files.grep("inside")).toHaveLength(2);
});

test("FS-2 a file deeper than paths go does not end a search", async () => {
  const { files, root } = await open();
  const deep = join(root, ...Array.from({ length: 66 }, () => "d"));
  await mkdir(deep, { recursive: true });
  for (const folder of [deep, join(deep, ".."), join(deep, "..", "..")])
    await writeFile(join(folder, "x.txt"), "inside");
  expect(await files.glob("**")).toEqual(["file.txt", "folder/file.txt"]);
  expect(await files.grep("inside")).toHaveLength(2);
});

/** Swaps one component for a link to the outside and back while `look` runs again and again. */
async function whileSwapping(inside: string, outside: string, look: () => Promise<unknown>): Promise<string> {
  const [kept, link] = [`${inside}-kept`, `${inside}-link`];
  let over = false;
  const swapping = (async () => {
    while (!over) {
      await symlink(outside, link);
      await rename(inside, kept);
      await rename(link, inside);
      await rm(inside);
      await rename(kept, inside);
    }
  })();
  const seen: unknown[] = [];
  for (let i = 0; i < (inject("exhaustive") ? 150 : 50); i++) {
    seen.push(await look().catch((error: { code?: unknown; message?: unknown }) => [error.code, error.message]));
  }
  over = true;
  await swapping;
  return JSON.stringify(seen);
}

test("FS-2 a link that is swapped in meanwhile, for a folder or a file, shows nothing from outside", async () => {
  const { files, root, outside } = await open();
  await writeFile(join(outside, "folder", "only-outside.txt"), "secret");
  const look = async () => {
    const looks = [
      files.read("folder/file.txt"),
      files.readBytes("folder/file.txt").then((bytes) => new TextDecoder().decode(bytes)),
      files.list("folder"),
      files.glob("**"),
      files.grep("secret"),
    ];
    return (await Promise.allSettled(looks)).map((outcome) =>
      outcome.status === "fulfilled" ? outcome.value : [outcome.reason.code, outcome.reason.message],
    );
  };
  const folders = await whileSwapping(join(root, "folder"), join(outside, "folder"), look);
  const single = await whileSwapping(join(root, "folder", "file.txt"), join(outside, "file.txt"), look);
  for (const seen of [folders, single]) {
    for (const never of ["secret", "only-outside", "[null,"]) expect(seen.includes(never)).toBe(false);
  }
  expect(JSON.stringify(await look())).toContain("inside");
});
