import { execFile, spawn } from "node:child_process";
import { mkdir, readFile, rename, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { rejectionOf } from "../../../runtime/test/state/support.ts";
import { host, later, type Undoable } from "./host-support.ts";

/** Every way of changing what is at the path. */
const changesAt = (files: Undoable, path: string) => [files.write(path, "x"), files.remove(path), files.mkdir(path)];

test("FS-2 nothing is changed through a link, at any component, or in place of one", async () => {
  const { files, root, outside, tree, outsideTree } = await host();
  await symlink(join(outside, "file.txt"), join(root, "link.txt"));
  await symlink(outside, join(root, "linked"));
  await symlink("../outside", join(root, "relative"));
  await symlink(join(outside, "folder"), join(root, "folder", "inner"));
  await symlink("file.txt", join(root, "within.txt"));
  await symlink("nowhere", join(root, "dangling"));
  await symlink("loop", join(root, "loop"));
  const before = [await tree(), await outsideTree()];
  const through = ["linked/file.txt", "linked/new.txt", "relative/file.txt", "linked/folder/x/y", "folder/inner/z"];
  for (const path of [...through, "link.txt", "linked", "within.txt", "dangling", "loop", "loop/x"]) {
    for (const change of changesAt(files, path)) {
      expect(await rejectionOf(change)).toMatchObject({ code: "filesystem", reason: "outside_root", path });
    }
  }
  expect([await tree(), await outsideTree()]).toEqual(before);
});

test("FS-2 a pipe, a socket and a device are not changed", async () => {
  const { files, root, tree } = await host();
  await promisify(execFile)("mkfifo", [join(root, "pipe")]);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(root, "socket"), resolve));
  later(() => new Promise((resolve) => server.close(() => resolve())));
  const before = await tree();
  for (const path of ["pipe", "socket", "pipe/x"]) {
    for (const change of changesAt(files, path)) {
      expect(await rejectionOf(change)).toMatchObject({ reason: "special_file" });
    }
  }
  expect(await tree()).toEqual(before);
});

test("FS-2 a link that comes after a change does not lead its undoing outside", async () => {
  const { files, root, outside, outsideTree } = await host();
  const before = await outsideTree();
  const snapshot = await files.snapshot();
  await files.write("folder/file.txt", "x");
  await files.write("folder/new.txt", "x");
  await files.remove("file.txt");
  await rename(join(root, "folder"), join(root, "kept"));
  await symlink(join(outside, "folder"), join(root, "folder"));
  await symlink(join(outside, "file.txt"), join(root, "file.txt"));
  expect(await rejectionOf(Promise.resolve(files.restore(snapshot)))).toMatchObject({ reason: "outside_root" });
  expect(await outsideTree()).toEqual(before);
});

/** Swaps each of these for a link to its twin outside and back, as fast as it can, in another process. */
async function swapping(root: string, outside: string, names: readonly string[]): Promise<() => Promise<number>> {
  const code = `const fs = require("node:fs");
    const [, root, outside, ...names] = process.argv;
    let swaps = 0;
    process.on("SIGTERM", () => { console.log(swaps); process.exit(); });
    const swap = () => {
      for (let n = 0; n < 50; n++) for (const name of names) {
        const inside = root + "/" + name;
        try {
          fs.renameSync(inside, inside + "-kept");
          fs.symlinkSync(outside + "/" + name, inside);
          swaps++;
          fs.unlinkSync(inside);
        } catch {}
        try { fs.renameSync(inside + "-kept", inside); } catch {}
      }
      setImmediate(swap);
    };
    console.log("begun");
    swap();`;
  const child = spawn(process.execPath, ["-e", code, root, outside, ...names], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // It would go on for ever after a test that failed.
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (data: Buffer) => void (output += data.toString()));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return async () => {
    child.kill("SIGTERM");
    await new Promise((resolve) => child.on("close", resolve));
    return Number(output.split("\n")[1]);
  };
}

test("FS-2 while folders and files are swapped for links, nothing outside is changed, nor read", async () => {
  const { files, root, outside, outsideTree } = await host();
  await mkdir(join(root, "folder", "deep"));
  await mkdir(join(outside, "folder", "deep"));
  const before = await outsideTree();
  const stop = await swapping(root, outside, ["folder", "file.txt"]);
  const seen: unknown[] = [];
  let worked = 0;
  const attempt = (promise: Promise<unknown>): Promise<void> =>
    promise.then(
      (value) => {
        worked++;
        seen.push(value instanceof Uint8Array ? Buffer.from(value).toString() : value);
      },
      (error: { code?: unknown }) => expect(error.code).toBe("filesystem"),
    );
  const until = Date.now() + (inject("exhaustive") ? 10_000 : 2_500);
  for (let round = 0; round < 100 && (round < 10 || Date.now() < until); round++) {
    const snapshot = await files.snapshot();
    await Promise.all([
      attempt(files.write("folder/file.txt", `inside ${round}`)),
      attempt(files.write(`folder/deep/${round}/new.txt`, "inside")),
      attempt(files.write("file.txt", "inside")),
      attempt(files.mkdir(`folder/made-${round}`)),
      attempt(files.readBytes("folder/file.txt")),
      attempt(files.read("file.txt")),
      attempt(files.list("folder")),
      attempt(files.grep("secret")),
    ]);
    await attempt(files.remove(round % 2 === 0 ? "folder/file.txt" : `folder/deep/${round}`));
    if (round % 3 === 0) await attempt(Promise.resolve(files.restore(snapshot)));
    await attempt(Promise.resolve(files.release?.(snapshot)));
  }
  expect(await stop()).toBeGreaterThan(100);
  expect(worked).toBeGreaterThan(20);
  expect(await outsideTree()).toEqual(before);
  expect(JSON.stringify(seen)).not.toContain("secret");
  expect(await readFile(join(outside, "file.txt"), "utf8")).toBe("secret");
}, 300_000);
