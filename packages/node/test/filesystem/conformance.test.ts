import { memoryFilesystem } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { expect, test } from "vitest";
import { rejectionOf, thrownBy } from "../../../runtime/test/state/support.ts";
import { describeFilesystem } from "./conformance.ts";
import { temporaryFolder } from "./temporary.ts";

describeFilesystem(
  "memoryFilesystem",
  async (files) => ({ filesystem: memoryFilesystem(files), close: async () => {} }),
  { write: true },
);

describeFilesystem(
  "hostFilesystem, read-only",
  async (files) => {
    const { root, close } = await temporaryFolder(files);
    return { filesystem: hostFilesystem(root, { readOnly: true }), close };
  },
  { write: false },
);

describeFilesystem(
  "hostFilesystem",
  async (files) => {
    const { root, close } = await temporaryFolder(files);
    return { filesystem: hostFilesystem(root), close };
  },
  { write: true },
);

test("FS-1 a memory filesystem is not made of files that contradict each other, or of paths it refuses", () => {
  expect(thrownBy(() => memoryFilesystem({ a: "file", "a/b": "below it" }))).toMatchObject({
    reason: "not_a_directory",
  });
  expect(thrownBy(() => memoryFilesystem({ "../a": "x" }))).toMatchObject({ reason: "invalid_path" });
});

test("FS-1 a name such as __proto__ is a name like any other", async () => {
  const files = memoryFilesystem();
  await files.write("__proto__/constructor", "x");
  expect(await files.glob("**")).toEqual(["__proto__/constructor"]);
  expect(await rejectionOf(files.read("toString"))).toMatchObject({ reason: "not_found" });
});
