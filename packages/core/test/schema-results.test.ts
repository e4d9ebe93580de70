import { parseWithSchema, parseWithSchemaSync } from "@proviso/core/internal";
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
    expect(() => parseWithSchemaSync(schemaOf(validate), {})).toThrow("An asynchronous schema cannot be used here.");
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
});
