import { DefinitionError } from "@proviso/core";
import { hostFilesystem, sqliteResource, sqliteUsageStore } from "@proviso/node";
import { expect, test } from "vitest";

test.each<readonly [what: string, use: () => unknown, message: string]>([
  ["hostFilesystem", () => hostFilesystem("/nowhere", { readonly: true } as never), "Did you mean readOnly?"],
  [
    "sqliteResource",
    () => sqliteResource(":memory:", { migrations: [] } as never),
    "sqliteResource has no option migrations.",
  ],
  [
    "sqliteUsageStore",
    () => sqliteUsageStore("/nowhere/x", { busyTimeout: 1 } as never),
    "Did you mean busyTimeoutMs?",
  ],
])("ERR-4 %s", (_, use, message) => {
  expect(use).toThrow(DefinitionError);
  expect(use).toThrow(message);
});

test.each([undefined, { path: "." }, "a\0b"])("ERR-1 hostFilesystem(%j) is refused by its name", (given) => {
  expect(() => hostFilesystem(given as never)).toThrow("hostFilesystem takes the path of a folder");
});
