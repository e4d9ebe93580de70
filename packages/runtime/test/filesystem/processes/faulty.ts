// node faulty.ts <folder> <code> <every> [forward]: opens a root that a dead process left, changes it and goes back, again and
// again; each time another call of the system, every so manyth, fails once. "forward": so that one can go forward again. Writes what went
// wrong, and how many calls there were.
import { FilesystemError, isSnapshotable } from "@proviso/core";
import fs, { mkdirSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import { leftBehind } from "../left-behind.ts";
import { digestOfFolder } from "../temporary.ts";

const [, , folder = "", code = "", every = "1", forward] = process.argv;
const nobody = { host: hostname(), boot: "an earlier one", space: "", pid: 1, startedAt: "1" };
const names =
  "renameSync linkSync unlinkSync mkdirSync rmdirSync symlinkSync writeFileSync writeSync fsyncSync ftruncateSync openSync readdirSync readSync fstatSync lstatSync statSync readlinkSync";
let [calls, failAt] = [0, 0];
for (const name of names.split(" ") as "renameSync"[]) {
  const call = fs[name];
  fs[name] = (...inputs) => {
    if (++calls === failAt) throw Object.assign(new Error(`${name}: ${code}`), { code, syscall: name });
    return call(...inputs);
  };
}
for (const name of ["fsync", "write", "read"] as "fsync"[]) {
  const call = fs[name] as (...inputs: unknown[]) => void;
  (fs as Record<string, unknown>)[name] = (...inputs: unknown[]) => {
    const answer = inputs.at(-1) as (error: Error) => void;
    if (++calls === failAt) return answer(Object.assign(new Error(`${name}: ${code}`), { code, syscall: name }));
    return call(...inputs);
  };
}
syncBuiltinESMExports();
// It takes these functions when it is imported.
const { hostFilesystem } = await import("@proviso/runtime/node");

const wrong: string[] = [];
/** @returns whether it went well. */
async function attempt(what: string, work: () => unknown): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof FilesystemError)) wrong.push(`${what}, call ${failAt}: ${String(error)}`);
    return false;
  }
}

for (let at = 1; calls < at ? at === 1 : calls >= failAt; at += Number(every)) {
  failAt = 0;
  const root = join(folder, `${at}`);
  mkdirSync(join(root, "folder"), { recursive: true });
  for (const name of ["file.txt", "a.txt", "folder/b.txt"]) writeFileSync(join(root, name), "now");
  await leftBehind({ root }, nobody);
  const before = [...(await digestOfFolder(root, [".proviso-undo"]))];
  [calls, failAt] = [0, at];
  let files = undefined as unknown as ReturnType<typeof hostFilesystem>;
  await attempt("open", () => (files = hostFilesystem(root)));
  files ??= hostFilesystem(root);
  if (!isSnapshotable(files)) throw new Error("It is not snapshotable.");
  const { snapshot, restore } = files;
  const taken = await snapshot();
  await attempt("write", () => files.write("a.txt", "new"));
  await attempt("write", () => files.write("new/c.txt", "new"));
  await attempt("remove", () => files.remove("folder"));
  await attempt("list", () => files.list());
  const changed = (await digestOfFolder(root, [".proviso-undo"])).join("\n");
  const newer = forward === undefined ? undefined : await snapshot({ savepoint: true });
  await attempt("restore", () => restore(taken));
  const reached = calls;
  failAt = 0;
  if (!(await attempt("restore again", () => restore(taken)))) wrong.push(`call ${at}: it cannot be undone`);
  if (newer !== undefined) {
    if (!(await attempt("forward", () => restore(newer)))) wrong.push(`call ${at}: it cannot go forward`);
    const now = (await digestOfFolder(root, [".proviso-undo"])).join("\n");
    if (now !== changed) wrong.push(`call ${at}: forward the tree is ${now}`);
    await restore(taken);
    await files.release?.(newer);
  }
  await files.release?.(taken);
  // What the dead process had changed is undone as well.
  before[before.findIndex((line) => line.startsWith("file.txt "))] = "";
  const after = (await digestOfFolder(root)).map((line) => (line.startsWith("file.txt ") ? "" : line));
  if (after.join("\n") !== before.join("\n")) wrong.push(`call ${at}: the tree is ${after.join(" | ")}`);
  if ((await files.read("file.txt")).text !== "before") wrong.push(`call ${at}: file.txt is not as before`);
  [calls, failAt] = [reached, at];
}
process.stdout.write(JSON.stringify({ calls, wrong }));
