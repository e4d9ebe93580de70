// node scarce.ts [--seeds N] [--from K]: evaluations over a folder of the machine's, on a disk that is full at times, in a
// process that has no descriptors left at times. From a seed: which files, which calls, and when the system refuses what.
// After every evaluation the folder has to hold what the calls that succeeded wrote, and nothing of the others.
import { definePrompt, defineTool, Filesystem, isEvaluationFailure, provide } from "@proviso/core";
import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { randomFrom, type Random } from "./random.ts";

/** What the system has too little of. */
type Scarce = "room" | "descriptors" | "patience" | undefined;
let scarce: Scarce;
/** The system refuses once so many calls that need it were let through. */
let letThrough = 0;
let open = 0;
let mostOpen = Infinity;

const refusal = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${code}: injected, ${syscall}`), { code, syscall });

/** What needs room: bytes that are added, and new names; taking away, moving and cutting need none. */
function needRoom(syscall: string): void {
  if (scarce === "room" && letThrough-- <= 0) throw refusal("ENOSPC", syscall);
}

/** From then on there are as many as are open at that moment. */
function needDescriptor(syscall: string): void {
  if (scarce === "descriptors" && letThrough-- <= 0 && mostOpen === Infinity) mostOpen = open;
  if (open >= mostOpen) throw refusal("EMFILE", syscall);
}

/** One call that goes well a moment later. */
function mayBeBusy(syscall: string): void {
  if (scarce !== "patience" || letThrough-- !== 0) return;
  throw refusal("EBUSY", syscall);
}

type Call = (...inputs: unknown[]) => unknown;
const calls = fs as unknown as Record<string, Call>;
function patched(name: string, before: (inputs: readonly unknown[]) => void, after: () => void = () => {}): void {
  const call = calls[name] as Call;
  calls[name] = (...inputs) => {
    before(inputs);
    const done = call(...inputs);
    after();
    return done;
  };
}
const creates = (flags: unknown): boolean => typeof flags === "number" && (flags & fs.constants.O_CREAT) !== 0;
for (const name of ["writeSync", "writeFileSync", "mkdirSync", "symlinkSync"]) patched(name, () => needRoom(name));
patched(
  "openSync",
  ([, flags]) => (creates(flags) ? needRoom("open") : undefined, needDescriptor("open")),
  () => void open++,
);
patched(
  "closeSync",
  () => {},
  () => void open--,
);
for (const name of ["readdirSync", "opendirSync"]) patched(name, () => needDescriptor(name));
const moves = ["renameSync", "linkSync", "unlinkSync", "rmdirSync", "ftruncateSync"];
for (const name of moves) patched(name, () => mayBeBusy(name));
const write = calls["write"] as Call;
calls["write"] = (...inputs) => {
  try {
    needRoom("write");
  } catch (error) {
    return setImmediate(inputs.at(-1) as (error: unknown) => void, error);
  }
  return write(...inputs);
};
syncBuiltinESMExports();
// They take these functions when they are imported.
const { hostFilesystem } = await import("@proviso/node");
const { createSession, modelAdapter } = await import("@proviso/runtime");
const { scriptedModel } = await import("@proviso/runtime/testing");

const step = z.object({ do: z.enum(["write", "remove", "list"]), path: z.string(), text: z.string() });
const work = z.object({ steps: z.array(step), fails: z.boolean(), after: z.number() });
type Work = z.infer<typeof work>;

const paths = ["a.txt", "b.txt", "d/a.txt", "d/b.txt", "d/e/c.txt", "f/g.txt", "d", "f"];

function randomWork(random: Random): Work {
  const steps = Array.from({ length: 1 + random.int(6) }, () => ({
    do: random.pick(["write", "write", "write", "remove", "list"] as const),
    path: random.pick(paths),
    text: "x".repeat(random.pick([1, 100, 40_000])),
  }));
  return { steps, fails: random.chance(0.3), after: random.int(random.pick([12, 80])) };
}

const relieve = (): void => {
  scarce = undefined;
  mostOpen = Infinity;
};

/** The tree as calls that go well make it. */
type Tree = ReadonlyMap<string, string>;

function treeIn(root: string): Tree {
  const found = readdirSync(root, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    const name = relative(root, path);
    if (name.startsWith(".proviso-undo")) return [];
    return [[name, statSync(path).isDirectory() ? "/" : readFileSync(path, "utf8")] as const];
  });
  return new Map(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const isSame = (a: Tree, b: Tree): boolean => JSON.stringify([...a]) === JSON.stringify([...b]);
const shown = (tree: Tree): string =>
  [...tree].map(([path, text]) => (text === "/" ? path : `${path} ${text.length}`)).join(", ");

/** @returns what went wrong. */
async function simulateOne(seed: number, root: string): Promise<string | undefined> {
  const random = randomFrom(seed);
  mkdirSync(join(root, "d"), { recursive: true });
  for (const path of ["a.txt", "d/a.txt"]) writeFileSync(join(root, path), `${path} before`);
  const files = hostFilesystem(root);
  let wrong: string | undefined;
  const giveUp = (error: unknown): void => {
    if ((error as { name?: string }).name !== "FilesystemError") wrong ??= `it is no FilesystemError: ${String(error)}`;
    // A handler may go on after a refusal.
    if (random.chance(0.6)) throw error;
  };
  let last = treeIn(root);
  const kind = random.pick<Scarce>(["room", "descriptors", "patience", undefined]);
  const tool = defineTool({
    name: "work",
    description: "Works.",
    input: work,
    async execute({ steps, fails, after }, { resources }) {
      const own = resources.get(Filesystem);
      [scarce, letThrough] = [kind, after];
      // A full disk stays full while the call is undone; descriptors of others may be free again, or not.
      if (kind === "descriptors" && random.chance(0.5)) setTimeout(relieve, 1);
      for (const { do: what, path, text } of steps) {
        if (what === "write") await own.write(path, text).catch(giveUp);
        else if (what === "remove") await own.remove(path).catch(giveUp);
        else await own.list().catch(giveUp);
      }
      if (fails) throw new Error("on purpose");
      return "worked";
    },
  });
  const session = createSession();
  session.on("tool.invoked", ({ result }) => {
    relieve();
    const now = treeIn(root);
    if (!result.success && !isSame(now, last))
      wrong ??= `after "${result.message}" the folder has ${shown(now)}; before it had ${shown(last)}`;
    last = now;
  });
  const prompt = definePrompt({ key: "scarce", sections: [{ key: "do", text: "Work.", tools: [tool] }] }).bind();
  const turns = Array.from({ length: 3 }, () => ({ toolCalls: [{ name: "work", arguments: randomWork(random) }] }));
  const adapter = modelAdapter(scriptedModel([...turns, { text: "done" }]));
  try {
    await adapter.evaluate(prompt, { session, resources: [provide(Filesystem, files)] });
  } catch (error) {
    relieve();
    if (!isEvaluationFailure(error)) return `a raw ${String(error)}`;
    return `it ends with ${error.code}: ${error.message}`;
  }
  relieve();
  if (wrong !== undefined) return wrong;
  // What could not be undone then is undone at the next use.
  await files.list();
  await files.write("next.txt", "next");
  const left = readdirSync(root).filter((name) => name.startsWith(".proviso-undo"));
  return left.length === 0 ? undefined : `${left.join(", ")} is left`;
}

const { values } = parseArgs({
  options: { seeds: { type: "string", default: "200" }, from: { type: "string", default: "1" } },
});
const from = Number(values.from);
const folder = mkdtempSync(join(tmpdir(), "proviso-scarce-"));
try {
  for (let seed = from; seed < from + Number(values.seeds); seed++) {
    const root = join(folder, String(seed));
    mkdirSync(root);
    const wrong = await simulateOne(seed, root).catch((error: unknown) => `it throws ${String(error)}`);
    relieve();
    rmSync(root, { recursive: true, force: true });
    if (wrong === undefined) continue;
    console.error(`simulate: seed ${seed}: FS-3 ${wrong}`);
    process.exitCode = 1;
    break;
  }
  if (process.exitCode === undefined) console.log(`simulate: ${values.seeds} seeds from ${from}, no violation`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
