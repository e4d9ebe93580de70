import { Blobs, BlobError, definePrompt, defineTool, DefinitionError, provide, toolError, toolOk } from "@proviso/core";
import { folderBlobs } from "@proviso/node";
import { createSession, memoryBlobs, modelAdapter } from "@proviso/runtime";
import { recordEvents, scriptedModel, testImage } from "@proviso/runtime/testing";
import { createHash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { folder } from "./support.ts";

type Options = { readonly maxBytes?: number };
const stores: readonly (readonly [string, (options?: Options) => Promise<Blobs>])[] = [
  ["memoryBlobs", async (options) => memoryBlobs(options)],
  ["folderBlobs", async (options) => folderBlobs(`${await folder()}/made`, options)],
];
const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const day = 86_400_000;

describe.each(stores)("%s", (_, open) => {
  test("BLOB-1 what was put is found by its SHA-256, also when it is put twice at once", async () => {
    const blobs = await open();
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    const put = await Promise.all([blobs.put(bytes), blobs.put(bytes.slice()), blobs.put(bytes)]);
    expect(new Set(put.map(({ hash }) => hash))).toEqual(new Set([hashOf(bytes)]));
    expect(put.map((one) => one.bytes)).toEqual([60_000, 60_000, 60_000]);
    expect(await blobs.get(hashOf(bytes))).toEqual(bytes);
    expect(await blobs.sweep({ keep: [], olderThanMs: 0 })).toBe(60_000);
    expect(await blobs.get(hashOf(bytes))).toBeUndefined();
  });

  test("BLOB-1 no bytes are kept as any others are", async () => {
    const blobs = await open();
    const { hash, bytes } = await blobs.put(new Uint8Array());
    expect([await blobs.get(hash), bytes]).toEqual([new Uint8Array(), 0]);
  });

  test("BLOB-2 a Buffer that its owner uses again is another one", async () => {
    const blobs = await open();
    const bytes = Buffer.from("the bytes that were put");
    const putting = blobs.put(bytes);
    bytes.fill(0);
    const { hash } = await putting;
    bytes.fill(1);
    expect(Buffer.from((await blobs.get(hash)) ?? []).toString()).toBe("the bytes that were put");
  });

  test("BLOB-2 what is kept does not change with the bytes that were put or given out", async () => {
    const blobs = await open();
    const bytes = Uint8Array.of(1, 2, 3);
    const putting = blobs.put(bytes);
    bytes[0] = 9;
    const { hash } = await putting;
    expect(hash).toBe(hashOf(Uint8Array.of(1, 2, 3)));
    (await blobs.get(hash))?.fill(7);
    expect(await blobs.get(hash)).toEqual(Uint8Array.of(1, 2, 3));
  });

  test("BLOB-1 what is larger than the store takes is refused, and nothing of it is kept", async () => {
    const blobs = await open({ maxBytes: 4 });
    await blobs.put(Uint8Array.of(1, 2, 3, 4));
    const large = Uint8Array.of(1, 2, 3, 4, 5);
    await expect(blobs.put(large)).rejects.toMatchObject({ code: "blob", reason: "too_large", hash: hashOf(large) });
    expect(await blobs.get(hashOf(large))).toBeUndefined();
  });

  test.each([
    ["a path that leads out", "../../../../etc/passwd"],
    ["a path of the length of a hash", `../${"a".repeat(61)}`],
    ["capital letters", "A".repeat(64)],
    ["a line break behind a hash", `${"0".repeat(64)}\n`],
    ["a zero byte", `${"0".repeat(63)}\0`],
    ["too few digits", "0".repeat(63)],
    ["nothing", ""],
    ["a name of an object's prototype", "__proto__"],
    ["a number", 64],
    ["a list", ["0".repeat(64)]],
  ])("BLOB-3 a reference that is %s names nothing", async (_name, hash) => {
    const blobs = await open();
    await blobs.put(Uint8Array.of(1));
    expect(await blobs.get(hash as string)).toBeUndefined();
  });

  test("BLOB-5 a sweep keeps what is named, and what is younger than a day", async () => {
    const blobs = await open();
    const named = await blobs.put(Uint8Array.of(1));
    const other = await blobs.put(Uint8Array.of(2, 3));
    expect(await blobs.sweep({ keep: [] })).toBe(0);
    expect(await blobs.sweep({ keep: new Set([named.hash, "no hash"]), olderThanMs: 0 })).toBe(2);
    expect(await blobs.get(named.hash)).toEqual(Uint8Array.of(1));
    expect(await blobs.get(other.hash)).toBeUndefined();
  });

  test("BLOB-5 a put renews the age of what is there", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    try {
      const blobs = await open();
      const old = await blobs.put(Uint8Array.of(1, 1));
      const renewed = await blobs.put(Uint8Array.of(2));
      vi.setSystemTime(Date.now() + 2 * day);
      await blobs.put(Uint8Array.of(2));
      expect(await blobs.sweep({ keep: [], olderThanMs: day })).toBe(2);
      expect([await blobs.get(old.hash), await blobs.get(renewed.hash)]).toEqual([undefined, Uint8Array.of(2)]);
    } finally {
      vi.useRealTimers();
    }
  });

  test.each([
    ["without a list", {}],
    ["with a text for a list", { keep: "0".repeat(64) }],
    ["with a list of references", { keep: [{ hash: "0".repeat(64) }] }],
    ["with an age that is no number", { keep: [], olderThanMs: Number.NaN }],
    ["with an age below zero", { keep: [], olderThanMs: -1 }],
    ["with a misspelt age", { keep: [], olderThan: 0 }],
  ])("BLOB-5 a sweep %s is refused, and nothing is removed", async (_name, options) => {
    const blobs = await open();
    const { hash } = await blobs.put(Uint8Array.of(1));
    await expect(blobs.sweep({ olderThanMs: 0, ...options } as never)).rejects.toBeInstanceOf(DefinitionError);
    expect(await blobs.get(hash)).toEqual(Uint8Array.of(1));
  });

  test.each([Number.NaN, -1, "1"])("BLOB-1 a store for files of %s bytes is refused", async (maxBytes) => {
    await expect(open({ maxBytes: maxBytes as number })).rejects.toBeInstanceOf(DefinitionError);
  });

  test("BLOB-4 what an event names is in the store when it is emitted", async () => {
    const blobs = await open();
    const session = createSession();
    const found: Promise<unknown>[] = [];
    const look = (text: string): void => {
      for (const [, hash = ""] of text.matchAll(/"hash":"([0-9a-f]{64})"/g)) found.push(blobs.get(hash));
    };
    for (const type of ["prompt.rendered", "tool.invoked", "provider.responded"] as const) {
      session.on(type, (event) => look(JSON.stringify(event)));
    }
    const chart = defineTool({
      name: "chart",
      description: "Draws.",
      input: z.object({}),
      execute: () => toolOk(null, { message: "Drawn.", files: [testImage({ width: 7 })] }),
    });
    const made = { at: 0, mediaType: "image/png", data: await testImage({ width: 9 }).bytes() };
    const model = scriptedModel([{ toolCalls: [{ name: "chart" }] }, { text: "Done.", files: [made] }], {
      capabilities: { files: { types: ["image/png"], from: ["stored"] } },
    });
    const prompt = definePrompt({
      key: "draw",
      params: z.object({ photo: z.file() }),
      sections: [{ key: "task", role: "user", text: "{{photo}}", tools: [chart] }],
    });
    const resources = [provide(Blobs, blobs)];
    await modelAdapter(model).evaluate(prompt.bind({ photo: testImage({ width: 5 }) }), { session, resources });
    const bytes = await Promise.all(found);
    expect(bytes.length).toBeGreaterThanOrEqual(3);
    expect(bytes).not.toContain(undefined);
  });

  test("BLOB-4 the bytes of a call that was undone are named by nothing, and a sweep removes them", async () => {
    const blobs = await open();
    const session = createSession();
    const events = recordEvents(session);
    const picture = testImage({ width: 11 });
    const fail = defineTool({
      name: "fail",
      description: "Fails.",
      input: z.object({}),
      async execute(_input, { resources }) {
        await resources.get(Blobs).put(await picture.bytes());
        return toolError("It went wrong.");
      },
    });
    const model = scriptedModel([{ toolCalls: [{ name: "fail" }] }, { text: "Sorry." }]);
    const prompt = definePrompt({ key: "f", sections: [{ key: "t", role: "user", text: "Go.", tools: [fail] }] });
    const response = await modelAdapter(model).evaluate(prompt.bind(), { session, resources: [provide(Blobs, blobs)] });
    const hash = hashOf(await picture.bytes());
    expect(JSON.stringify([response, events, session.toJSON()])).not.toContain(hash);
    expect(await blobs.get(hash)).toEqual(await picture.bytes());
    expect(await blobs.sweep({ keep: [], olderThanMs: 0 })).toBe(picture.size);
  });

  test("BLOB-1 an error of the store is a BlobError, with its code", async () => {
    const error = await (await open({ maxBytes: 0 })).put(Uint8Array.of(1)).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(BlobError);
    expect((error as BlobError).code).toBe("blob");
  });
});
