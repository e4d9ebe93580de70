import { DefinitionError, Filesystem, provide, provideFactory, resourceKey, UnusableError } from "@proviso/core";
import {
  createSession,
  createSnapshot,
  memoryFilesystem,
  openResources,
  restoreSnapshot,
  transaction,
} from "@proviso/runtime";
import { expect, test } from "vitest";
import { digestOf, journal, noted, notes, rejectionOf } from "./support.ts";

async function scope(tag?: string) {
  const session = createSession({ slices: [notes, journal] });
  const files = memoryFilesystem({ "kept.txt": "kept" });
  const resources = await openResources([provide(Filesystem, files)]);
  const digest = async () => [session.get(notes), await digestOf(files)];
  const change = async (text: string) => {
    session.dispatch(noted({ text }));
    await files.write(`${text}.txt`, text);
    await files.remove("kept.txt").catch(() => {});
  };
  return { session, resources, files, digest, change, tag };
}

test("TX-9 a snapshot is put back, as often as wanted; log entries stay", async () => {
  const world = await scope("before");
  const before = await world.digest();
  const snapshot = await createSnapshot(world);
  expect(snapshot.tag).toBe("before");
  for (const text of ["a", "b"]) {
    await world.change(text);
    await restoreSnapshot(world, snapshot);
    expect(await world.digest()).toEqual(before);
  }
  expect(world.session.get(journal)).toEqual(["a", "b"]);
});

test("TX-9 a transaction whose body throws is undone, and the error is the body's", async () => {
  const world = await scope();
  const before = await world.digest();
  const error = await rejectionOf(
    transaction(world, async () => {
      await world.change("a");
      throw new Error("changed my mind");
    }),
  );
  expect(error.message).toBe("changed my mind");
  expect(await world.digest()).toEqual(before);
});

test("TX-9 a body can roll back without throwing, and go on", async () => {
  const world = await scope();
  const outcome = await transaction(world, async (rollback) => {
    await world.change("a");
    await rollback();
    world.session.dispatch(noted({ text: "b" }));
    return "went on";
  });
  expect(outcome).toBe("went on");
  expect(world.session.get(notes)).toEqual(["b"]);
  expect(await world.files.exists("kept.txt")).toBe(true);
});

test("TX-9 transactions nest", async () => {
  const world = await scope();
  await transaction(world, async () => {
    await world.change("outer");
    await rejectionOf(
      transaction(world, async () => {
        await world.change("inner");
        throw new Error("inner");
      }),
    );
  });
  expect(world.session.get(notes)).toEqual(["outer"]);
  expect(await world.files.glob("**")).toEqual(["outer.txt"]);
});

test("TX-9 a restore that fails makes the session unusable, and every later use says why, with the tag", async () => {
  const session = createSession({ slices: [notes] });
  const key = resourceKey<object>("fragile");
  const fragile = { snapshot: () => 1, restore: () => Promise.reject(new Error("disk gone")) };
  await using resources = await openResources([provide(key, fragile)]);
  const error = await rejectionOf(
    transaction({ session, resources, tag: "migration" }, async () => {
      throw new Error("body");
    }),
  );
  for (const use of [
    () => session.get(notes),
    () => session.dispatch(noted({ text: "x" })),
    () => session.snapshot(),
  ]) {
    expect(use).toThrow(UnusableError);
    expect(use).toThrow(/"migration".*disk gone/);
  }
  expect(error.message).toMatch(/"migration".*disk gone/);
});

test("TX-9 a snapshot of other things is refused and changes nothing", async () => {
  const [one, other] = [await scope("one"), await scope("other")];
  const snapshot = await createSnapshot(one);
  await other.change("a");
  const before = await other.digest();
  expect(await rejectionOf(restoreSnapshot(other, snapshot))).toBeInstanceOf(DefinitionError);
  expect(await rejectionOf(restoreSnapshot(other, { tag: "made up" }))).toBeInstanceOf(DefinitionError);
  expect(await other.digest()).toEqual(before);
});

test("TX-4 a resource that a transaction made first is discarded with it", async () => {
  const closed: string[] = [];
  const key = resourceKey<{ name: string }>("late");
  const session = createSession();
  await using resources = await openResources([
    provideFactory(key, () => ({ name: "late" }), { close: ({ name }) => void closed.push(name) }),
  ]);
  await rejectionOf(
    transaction({ session, resources }, async () => {
      resources.get(key);
      throw new Error("body");
    }),
  );
  expect(closed).toEqual(["late"]);
});
