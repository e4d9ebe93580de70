import { FilesystemError, type Filesystem } from "@proviso/core";
import { hostFilesystem } from "@proviso/node";
import { rm, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { host } from "./host-support.ts";

const asked: readonly (readonly [name: string, ask: (files: Filesystem) => Promise<unknown>])[] = [
  ["list", (files) => files.list("")],
  ["read", (files) => files.read("a/b.txt")],
  ["readBytes", (files) => files.readBytes("a/b.txt")],
  ["glob", (files) => files.glob("**")],
  ["grep", (files) => files.grep("text")],
  ["write", (files) => files.write("a/b.txt", "text")],
  ["remove", (files) => files.remove("a/b.txt")],
  ["mkdir", (files) => files.mkdir("a")],
];

test.each(asked)(
  "FS-6 %s: where the root is not there, the error says so, whatever path was asked for",
  async (_, ask) => {
    const { root } = await host();
    await rm(root, { recursive: true });
    const error: unknown = await ask(hostFilesystem(root)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FilesystemError);
    expect(error).toMatchObject({ reason: "not_found", message: "The root does not exist.", path: "" });
  },
);

test.each(asked.filter(([name]) => name === "glob" || name === "grep"))(
  "FS-6 %s of a root that is a file is an error, and finds not nothing",
  async (_, ask) => {
    const { root } = await host();
    await rm(root, { recursive: true });
    await writeFile(root, "text");
    expect(await ask(hostFilesystem(root, { readOnly: true })).catch((reason: unknown) => reason)).toMatchObject({
      name: "FilesystemError",
      path: "",
    });
  },
);
