import { hostFilesystem } from "@proviso/node";
import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { scenarioOf } from "./processes/scenario.ts";
import { digestOfFolder, temporaryFolder, undoFolder } from "./temporary.ts";
import { fromSources } from "../../../../scripts/from-sources.ts";

const script = join(import.meta.dirname, "processes/process.ts");
const killer = join(import.meta.dirname, "processes/kill-at.mjs");

interface Ended {
  readonly output: string;
  readonly signal: string | null;
}

/** Plays the scenario in another process, which is killed before its n-th change on disk, or after some milliseconds. */
function play(root: string, seed: number, steps: number, kill: { at?: number; afterMs?: number }): Promise<Ended> {
  const child = spawn(process.execPath, [...fromSources, "--import", killer, script, root, `${seed}`, `${steps}`], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, KILL_AT: `${kill.at ?? -1}` },
  });
  let output = "";
  child.stdout.on("data", (data: Buffer) => {
    output += data.toString();
    // Its time counts from the first step on.
    if (kill.afterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), kill.afterMs);
  });
  return new Promise((resolve) => child.on("close", (_, signal) => resolve({ output, signal })));
}

/** The tree before the first step, and after each. */
async function treesOf(seed: number): Promise<readonly (readonly string[])[]> {
  const { files, steps } = scenarioOf(seed);
  const { root, close } = await temporaryFolder(files);
  const trees = [await digestOfFolder(root)];
  const filesystem = hostFilesystem(root) as Parameters<(typeof steps)[number]>[0];
  const savepoint = await filesystem.snapshot({ savepoint: true });
  for (const step of steps) {
    await step(filesystem, savepoint);
    trees.push(await digestOfFolder(root, [undoFolder]));
  }
  await filesystem.release?.(savepoint);
  expect(await digestOfFolder(root)).toEqual(trees.at(-1));
  await close();
  return trees;
}

/** Kills the process in the midst of a scenario, opens the root again, and looks. @returns whether it was killed. */
async function killed(seed: number, trees: Trees, kill: Parameters<typeof play>[3], again?: number): Promise<boolean> {
  const { root, close } = await temporaryFolder(scenarioOf(seed).files);
  const { output, signal } = await play(root, seed, trees.length - 1, kill);
  // The one that undoes is killed too.
  if (again !== undefined) await play(root, seed, 0, { at: again });
  const opened = hostFilesystem(root);
  const tree = await digestOfFolder(root);
  const done = output.split("\n").filter((line) => /^\d+$/.test(line)).length;
  const allowed = trees.slice(done, done + 2).map((lines) => lines.join("\n"));
  expect(allowed, `seed ${seed}, ${JSON.stringify(kill)}, after step ${done}`).toContain(tree.join("\n"));
  // It can be used again.
  await opened.write("afterwards.txt", "x");
  expect(await readdir(root)).not.toContain(undoFolder);
  await close();
  return signal === "SIGKILL";
}
type Trees = Awaited<ReturnType<typeof treesOf>>;

/** A few at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const workers = Array.from({ length: 4 }, async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  });
  await Promise.all(workers);
}

const seeds = [1, 2, 3, 4];
const exhaustive = inject("exhaustive");
/** Of the points at which a process can be killed: every so manyth, another one for each seed. */
const stride = exhaustive ? 7 : 200;

test.each(seeds)(
  "FS-3 a process killed at any point leaves the tree as before or as after the call (%i)",
  async (seed) => {
    const trees = await treesOf(seed);
    const { root, close } = await temporaryFolder(scenarioOf(seed).files);
    const { output } = await play(root, seed, trees.length - 1, { at: 0 });
    await close();
    const calls = Number(/calls (\d+)/.exec(output)?.[1]);
    expect(calls).toBeGreaterThan(100);
    const points = Array.from({ length: calls }, (_, n) => n + 1).filter((n) => n % stride === seed);
    await each(points, async (at) => {
      expect(await killed(seed, trees, { at })).toBe(true);
    });
  },
  300_000,
);

test("FS-3 what calls and their undoing cost does not grow with the tree", async () => {
  const costs: number[] = [];
  for (const size of [0, 400]) {
    const more = Array.from({ length: size }, (_, n) => [`many/${n % 40}/${n}.txt`, "x"] as const);
    const { root, close } = await temporaryFolder({ ...scenarioOf(7).files, ...Object.fromEntries(more) });
    const { output } = await play(root, 7, 5, { at: 0 });
    costs.push(Number(/calls (\d+)/.exec(output)?.[1]));
    await close();
  }
  expect(costs[0]).toBeGreaterThan(100);
  expect(costs[1]).toBe(costs[0]);
});

test("FS-3 one killed at any moment does too", async () => {
  const seed = 5;
  const trees = await treesOf(seed);
  let kills = 0;
  await each(
    Array.from({ length: exhaustive ? 24 : 2 }, (_, n) => n * (exhaustive ? 1.5 : 18)),
    async (afterMs) => {
      if (await killed(seed, trees, { afterMs })) kills++;
    },
  );
  expect(kills).toBeGreaterThan(0);
}, 900_000);

test("FS-3 when the process that undoes is killed as well, the next one ends it", async () => {
  const seed = 6;
  const trees = await treesOf(seed);
  await each(
    Array.from({ length: exhaustive ? 20 : 2 }, (_, n) => (exhaustive ? n : 3 + n * 9)),
    async (n) => void (await killed(seed, trees, { at: 120 + n * 3 }, 1 + n)),
  );
}, 900_000);
