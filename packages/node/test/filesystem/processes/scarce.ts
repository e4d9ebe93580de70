// node scarce.ts <root> fill | undo | wait | read: what a process does that has no room on the disk, no descriptors, or a
// system that refuses now and then.
import { isSnapshotable } from "@proviso/core";
import { hostFilesystem } from "@proviso/node";
import fs, { closeSync, openSync, readdirSync, writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [, , root = "", what = ""] = process.argv;
const files = hostFilesystem(root);
if (!isSnapshotable(files)) throw new Error("It is not snapshotable.");

/** Takes all descriptors but so many. */
function takeDescriptors(left: number): readonly number[] {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync("/dev/null", "r"));
  } catch {
    for (const fd of taken.splice(taken.length - left)) closeSync(fd);
    return taken;
  }
}

if (what === "fill") {
  const held = await files.snapshot();
  await files.remove("keep.txt");
  const size = Number(process.argv[4]);
  for (let n = 0; ; n++) {
    try {
      await files.write(`f${n}.txt`, "z".repeat(size));
    } catch {
      writeSync(1, `${n}\n`);
      process.kill(process.pid, held === undefined ? 0 : "SIGKILL");
    }
  }
}

if (what === "undo") {
  const snapshot = await files.snapshot();
  await files.write("folder/a.txt", "changed");
  await files.write("new/b.txt", "new");
  await files.remove("keep.txt");
  takeDescriptors(0);
  const refused = await files.write("c.txt", "c").catch((error: { name: string }) => error.name);
  await files.restore(snapshot);
  await files.release?.(snapshot);
  writeSync(1, String(refused));
}

if (what === "wait") {
  const snapshot = await files.snapshot();
  await files.write("folder/a.txt", "changed");
  await files.write("new/b.txt", "new");
  let refusals = 0;
  const { renameSync } = fs;
  fs.renameSync = (from, to) => {
    if (refusals++ < Number(process.argv[4])) throw Object.assign(new Error("EBUSY"), { code: "EBUSY" });
    renameSync(from, to);
  };
  syncBuiltinESMExports();
  const failed = await Promise.resolve(files.restore(snapshot)).catch((error: { reason: string }) => error.reason);
  await files.release?.(snapshot);
  writeSync(1, String(failed));
}

if (what === "read") {
  takeDescriptors(Number(process.argv[4]));
  const names = readdirSync(root);
  const all = [
    ...Array.from({ length: 300 }, (_, n) => files.read(names[n % names.length] as string)),
    ...Array.from({ length: 100 }, () => files.list()),
    ...Array.from({ length: 20 }, () => files.glob("**")),
    ...Array.from({ length: 20 }, () => files.grep("first")),
  ];
  const settled = await Promise.allSettled(all);
  const failed = settled.filter(({ status }) => status === "rejected");
  // Nothing is passed over for want of a descriptor.
  const lengths = settled.slice(400).map((one) => (one.status === "fulfilled" ? (one.value as unknown[]).length : 0));
  const short = lengths.filter((length) => length !== names.length);
  writeSync(1, `${failed.length} ${short.length}`);
}
