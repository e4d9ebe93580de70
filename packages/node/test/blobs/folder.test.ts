import { Blobs, definePrompt, parseMessages, provide } from "@proviso/core";
import { folderBlobs } from "@proviso/node";
import { modelAdapter, openFile } from "@proviso/runtime";
import { scriptedModel, testImage } from "@proviso/runtime/testing";
import { createHash } from "node:crypto";
import { existsSync, lstatSync, statSync } from "node:fs";
import { chmod, mkdir, readFile, rename, symlink, truncate, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { filesIn, folder, pathOf } from "./support.ts";

const bytes = new TextEncoder().encode("These bytes are kept.");
const hash = createHash("sha256").update(bytes).digest("hex");
const path = pathOf(hash);
const longAgo = new Date(Date.now() - 10 * 86_400_000);

async function kept(): Promise<{ readonly root: string; readonly blobs: Blobs }> {
  const root = join(await folder({ "outside.txt": "secret" }), "blobs");
  const blobs = folderBlobs(root);
  await blobs.put(bytes);
  return { root, blobs };
}

describe("a folder of files", () => {
  test("BLOB-3 names are the digits of the hash; files have the mode 0600 and folders 0700", async () => {
    const { root } = await kept();
    expect(filesIn(root)).toEqual([path]);
    const modes = [root, join(root, hash.slice(0, 2)), join(root, path)].map((at) => statSync(at).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700, 0o600]);
    expect(await readFile(join(root, path))).toEqual(Buffer.from(bytes));
  });

  test("BLOB-3 a store that nothing was put into makes no folder", async () => {
    const root = join(await folder(), "none");
    const blobs = folderBlobs(root);
    expect([await blobs.get(hash), await blobs.sweep({ keep: [], olderThanMs: 0 })]).toEqual([undefined, 0]);
    expect(existsSync(root)).toBe(false);
  });

  test("BLOB-1 another store of the same folder finds what was put", async () => {
    const { root } = await kept();
    expect(await folderBlobs(root).get(hash)).toEqual(bytes);
  });

  test("BLOB-1 FILE-13 a conversation goes on in another process by the folder alone", async () => {
    const root = join(await folder(), "blobs");
    const see = definePrompt({ key: "see", params: z.object({ photo: z.file() }), text: "{{photo}}" });
    const capabilities = { files: { types: ["image/png"], from: ["stored"] } } as const;
    const resources = [provide(Blobs, folderBlobs(root))];
    const photo = testImage();
    const first = await modelAdapter(scriptedModel([{ text: "ok" }], { capabilities })).evaluate(see.bind({ photo }), {
      resources,
    });
    const messages = parseMessages(JSON.parse(JSON.stringify(first.messages)));
    const model = scriptedModel([{ text: "again" }], { capabilities });
    await modelAdapter(model).evaluate("More?", { messages, resources: [provide(Blobs, folderBlobs(root))] });
    const file = model.requests[0]?.messages[0]?.files?.[0]?.file;
    expect(await (await openFile(file as never, folderBlobs(root))).bytes()).toEqual(await photo.bytes());
  });

  test.each([
    ["other bytes of the same length", (at: string) => writeFile(at, "Other bytes are here.")],
    ["more bytes", (at: string) => writeFile(at, "These bytes are kept. And more.")],
    ["fewer bytes", (at: string) => truncate(at, 5)],
    ["no bytes", (at: string) => truncate(at, 0)],
  ])("BLOB-2 a file with %s is damaged, and a put makes it whole again", async (_, damage) => {
    const { root, blobs } = await kept();
    await damage(join(root, path));
    await expect(blobs.get(hash)).rejects.toMatchObject({ code: "blob", reason: "damaged", hash });
    await blobs.put(bytes);
    expect(await blobs.get(hash)).toEqual(bytes);
    expect(filesIn(root)).toEqual([path]);
  });

  test("BLOB-3 a link in the place of a file is not followed, and a put replaces it", async () => {
    const { root, blobs } = await kept();
    const secret = join(root, "../outside.txt");
    await unlink(join(root, path));
    await symlink(secret, join(root, path));
    await expect(blobs.get(hash)).rejects.toMatchObject({ code: "blob", reason: "failed" });
    await blobs.put(bytes);
    expect([await blobs.get(hash), await readFile(secret, "utf8")]).toEqual([bytes, "secret"]);
    expect(lstatSync(join(root, path)).isFile()).toBe(true);
  });

  test("BLOB-3 a link in the place of a folder is not followed, whatever is done", async () => {
    const { root, blobs } = await kept();
    const [inner, elsewhere] = [join(root, hash.slice(0, 2)), join(root, "../elsewhere")];
    await rename(inner, elsewhere);
    await symlink(elsewhere, inner);
    await expect(blobs.get(hash)).rejects.toMatchObject({ code: "blob", reason: "failed" });
    await expect(blobs.put(bytes)).rejects.toMatchObject({ code: "blob", reason: "failed" });
    expect(await blobs.sweep({ keep: [], olderThanMs: 0 })).toBe(0);
    expect(filesIn(elsewhere)).toEqual([hash.slice(2)]);
  });

  test("BLOB-3 what others put into the folder is neither read nor removed", async () => {
    const { root, blobs } = await kept();
    const names = ["notes.txt", `${hash.slice(0, 2)}/notes.txt`, `zz/${"0".repeat(62)}`, `aa/${"A".repeat(62)}`];
    for (const name of names) {
      await mkdir(join(root, name, ".."), { recursive: true });
      await writeFile(join(root, name), "theirs");
      await utimes(join(root, name), longAgo, longAgo);
    }
    await symlink(join(root, "../outside.txt"), join(root, "aa", "0".repeat(62)));
    expect(await blobs.sweep({ keep: [], olderThanMs: 0 })).toBe(bytes.length);
    expect(filesIn(root)).toEqual([...names, `aa/${"0".repeat(62)}`].toSorted());
    expect(await readFile(join(root, "../outside.txt"), "utf8")).toBe("secret");
  });

  test("BLOB-1 a folder in the place of a file is an error of the store, and leaves no half file", async () => {
    const { root, blobs } = await kept();
    await unlink(join(root, path));
    await mkdir(join(root, path));
    await expect(blobs.put(bytes)).rejects.toMatchObject({ code: "blob", reason: "failed", hash });
    await expect(blobs.get(hash)).rejects.toMatchObject({ code: "blob", reason: "failed", hash });
    expect(filesIn(root)).toEqual([]);
  });

  test("BLOB-1 a file in the place of the store is an error of the store", async () => {
    const blobs = folderBlobs(join(await folder({ taken: "x" }), "taken"));
    await expect(blobs.put(bytes)).rejects.toMatchObject({ code: "blob", reason: "failed" });
  });

  test("BLOB-1 a folder that is not ours to write into is an error of the store", async (context) => {
    if (process.getuid?.() === 0) return context.skip("root may write everywhere");
    const root = await folder();
    await chmod(root, 0o500);
    await expect(folderBlobs(root).put(bytes)).rejects.toMatchObject({ code: "blob", reason: "failed" });
  });
});

describe("what a killed process left", () => {
  test("BLOB-5 a file that was not finished is removed when it is old, and left while it may be written", async () => {
    const { root, blobs } = await kept();
    const left = join(root, hash.slice(0, 2), `.${crypto.randomUUID()}.new`);
    await writeFile(left, "half");
    expect(await blobs.sweep({ keep: [hash], olderThanMs: 0 })).toBe(0);
    await utimes(left, longAgo, longAgo);
    expect(await blobs.sweep({ keep: [hash], olderThanMs: 0 })).toBe(4);
    expect(filesIn(root)).toEqual([path]);
  });

  test("BLOB-5 a file that a sweep took away is found, given back where it is named or young, and else removed", async () => {
    const { root, blobs } = await kept();
    const taken = join(root, hash.slice(0, 2), `.${hash.slice(2)}.old`);
    await rename(join(root, path), taken);
    expect(await blobs.get(hash)).toEqual(bytes);
    expect(await blobs.sweep({ keep: [] })).toBe(0);
    expect(filesIn(root)).toEqual([path]);
    await rename(join(root, path), taken);
    await utimes(taken, longAgo, longAgo);
    expect(await blobs.sweep({ keep: [hash] })).toBe(0);
    expect(filesIn(root)).toEqual([path]);
    await rename(join(root, path), taken);
    expect(await blobs.sweep({ keep: [] })).toBe(bytes.length);
    expect(filesIn(root)).toEqual([]);
  });

  test("BLOB-5 what was put again after a sweep took it away stays", async () => {
    const { root, blobs } = await kept();
    const taken = join(root, hash.slice(0, 2), `.${hash.slice(2)}.old`);
    await rename(join(root, path), taken);
    await utimes(taken, longAgo, longAgo);
    await blobs.put(bytes);
    expect(await blobs.sweep({ keep: [] })).toBe(bytes.length);
    expect(await blobs.get(hash)).toEqual(bytes);
    expect(filesIn(root)).toEqual([path]);
  });
});
