import { FilesystemError } from "@proviso/core";
import { hostFilesystem } from "@proviso/node";
import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { host } from "./host-support.ts";

test("FS-6 where the root is not there, the error says so, whatever path was asked for", async () => {
  const { root } = await host();
  await rm(root, { recursive: true });
  const files = hostFilesystem(root);
  for (const attempt of [() => files.list(""), () => files.read("a/b.txt"), () => files.write("a/b.txt", "text")]) {
    const error: unknown = await attempt().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FilesystemError);
    expect(error).toMatchObject({ reason: "not_found", message: "The root does not exist.", path: "" });
  }
});
