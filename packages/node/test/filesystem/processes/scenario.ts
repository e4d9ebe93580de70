// What a process does until it is killed: calls, some of which fail, on one filesystem.
import type { Filesystem, Snapshotable } from "@proviso/core";

type Undoable = Filesystem & Snapshotable;
export interface Scenario {
  readonly files: Readonly<Record<string, string>>;
  /** Each leaves the tree as before or as after it, whenever the process dies. */
  readonly steps: readonly ((files: Undoable, savepoint: unknown) => Promise<void>)[];
}

const names = ["a.txt", "b.txt", "folder", "folder/c.txt", "folder/d.txt", "folder/inner/e.txt", "new/x/y.txt", "new"];

/** The same for the same seed. */
export function scenarioOf(seed: number): Scenario {
  const random = generator(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const change = (): ((files: Undoable) => Promise<void>) => {
    const [path, text] = [pick(names), "x".repeat(Math.floor(random() * 3_000))];
    const kind = pick(["write", "write", "write", "remove", "mkdir"] as const);
    return (files) => (kind === "write" ? files.write(path, text) : files[kind](path)).catch(() => {});
  };
  const call = (): Scenario["steps"][number] => {
    const [changes, fails] = [Array.from({ length: 4 }, change), random() < 0.4];
    const inner = random() < 0.3 ? Array.from({ length: 2 }, change) : undefined;
    return async (files) => {
      const snapshot = await files.snapshot();
      for (const each of changes.slice(0, 2)) await each(files);
      if (inner !== undefined) {
        const nested = await files.snapshot();
        for (const each of inner) await each(files);
        if (!fails) await files.restore(nested);
        await files.release?.(nested);
      }
      await Promise.all(changes.slice(2).map((each) => each(files)));
      if (fails) await files.restore(snapshot);
      await files.release?.(snapshot);
    };
  };
  const alone = change();
  const back: Scenario["steps"][number] = (files, savepoint) => Promise.resolve(files.restore(savepoint));
  return {
    files: { "a.txt": "a", "folder/c.txt": "c", "folder/inner/e.txt": "e", ".hidden": "h" },
    steps: [call(), call(), (files) => alone(files), call(), random() < 0.5 ? back : call()],
  };
}

/** A linear congruential generator, with the constants of Numerical Recipes. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
