import { BlobError, definePrompt, DefinitionError, PromptRenderError } from "@proviso/core";
import { fileAt } from "@proviso/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, testImage } from "@proviso/runtime/testing";
import { execFileSync } from "node:child_process";
import { symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { folder } from "./support.ts";

const see = definePrompt({ key: "see", params: z.object({ photo: z.file() }), text: "{{photo}}" });

test("FILE-5 the type of a file is what its bytes show, else what its name says, else none", async () => {
  const root = await folder({ "table.CSV": "a,b", "notes.unknown": "x", "text.md": "# A" });
  await writeFile(join(root, "photo.jpg"), await testImage().bytes());
  await writeFile(join(root, "song.m4a"), Buffer.from("\0\0\0\u0018ftypM4A ", "latin1"));
  const names = ["photo.jpg", "table.CSV", "text.md", "notes.unknown", "song.m4a"];
  const files = await Promise.all(names.map((name) => fileAt(join(root, name))));
  expect(files.map(({ name, type }) => [name, type])).toEqual([
    ["photo.jpg", "image/png"],
    ["table.CSV", "text/csv"],
    ["text.md", "text/markdown"],
    ["notes.unknown", ""],
    ["song.m4a", "audio/mp4"],
  ]);
  expect(await files[0]?.bytes()).toEqual(await testImage().bytes());
});

test("FILE-5 a name and a type that are given stand, and a type that the bytes are not is refused by the evaluation", async () => {
  const root = await folder();
  await writeFile(join(root, "a.bin"), await testImage().bytes());
  const photo = await fileAt(join(root, "a.bin"), { name: "photo.png", mediaType: "image/jpeg" });
  expect([photo.name, photo.type]).toEqual(["photo.png", "image/jpeg"]);
  const adapter = modelAdapter(
    scriptedModel([], { capabilities: { files: { types: ["image/*"], from: ["stored"] } } }),
  );
  const error = await adapter.evaluate(see.bind({ photo })).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(PromptRenderError);
  expect((error as PromptRenderError).cause).toBeInstanceOf(BlobError);
  expect((error as Error).message).toContain("claims to be image/jpeg, but its bytes are image/png");
});

test("FILE-3 a file of this machine goes to the model as it was when it was read", async () => {
  const root = await folder();
  const at = join(root, "photo.png");
  await writeFile(at, await testImage({ width: 3 }).bytes());
  const photo = await fileAt(at);
  await writeFile(at, "changed");
  const model = scriptedModel([{ text: "ok" }], {
    capabilities: { files: { types: ["image/png"], from: ["stored"] } },
  });
  await modelAdapter(model).evaluate(see.bind({ photo }));
  const [request] = model.requests;
  const file = request?.messages[0]?.files?.[0]?.file;
  expect(request?.bytesOf?.(file as never)).toEqual(await testImage({ width: 3 }).bytes());
});

test.each([
  ["what is not there", "none.png", "not_found"],
  ["a folder", ".", "not_a_file"],
  ["a path through a file", "table.csv/a", "not_found"],
  ["a device", "/dev/zero", "special_file"],
  ["a link that leads to itself", "loop", "outside_root"],
  ["a path with a zero byte", "a\0b", "invalid_path"],
])("FS-6 %s is a FilesystemError", async (_, name, reason) => {
  const root = await folder({ "table.csv": "a" });
  await symlink("loop", join(root, "loop"));
  const path = name.startsWith("/") ? name : `${root}/${name}`;
  await expect(fileAt(path)).rejects.toMatchObject({ name: "FilesystemError", reason, path });
});

test("FS-6 a pipe without a writer is refused at once", async (context) => {
  const at = join(await folder(), "pipe");
  try {
    execFileSync("mkfifo", [at]);
  } catch {
    return context.skip("there is no mkfifo here");
  }
  await expect(fileAt(at)).rejects.toMatchObject({ name: "FilesystemError", reason: "special_file" });
});

test.each([{ name: "" }, { name: 1 }, { mediaType: "png" }, { mediaType: "a b/c" }, { type: "image/png" }])(
  "FILE-5 the options %j are refused",
  async (options) => {
    const root = await folder({ "a.txt": "a" });
    await expect(fileAt(join(root, "a.txt"), options as never)).rejects.toBeInstanceOf(DefinitionError);
  },
);

test.each([undefined, 5, {}, ""])("FILE-2 fileAt refuses the path %j as an option", async (path) => {
  await expect(fileAt(path as never)).rejects.toBeInstanceOf(DefinitionError);
});

test("FILE-2 fileAt refuses a file of 3 GiB before it reads it", async () => {
  const path = join(await folder(), "large.bin");
  await writeFile(path, "");
  // Nothing of it is on the disk.
  await truncate(path, 3 * 2 ** 30);
  await expect(fileAt(path)).rejects.toMatchObject({ code: "filesystem", reason: "too_large", path });
});
