import { isSnapshotable, type Filesystem, type Snapshotable } from "@proviso/core";
import { afterEach, describe, expect, test } from "vitest";
import { digestOf, fc } from "../../../runtime/test/state/support.ts";
import type { Opened, Tree } from "./conformance.ts";

/** Opens one that takes part in transactions; `digest` tells all there is to tell of it. */
export interface Undoable extends Opened {
  readonly filesystem: Filesystem & Snapshotable;
  digest(): Promise<unknown>;
}

export function undoable(
  { filesystem, close }: Opened,
  digest: () => Promise<unknown> = () => digestOf(filesystem),
): Undoable {
  if (!isSnapshotable(filesystem)) throw new Error("It is not snapshotable.");
  return { filesystem, close, digest };
}

export const tree: Tree = {
  "a.txt": "a",
  "folder/b.txt": "b",
  "folder/inner/c.bin": new Uint8Array([0, 255]),
  ".gitignore": "ignored\n",
  "ignored/d.txt": "d",
};

/** FS-3: what every filesystem that can be undone does alike. `runs` sequences of changes are compared with a plain model. */
export function describeSnapshots(name: string, runs: number, open: (files: Tree) => Promise<Undoable>): void {
  describe(`${name}, undone`, () => {
    const closing: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const close of closing.splice(0)) await close();
    });
    const opened = async (): Promise<Undoable> => {
      const made = await open(tree);
      closing.push(made.close);
      return made;
    };

    test.each(Object.entries(changes))("FS-3 %s is undone", async (_, change) => {
      const { filesystem, digest } = await opened();
      await filesystem.mkdir("empty");
      const before = await digest();
      const snapshot = await filesystem.snapshot();
      await change(filesystem);
      expect(await digest()).not.toEqual(before);
      await filesystem.restore(snapshot);
      expect(await digest()).toEqual(before);
      await filesystem.release?.(snapshot);
      expect(await digest()).toEqual(before);
    });

    test.each(Object.entries(changes))("FS-3 %s stays once its snapshot is released", async (_, change) => {
      const { filesystem, digest } = await opened();
      await filesystem.mkdir("empty");
      const snapshot = await filesystem.snapshot();
      await change(filesystem);
      const after = await digest();
      await filesystem.release?.(snapshot);
      expect(await digest()).toEqual(after);
    });

    test("FS-3 a snapshot can be restored again and again", async () => {
      const { filesystem, digest } = await opened();
      const before = await digest();
      const snapshot = await filesystem.snapshot();
      for (const change of Object.values(changes)) {
        await filesystem.mkdir("empty");
        await change(filesystem);
        await filesystem.restore(snapshot);
        expect(await digest()).toEqual(before);
        await filesystem.restore(snapshot);
        expect(await digest()).toEqual(before);
      }
    });

    test("FS-3 snapshots nest: the inner one is undone alone, or with the outer one", async () => {
      const { filesystem, digest } = await opened();
      const before = await digest();
      const outer = await filesystem.snapshot();
      await filesystem.write("a.txt", "outer");
      const between = await digest();
      const inner = await filesystem.snapshot();
      await filesystem.remove("a.txt");
      await filesystem.restore(inner);
      expect(await digest()).toEqual(between);
      await filesystem.release?.(inner);
      const second = await filesystem.snapshot();
      await filesystem.remove("folder");
      await filesystem.release?.(second);
      await filesystem.restore(outer);
      expect(await digest()).toEqual(before);
    });

    test("FS-3 after an older snapshot a newer one can be restored", async () => {
      const { filesystem, digest } = await opened();
      const older = await filesystem.snapshot({ savepoint: true });
      const before = await digest();
      await filesystem.remove("folder/inner");
      await filesystem.write("folder/inner", "a file now");
      await filesystem.write("a.txt", "changed");
      await filesystem.write("x/y.txt", "new");
      const newer = await filesystem.snapshot({ savepoint: true });
      const after = await digest();
      for (let times = 0; times < 3; times++) {
        await filesystem.restore(older);
        expect(await digest()).toEqual(before);
        await filesystem.restore(newer);
        expect(await digest()).toEqual(after);
      }
    });

    test("FS-3 calls that overlap are all undone, a write that is under way too", async () => {
      const { filesystem, digest } = await opened();
      const before = await digest();
      const snapshot = await filesystem.snapshot();
      const writes = Array.from({ length: 20 }, (_, n) => filesystem.write(`new/${n % 3}/${n % 7}.txt`, `${n}`));
      const others = [filesystem.remove("folder"), filesystem.mkdir("folder/again"), filesystem.write("a.txt", "x")];
      const restored = filesystem.restore(snapshot);
      await Promise.all([...writes, ...others, restored]);
      expect(await digest()).toEqual(before);
    });

    test("FS-3 any changes, snapshots, restores and releases give what a plain model gives", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
          const made = await open(tree);
          try {
            await run(made, steps);
          } finally {
            await made.close();
          }
        }),
        { numRuns: runs },
      );
      // It takes a few seconds; a disk that others use, too, much longer.
    }, 300_000);
  });
}

const changes: Readonly<Record<string, (files: Filesystem) => Promise<unknown>>> = {
  "a new file": (files) => files.write("new.txt", "new"),
  "a new file in new folders": (files) => files.write("x/y/z.txt", "new"),
  "a file written over": (files) => files.write("folder/inner/c.bin", new Uint8Array([1, 2, 3])),
  "a file written over many times": async (files) => {
    for (let n = 0; n < 5; n++) await files.write("a.txt", "n".repeat(n));
  },
  "an ignored file written over": (files) => files.write("ignored/d.txt", "other"),
  "a removed file": (files) => files.remove("folder/b.txt"),
  "a removed folder": (files) => files.remove("folder"),
  "a removed empty folder": (files) => files.remove("empty"),
  "everything removed": (files) => files.remove(""),
  "new folders": (files) => files.mkdir("folder/inner/1/2/3"),
  "a folder in a file's place": async (files) => {
    await files.remove("a.txt");
    await files.write("a.txt/inner.txt", "x");
  },
  "a file in a folder's place": async (files) => {
    await files.remove("folder");
    await files.write("folder", "x");
    await files.write("folder", "y");
  },
};

// ── against a model ─────────────────────────────────────────────────────────

interface Change {
  readonly do: "write" | "remove" | "mkdir";
  readonly path: string;
  readonly content: string;
}
export type Step =
  | Change
  | { readonly do: "snapshot"; readonly savepoint: boolean }
  | { readonly do: "restore" | "release"; readonly which: number }
  | { readonly do: "together"; readonly paths: readonly string[] };

const path = fc.array(fc.constantFrom("a", "a.txt"), { minLength: 1, maxLength: 2 }).map((names) => names.join("/"));
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("write" as const, "remove" as const, "mkdir" as const),
      path,
      content: fc.string(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("snapshot" as const), savepoint: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("restore" as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("release" as const), which: fc.nat(20) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("together" as const), paths: fc.array(path, { maxLength: 4 }) }),
  },
);

/** A snapshot, and what there was when it was taken. */
export interface Taken {
  readonly snapshot: unknown;
  readonly digest: unknown;
  readonly model: Model;
}

/** Takes the steps; `look` gets the snapshots and the model after each of them. */
export async function run(
  made: Undoable,
  steps: readonly Step[],
  look: (taken: readonly Taken[], model: Model) => void = () => {},
): Promise<void> {
  const { filesystem } = made;
  const taken: Taken[] = [];
  let model = modelOf(tree);
  for (const each of steps) {
    model = await take(made, each, model, taken);
    expect(await contentOf(filesystem)).toEqual(sorted(model));
    look(taken, model);
  }
  for (const { snapshot } of taken) await filesystem.release?.(snapshot);
  expect(await contentOf(filesystem)).toEqual(sorted(model));
}

/** Takes the step and gives the model as it is then. */
async function take({ filesystem, digest }: Undoable, each: Step, model: Model, taken: Taken[]): Promise<Model> {
  switch (each.do) {
    case "snapshot": {
      const snapshot = await filesystem.snapshot({ savepoint: each.savepoint });
      taken.push({ snapshot, digest: await digest(), model: new Map(model) });
      return model;
    }
    case "release": {
      const [one] = taken.splice(each.which % Math.max(1, taken.length), 1);
      const before = await digest();
      if (one !== undefined) await filesystem.release?.(one.snapshot);
      expect(await digest()).toEqual(before);
      return model;
    }
    case "restore": {
      const one = taken[each.which % Math.max(1, taken.length)];
      if (one === undefined) return model;
      await filesystem.restore(one.snapshot);
      expect(await digest()).toEqual(one.digest);
      return new Map(one.model);
    }
    case "together":
      for (const to of each.paths) applied(model, { do: "write", path: to, content: to });
      await Promise.all(each.paths.map((to) => filesystem.write(to, to).catch(() => {})));
      return model;
    case "write":
      expect(await works(filesystem.write(each.path, each.content))).toBe(applied(model, each));
      return model;
    case "remove":
    case "mkdir":
      expect(await works(filesystem[each.do](each.path))).toBe(applied(model, each));
      return model;
  }
}

function sorted(model: Model): Model {
  return new Map([...model].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

async function works(promise: Promise<void>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}

/** Paths and texts; null: a folder. */
export type Model = Map<string, string | null>;

function modelOf(files: Tree): Model {
  const model: Model = new Map();
  for (const [to, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : new TextDecoder().decode(content);
    applied(model, { do: "write", path: to, content: text });
  }
  return model;
}

/** Whether it can be done; done if so. */
function applied(model: Model, { do: what, path: to, content }: Change): boolean {
  const names = to.split("/");
  const above = names.slice(1).map((_, index) => names.slice(0, index + 1).join("/"));
  const folders = what === "mkdir" ? [...above, to] : above;
  if (what === "remove") {
    if (!model.has(to)) return false;
    for (const other of model.keys()) if (other === to || other.startsWith(`${to}/`)) model.delete(other);
    return true;
  }
  if (folders.some((folder) => typeof model.get(folder) === "string")) return false;
  if (what === "write" && model.get(to) === null) return false;
  for (const folder of folders) model.set(folder, null);
  if (what === "write") model.set(to, content);
  return true;
}

async function contentOf(files: Filesystem, folder = ""): Promise<Model> {
  const found: Model = new Map();
  for (const { name, kind } of await files.list(folder)) {
    const to = folder === "" ? name : `${folder}/${name}`;
    found.set(to, kind === "file" ? (await files.read(to)).text : null);
    if (kind === "directory") for (const [inner, text] of await contentOf(files, to)) found.set(inner, text);
  }
  return sorted(found);
}
