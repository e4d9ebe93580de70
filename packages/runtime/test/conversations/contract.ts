import { DefinitionError } from "@proviso/core";
import type { ConversationStore } from "@proviso/runtime";
import { fakeClock, type FakeClock } from "@proviso/runtime/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

/** Makes a store that is empty, and ends with the test. */
export type MakeStore = (clock: FakeClock) => Promise<ConversationStore> | ConversationStore;

const leaseMs = 1_000;

/** What every store of conversations keeps. */
export function describeStore(name: string, make: MakeStore): void {
  const begin = async () => {
    const clock = fakeClock();
    return { clock, store: await make(clock) };
  };

  describe(`CNV-6 CNV-4 CNV-5 the store ${name}`, () => {
    test("CNV-6 what was saved is loaded, and a revision is counted for each save", async () => {
      const { clock, store } = await begin();
      expect(await store.load("ada")).toBeUndefined();
      expect(await store.acquire("ada", { token: "a", leaseMs })).toEqual({ ok: true, stored: undefined });
      expect(await store.load("ada")).toBeUndefined();
      expect(await store.save("ada", { token: "a", revision: 1, body: '{"n":1}' })).toBe(true);
      await clock.advance(10);
      expect(await store.save("ada", { token: "a", revision: 2, body: '{"n":"\\u0000 😀"}' })).toBe(true);
      const stored = { revision: 2, savedAt: new Date(clock.now()), body: '{"n":"\\u0000 😀"}' };
      expect(await store.load("ada")).toEqual(stored);
      await store.release("ada", "a");
      expect(await store.acquire("ada", { token: "b", leaseMs })).toEqual({ ok: true, stored });
      expect(await store.load("Ada")).toBeUndefined();
    });

    test("CNV-6 a revision that is not the next one is refused, and nothing changes", async () => {
      const { store } = await begin();
      await store.acquire("ada", { token: "a", leaseMs });
      expect(await store.save("ada", { token: "a", revision: 2, body: "2" })).toBe(false);
      expect(await store.save("ada", { token: "a", revision: 1, body: "1" })).toBe(true);
      for (const revision of [0, 1, 3])
        expect(await store.save("ada", { token: "a", revision, body: "x" })).toBe(false);
      expect(await store.load("ada")).toMatchObject({ revision: 1, body: "1" });
    });

    test("CNV-4 one writer has a conversation until it releases it or its lease expires", async () => {
      const { clock, store } = await begin();
      const expiresAt = new Date(clock.now() + leaseMs);
      expect(await store.acquire("ada", { token: "a", leaseMs })).toMatchObject({ ok: true });
      expect(await store.acquire("ada", { token: "b", leaseMs })).toEqual({ ok: false, expiresAt });
      expect(await store.acquire("ada", { token: "a", leaseMs })).toMatchObject({ ok: true });
      expect(await store.acquire("bob", { token: "b", leaseMs })).toMatchObject({ ok: true });
      await store.release("ada", "b");
      expect(await store.acquire("ada", { token: "b", leaseMs })).toMatchObject({ ok: false });
      await store.release("ada", "a");
      expect(await store.acquire("ada", { token: "b", leaseMs })).toMatchObject({ ok: true });
      await clock.advance(leaseMs - 1);
      expect(await store.acquire("ada", { token: "c", leaseMs })).toMatchObject({ ok: false });
      await clock.advance(1);
      expect(await store.acquire("ada", { token: "c", leaseMs })).toMatchObject({ ok: true });
    });

    test("CNV-4 a lease that is renewed holds on", async () => {
      const { clock, store } = await begin();
      await store.acquire("ada", { token: "a", leaseMs });
      await clock.advance(900);
      expect(await store.renew("ada", { token: "a", leaseMs })).toBe(true);
      await clock.advance(900);
      expect(await store.acquire("ada", { token: "b", leaseMs })).toMatchObject({ ok: false });
      expect(await store.renew("ada", { token: "b", leaseMs })).toBe(false);
      expect(await store.renew("bob", { token: "a", leaseMs })).toBe(false);
    });

    test("CNV-5 a writer whose lease another one took saves nothing more, and ends no lease of the other", async () => {
      const { clock, store } = await begin();
      await store.acquire("ada", { token: "a", leaseMs });
      await store.save("ada", { token: "a", revision: 1, body: "a" });
      await clock.advance(leaseMs);
      // Expired, and still its own: no other writer came.
      expect(await store.save("ada", { token: "a", revision: 2, body: "a" })).toBe(true);
      await store.acquire("ada", { token: "b", leaseMs });
      expect(await store.save("ada", { token: "a", revision: 3, body: "late" })).toBe(false);
      expect(await store.renew("ada", { token: "a", leaseMs })).toBe(false);
      await store.release("ada", "a");
      expect(await store.acquire("ada", { token: "c", leaseMs })).toMatchObject({ ok: false });
      expect(await store.save("ada", { token: "b", revision: 3, body: "b" })).toBe(true);
      expect(await store.load("ada")).toMatchObject({ revision: 3, body: "b" });
    });

    test("CNV-5 a conversation that is deleted is gone, for its writer too", async () => {
      const { store } = await begin();
      expect(await store.delete("ada")).toBe(false);
      await store.acquire("ada", { token: "a", leaseMs });
      expect(await store.delete("ada")).toBe(false);
      await store.acquire("ada", { token: "a", leaseMs });
      await store.save("ada", { token: "a", revision: 1, body: "a" });
      expect(await store.delete("ada")).toBe(true);
      expect(await store.load("ada")).toBeUndefined();
      expect(await store.save("ada", { token: "a", revision: 2, body: "a" })).toBe(false);
      expect(await store.acquire("ada", { token: "b", leaseMs })).toEqual({ ok: true, stored: undefined });
      expect(await store.save("ada", { token: "a", revision: 1, body: "a" })).toBe(false);
    });

    test("CNV-6 a list has the conversations that were saved, in pages and by the beginning of their ids", async () => {
      const { clock, store } = await begin();
      const ids = ["a/1", "a/2", "a/3", "a", "b/1", "a0", "A/1"];
      for (const id of ids) await saved(store, id);
      await store.acquire("a/none", { token: "a", leaseMs });
      const savedAt = new Date(clock.now());
      expect(await store.list({ prefix: "a/", limit: 2 })).toEqual([
        { id: "a/1", revision: 1, savedAt },
        { id: "a/2", revision: 1, savedAt },
      ]);
      expect(await idsOf(store, { prefix: "a/", after: "a/2" })).toEqual(["a/3"]);
      expect(await idsOf(store, {})).toEqual(["A/1", "a", "a/1", "a/2", "a/3", "a0", "b/1"]);
      expect(await idsOf(store, { prefix: "c" })).toEqual([]);
      for (let i = 0; i < 100; i++) await saved(store, `z/${i}`);
      expect(await store.list()).toHaveLength(100);
    });

    test("CNV-6 a list is in the order of code points, whatever the ids are", async () => {
      const letter = fc.constantFrom(
        "a",
        "b",
        "%",
        "_",
        "\\",
        "'",
        "\u{ff5e}",
        "\u{d7ff}",
        "\u{e000}",
        "😀",
        "\u{10ffff}",
      );
      const text = fc.array(letter, { minLength: 1, maxLength: 3 }).map((letters) => letters.join(""));
      const order = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(text, { maxLength: 12 }), text, text, async (ids, prefix, after) => {
          const { store } = await begin();
          for (const id of ids) await saved(store, id);
          const expected = ids.filter((id) => id.startsWith(prefix)).toSorted(order);
          expect(await idsOf(store, { prefix })).toEqual(expected);
          expect(await idsOf(store, { prefix, after })).toEqual(expected.filter((id) => order(id, after) > 0));
        }),
        { seed: 6, numRuns: 30 },
      );
    });

    test("CNV-6 hostile ids are conversations like others, each its own", async () => {
      const { store } = await begin();
      const ids = [
        "__proto__",
        "constructor",
        "' OR 1=1 --",
        "../../etc/passwd",
        "é",
        "e\u0301",
        "İ",
        "i",
        " a",
        "a ",
        "a".repeat(512),
      ];
      for (const [at, id] of ids.entries()) {
        await store.acquire(id, { token: `t${at}`, leaseMs });
        expect(await store.save(id, { token: `t${at}`, revision: 1, body: `"${at}"` })).toBe(true);
      }
      for (const [at, id] of ids.entries()) expect((await store.load(id))?.body).toBe(`"${at}"`);
      expect(await store.list()).toHaveLength(ids.length);
      for (const id of ids) expect(await store.delete(id)).toBe(true);
      expect(await store.list()).toEqual([]);
    });

    test("CNV-6 what is no id is refused by each method", async () => {
      const { store } = await begin();
      const lease = { token: "a", leaseMs };
      for (const wrong of ["", "a\u0000b", "a\nb", "\ud800", "a".repeat(513), 7, undefined, null, {}]) {
        const id = wrong as string;
        const tries = [
          () => store.load(id),
          () => store.acquire(id, lease),
          () => store.renew(id, lease),
          () => store.save(id, { token: "a", revision: 1, body: "{}" }),
          () => store.release(id, "a"),
          () => store.delete(id),
        ];
        for (const attempt of tries) await expect(attempt()).rejects.toThrow(DefinitionError);
      }
      for (const limit of [0, -1, 0.5, Number.NaN, "1"])
        await expect(store.list({ limit: limit as number })).rejects.toThrow("limit");
      await expect(store.list({ prefix: "\ud800" })).rejects.toThrow(DefinitionError);
    });
  });
}

async function saved(store: ConversationStore, id: string): Promise<void> {
  await store.acquire(id, { token: "a", leaseMs });
  await store.save(id, { token: "a", revision: 1, body: "{}" });
  await store.release(id, "a");
}

async function idsOf(store: ConversationStore, query: Parameters<ConversationStore["list"]>[0]): Promise<string[]> {
  return (await store.list(query)).map(({ id }) => id);
}
