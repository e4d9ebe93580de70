import { describeIssues, parseWithSchema, parseWithSchemaSync } from "@proviso/core/internal";
import type { Schema } from "@proviso/core";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";

const refusal = { issues: [{ message: "at most 10", path: ["amount"] }] };
const schemaOf = (validate: (value: unknown) => unknown): Schema =>
  ({
    "~standard": {
      version: 1,
      vendor: "mine",
      validate,
      jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
    },
  }) as Schema;

describe("TOOL-2 what a library's validate returns", () => {
  test.each<readonly [string, () => unknown]>([
    ["a promise", () => Promise.resolve(refusal)],
    ["a promise of another realm", () => runInNewContext("Promise.resolve(refusal)", { refusal })],
    ["a thenable", () => ({ then: (done: (result: unknown) => void) => void setImmediate(done, refusal) })],
  ])("TOOL-2 a refusal in %s is waited for", async (_, validate) => {
    const parsing = parseWithSchema(schemaOf(validate), {});
    expect(parsing).toBeInstanceOf(Promise);
    expect(await parsing).toEqual({ ok: false, issues: [{ path: "amount", message: "at most 10" }] });
    expect(() => parseWithSchemaSync(schemaOf(validate), {})).toThrow("an asynchronous schema cannot be used here.");
  });

  test.each<readonly [string, unknown]>([
    ["{}", {}],
    ["false", false],
    ["a text", "refused"],
    ["nothing", undefined],
    ["null", null],
    ["issues that are a text", { issues: "no" }],
    ["issues that are null", { issues: null, value: 1 }],
  ])("TOOL-2 %s is no result: the value is not taken", async (_, returned) => {
    expect(() =>
      parseWithSchema(
        schemaOf(() => returned),
        {},
      ),
    ).toThrow(/which has neither value nor issues/);
    await expect(
      parseWithSchema(
        schemaOf(() => Promise.resolve(returned)),
        {},
      ),
    ).rejects.toThrow(TypeError);
  });

  test("TOOL-2 an empty list of issues is a refusal, and a value may be undefined", () => {
    expect(
      parseWithSchemaSync(
        schemaOf(() => ({ issues: [] })),
        {},
      ),
    ).toMatchObject({ ok: false });
    expect(
      parseWithSchemaSync(
        schemaOf(() => ({ value: undefined })),
        undefined,
      ),
    ).toEqual({ ok: true, value: undefined });
  });

  const silent = { path: "", message: "the schema refuses it, and does not say why" };
  test.each<readonly [string, readonly unknown[], { readonly path: string; readonly message: string }]>([
    ["no issue", [], silent],
    ["an issue without a message", [{ path: ["a"] }], { ...silent, path: "a" }],
    ["an issue that is null", [null], silent],
    ["an issue that is a text", ["too odd"], { path: "", message: "too odd" }],
    ["a path that is a text", [{ path: "a", message: "too odd" }], { path: "a", message: "too odd" }],
    ["a path that is a number", [{ path: 3, message: "too odd" }], { path: "3", message: "too odd" }],
    ["a path that is null", [{ path: null, message: "too odd" }], { path: "", message: "too odd" }],
    ["a path with null in it", [{ path: ["a", null], message: "too odd" }], { path: "a.null", message: "too odd" }],
  ])("TOOL-2 a refusal with %s says what it can", (_, issues, expected) => {
    const result = parseWithSchemaSync(
      schemaOf(() => ({ issues })),
      {},
    );
    expect(result).toEqual({ ok: false, issues: [expected] });
  });

  test.each<readonly [string, readonly unknown[], string]>([
    ["of one long key", ["x".repeat(1_001), "b"], `${"x".repeat(1_000)}…`],
    ["that goes on behind 1,000 characters", ["x".repeat(1_000), "b"], `${"x".repeat(1_000)}…`],
    ["of 1,000 characters", ["x".repeat(998), "b"], `${"x".repeat(998)}.b`],
  ])("TOOL-2 LIM-9 a path %s is cut at 1,000", (_, path, shown) => {
    const refuses = schemaOf(() => ({ issues: [{ path, message: "odd" }] }));
    expect(parseWithSchemaSync(refuses, {})).toEqual({ ok: false, issues: [{ path: shown, message: "odd" }] });
  });

  test("TOOL-2 LIM-9 of a path with many keys no more are read than are shown", () => {
    let read = 0;
    const part = {
      get key() {
        read += 1;
        return "x";
      },
    };
    const path = Array.from({ length: 100_000 }, () => part);
    parseWithSchemaSync(
      schemaOf(() => ({ issues: [{ path, message: "odd" }] })),
      {},
    );
    // Each takes two characters with its dot, but the first.
    expect(read).toBe(501);
  });

  test("TOOL-2 a message that ends its own sentence makes no second full stop, and three dots stay", () => {
    const issues = ["Must be paid.", "Not yet...", "odd"].map((message) => ({ path: "a", message }));
    expect(describeIssues(issues)).toBe("a: Must be paid; a: Not yet...; a: odd");
  });
});
