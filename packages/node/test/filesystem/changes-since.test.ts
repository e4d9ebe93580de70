import type { ResourceChange } from "@proviso/core";
import { hostFilesystem } from "@proviso/node";
import { memoryFilesystem } from "@proviso/runtime";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { fc } from "../../../runtime/test/state/support.ts";
import type { Tree } from "./conformance.ts";
import { later } from "./host-support.ts";
import { run, step, tree, undoable, type Model, type Undoable } from "./snapshots.ts";
import { temporaryFolder } from "./temporary.ts";

const runs = inject("exhaustive") ? 200 : 25;
const bytes = (text: string): number => new TextEncoder().encode(text).length;

/** What a comparison finds: files by their content, and folders that are new or gone and have nothing in them. */
function compared(before: Model, after: Model): readonly ResourceChange[] {
  const found: ResourceChange[] = [];
  const isEmpty = (model: Model, path: string) => ![...model.keys()].some((other) => other.startsWith(`${path}/`));
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(path), after.get(path)];
    if (typeof was === "string" && typeof is === "string") {
      if (was !== is) found.push({ path, kind: "changed", before: bytes(was), after: bytes(is) });
      continue;
    }
    if (typeof was === "string") found.push({ path, kind: "removed", before: bytes(was) });
    if (typeof is === "string") found.push({ path, kind: "added", after: bytes(is) });
    if (was === null && is !== null && isEmpty(before, path)) found.push({ path: `${path}/`, kind: "removed" });
    if (is === null && was !== null && isEmpty(after, path)) found.push({ path: `${path}/`, kind: "added" });
  }
  return inOrder(found);
}

function inOrder(changes: readonly ResourceChange[] = []): readonly ResourceChange[] {
  return changes.toSorted((a, b) => `${a.path} ${a.kind}`.localeCompare(`${b.path} ${b.kind}`));
}

const kinds: Readonly<Record<string, (files: Tree) => Promise<Undoable>>> = {
  memoryFilesystem: async (files) => undoable({ filesystem: memoryFilesystem(files), close: async () => {} }),
  async hostFilesystem(files) {
    const { root, close } = await temporaryFolder(files);
    return undoable({ filesystem: hostFilesystem(root), close });
  },
};

describe.each(Object.entries(kinds))("%s", (_, open) => {
  test("OBS-9 what it says of any changes is what a comparison of the tree before and after finds", async () => {
    let counted = 0;
    const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const made = await open(tree);
      try {
        await run(made, steps, (taken, model) => {
          for (const { snapshot, model: before } of taken) {
            const changes = made.filesystem.changesSince?.(snapshot);
            expect(inOrder(changes)).toEqual(compared(before, model));
            counted += changes?.length ?? 0;
          }
        });
      } finally {
        await made.close();
      }
    });
    await fc.assert(property, { numRuns: runs });
    expect(counted).toBeGreaterThan(runs);
  }, 300_000);

  test("OBS-9 more than 1,000 changes are 999 and one of path …", async () => {
    const files = Object.fromEntries(Array.from({ length: 1001 }, (_unused, n) => [`all/${n}.txt`, "x"]));
    const { filesystem, close } = await open(files);
    later(close);
    await filesystem.remove("all/1000.txt");
    const snapshot = await filesystem.snapshot();
    await filesystem.remove("all");
    const thousand = filesystem.changesSince?.(snapshot) ?? [];
    expect(thousand).toHaveLength(1000);
    expect(thousand.at(-1)).toEqual({ path: "all/999.txt", kind: "removed", before: 1 });
    await filesystem.write("one more.txt", "x");
    const more = filesystem.changesSince?.(snapshot) ?? [];
    expect(more).toEqual([...thousand.slice(0, 999), { path: "…", kind: "changed" }]);
    await filesystem.release?.(snapshot);
  });

  test("OBS-9 a file of the same length with one other byte has changed, one with the same bytes has not", async () => {
    const { filesystem, close } = await open({ "a.bin": "x".repeat(200_000), "b.bin": "x".repeat(200_000) });
    later(close);
    const snapshot = await filesystem.snapshot();
    await filesystem.write("a.bin", "x".repeat(200_000));
    await filesystem.write("b.bin", `${"x".repeat(199_999)}y`);
    expect(filesystem.changesSince?.(snapshot)).toEqual([
      { path: "b.bin", kind: "changed", before: 200_000, after: 200_000 },
    ]);
    await filesystem.release?.(snapshot);
  });
});

test("OBS-9 what others put into a folder that is removed is named, links are not followed, and nothing is read of the rest", async () => {
  const { root, close } = await temporaryFolder({ "folder/a.txt": "a", "other/b.txt": "b" });
  later(close);
  await symlink("/etc", join(root, "folder", "link"));
  await mkdir(join(root, "folder", "empty"));
  const { filesystem } = undoable({ filesystem: hostFilesystem(root), close });
  const snapshot = await filesystem.snapshot();
  await filesystem.remove("folder");
  await writeFile(join(root, "other", "foreign.txt"), "not a call's");
  expect(filesystem.changesSince?.(snapshot)).toEqual([
    { path: "folder/a.txt", kind: "removed", before: 1 },
    { path: "folder/empty/", kind: "removed" },
    { path: "folder/link", kind: "removed" },
  ]);
  await filesystem.restore(snapshot);
  expect(filesystem.changesSince?.(snapshot)).toEqual([]);
  await filesystem.release?.(snapshot);
  expect(filesystem.changesSince?.(snapshot)).toBeUndefined();
  expect(await readFile(join(root, "folder", "a.txt"), "utf8")).toBe("a");
});
