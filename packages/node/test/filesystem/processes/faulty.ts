// node faulty.ts <folder> <code> <first> <every> <times> <end>: opens a root that a dead process left, changes it and
// ends it, again and again. Each time other calls of the system fail, so many in a row: from the `first` one on, then
// from one `every` so many calls later, until the fault lies behind the end. `end` is one of `endings`. Writes what went
// wrong, how many calls there are without a fault, and how often there was one.
import { FilesystemError, isSnapshotable, type Filesystem, type Snapshotable } from "@proviso/core";
import fs, { mkdirSync, readdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { hostname } from "node:os";
import { join } from "node:path";
import { leftBehind } from "../left-behind.ts";
import { digestOfFolder } from "../temporary.ts";

const [, , folder = "", code = "", first = "1", every = "1", times = "1", end = "back"] = process.argv;
/** The number is no process's: where the system does not tell one boot from another, that is what is asked. */
const nobody = {
  host: hostname(),
  boot: process.platform === "linux" ? "an earlier one" : "",
  space: "",
  pid: 2 ** 31 - 2,
  startedAt: "1",
};
const undoFolder = ".proviso-undo";
const names =
  "renameSync linkSync unlinkSync mkdirSync rmdirSync symlinkSync writeFileSync writeSync fsyncSync ftruncateSync openSync readdirSync readSync fstatSync lstatSync statSync readlinkSync accessSync fchmodSync";

/** Calls count while the one is true; of those the ones from `from` on fail, so many of them. */
let [counting, calls, from] = [false, 0, 0];
let failed: string[] = [];

function fails(name: string): boolean {
  if (!counting || ++calls < from || failed.length === Number(times)) return false;
  failed.push(name);
  return true;
}
const fault = (name: string): Error => Object.assign(new Error(`${name}: ${code}`), { code, syscall: name });

for (const name of names.split(" ") as "renameSync"[]) {
  const call = fs[name];
  fs[name] = (...inputs) => {
    if (fails(name)) throw fault(name);
    return call(...inputs);
  };
}
for (const name of ["fsync", "write", "read"] as "fsync"[]) {
  const call = fs[name] as (...inputs: unknown[]) => void;
  (fs as Record<string, unknown>)[name] = (...inputs: unknown[]) => {
    const answer = inputs.at(-1) as (error: Error) => void;
    if (fails(name)) return answer(fault(name));
    return call(...inputs);
  };
}
syncBuiltinESMExports();
// It takes these functions when it is imported.
const { hostFilesystem } = await import("@proviso/node");

const wrong: string[] = [];
function complain(what: string): void {
  wrong.push(`call ${from} (${failed.join(", ")}): ${what}`);
}

/** @returns whether it went well. */
async function attempt(what: string, work: () => unknown): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof FilesystemError)) complain(`${what}: ${String(error)}`);
    else if (!counting) complain(`${what} failed without a fault: ${error.message}`);
    return false;
  }
}

function uncounted(work: () => void): void {
  counting = false;
  work();
  counting = true;
}

type Undoable = Filesystem & Snapshotable;
/** Fails as often as the fault lasts. */
async function open(root: string): Promise<Undoable> {
  let files: Filesystem | undefined;
  for (let tries = 0; files === undefined && tries <= Number(times); tries++) {
    await attempt("open", () => (files = hostFilesystem(root)));
  }
  if (files === undefined || !isSnapshotable(files))
    throw new Error(`Call ${from} (${failed.join(", ")}): it cannot be opened.`);
  return files;
}

interface Changed {
  readonly root: string;
  readonly files: Undoable;
  readonly taken: unknown;
  /** The tree before the changes and after them; `own` without what is kept for undoing. */
  readonly before: string;
  readonly after: string;
  own(): Promise<string>;
}

/** As if the process had been killed: its lock is one of a dead process, and the next one opens the root. */
async function crash(root: string): Promise<void> {
  const store = join(root, undoFolder);
  for (const name of fs.existsSync(store) ? readdirSync(store) : []) {
    if (!name.startsWith("lock-")) continue;
    unlinkSync(join(store, name));
    symlinkSync(JSON.stringify(nobody), join(store, name));
  }
  hostFilesystem(root);
}

/** Of what undoing does, before it counts as stuck. */
const triesAtOnce = 5;

/** How what was begun ends: within the window of faults, and after it. @returns what the tree may be then. */
const endings: Record<string, (changed: Changed) => Promise<readonly string[]>> = {
  async back({ files, taken, before }) {
    await attempt("restore", () => files.restore(taken));
    counting = false;
    await attempt("restore again", () => files.restore(taken));
    await attempt("release", () => files.release?.(taken));
    return [before];
  },
  async forward({ files, taken, before, after, own }) {
    const newer = await files.snapshot({ savepoint: true });
    await attempt("restore", () => files.restore(taken));
    counting = false;
    await attempt("restore again", () => files.restore(taken));
    await attempt("forward", () => files.restore(newer));
    if ((await own()) !== after) complain(`forward the tree is ${await own()}`);
    await attempt("back", () => files.restore(taken));
    await attempt("release", () => files.release?.(newer));
    await attempt("release", () => files.release?.(taken));
    return [before];
  },
  /** Only the release is faulty at its end: what was changed stays. */
  async commit({ files, taken, after }) {
    await attempt("release", () => files.release?.(taken));
    counting = false;
    await attempt("read", () => files.exists("a.txt"));
    return [after];
  },
  async undone({ files, taken, before }) {
    await attempt("restore", () => files.restore(taken));
    await attempt("release", () => files.release?.(taken));
    counting = false;
    await attempt("read", () => files.exists("a.txt"));
    return [before];
  },
  async killed({ root, files, taken, before }) {
    await attempt("restore", () => files.restore(taken));
    counting = false;
    await crash(root);
    return [before];
  },
  async killedLater({ root, files, taken, before, after }) {
    const isReleased = await attempt("release", () => files.release?.(taken));
    counting = false;
    await crash(root);
    // What gets stuck for longer than it is tried again is let stay once it was undone: in another process, then.
    return isReleased && failed.length <= triesAtOnce ? [after] : [before, after];
  },
};

const changes: readonly { change(files: Filesystem): Promise<void>; plainly(root: string): void }[] = [
  {
    change: (files) => files.write("a.txt", "new"),
    plainly: (root) => uncounted(() => writeFileSync(join(root, "a.txt"), "new")),
  },
  {
    change: (files) => files.write("new/c.txt", "new"),
    plainly: (root) =>
      uncounted(() => {
        mkdirSync(join(root, "new"));
        writeFileSync(join(root, "new/c.txt"), "new");
      }),
  },
  {
    change: (files) => files.remove("folder"),
    plainly: (root) => uncounted(() => rmSync(join(root, "folder"), { recursive: true })),
  },
];

/** @returns whether the fault was reached. */
async function play(): Promise<boolean> {
  const [root, beside] = [join(folder, `${from}`), join(folder, `${from}-beside`)];
  for (const each of [root, beside]) {
    mkdirSync(join(each, "folder"), { recursive: true });
    for (const name of ["file.txt", "a.txt", "folder/b.txt"]) writeFileSync(join(each, name), "before");
  }
  const own = async (): Promise<string> => (await digestOfFolder(root, [undoFolder])).join("\n");
  const before = await own();
  // What the dead process had changed.
  writeFileSync(join(root, "file.txt"), "now");
  await leftBehind({ root }, nobody);
  [calls, failed, counting] = [0, [], true];
  const files = await open(root);
  await attempt("read", async () => {
    const { text } = await files.read("file.txt");
    if (text !== "before") complain("what the dead process left is not undone before it is read");
  });
  const taken = await files.snapshot();
  for (const { change, plainly } of changes) {
    // What went well is done beside it with nothing but the system.
    if (await attempt("change", () => change(files))) plainly(beside);
  }
  await attempt("list", () => files.list());
  const after = (await digestOfFolder(beside)).join("\n");
  const allowed = await endings[end]?.({ root, files, taken, before, after, own });
  counting = false;
  const tree = (await digestOfFolder(root)).join("\n");
  if (allowed?.includes(tree) !== true)
    complain(`the tree is ${[tree, ...(allowed ?? [])].join(" instead of ").replaceAll("\n", " | ")}`);
  return failed.length > 0;
}

let faults = 0;
for (from = Number(first); await play(); from += Number(every)) faults++;
// The last one had none.
process.stdout.write(JSON.stringify({ calls, faults, wrong }));
