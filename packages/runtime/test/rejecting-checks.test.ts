// Checks of schemas that ask a database, say, which is not there: what they reject with belongs to the call or the answer.
import { DefinitionError, defineEvent, definePrompt, defineTool, type Schema } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { invokeTool, scriptedModel } from "@proviso/runtime/testing";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { z as zod3 } from "zod/v3";

let asked = 0;
/** It returns a promise, and is no async function by itself. */
const isFree = (id: string): Promise<boolean> => {
  asked += 1;
  return id === "free" ? Promise.resolve(true) : Promise.reject(new Error("the database is gone"));
};

const rejections: unknown[] = [];
const hear = (reason: unknown): void => void rejections.push(reason);
beforeAll(() => void process.on("unhandledRejection", hear));
afterAll(() => void process.off("unhandledRejection", hear));
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(rejections).toEqual([]);
});

const inside = z.string().refine(async (id) => isFree(id));
const tree: z.ZodType = z.lazy(() => z.object({ id: inside, children: z.array(tree).optional() }));
const valibot = (id: v.GenericSchemaAsync<string>): Schema => {
  // It prints a schema without its asynchronous check.
  const printed = toStandardJsonSchema(v.object({ id: v.string() }));
  const { validate } = v.objectAsync({ id })["~standard"];
  return { "~standard": { ...printed["~standard"], validate } } as unknown as Schema;
};

const schemas: readonly (readonly [string, Schema])[] = [
  ["zod: refine", z.object({ id: z.string().refine(isFree) })],
  ["zod: an async refine", z.object({ id: inside })],
  ["zod: superRefine", z.object({ id: z.string() }).superRefine(async ({ id }) => void (await isFree(id)))],
  ["zod: check", z.object({ id: z.string() }).check(async ({ value }) => void (await isFree(value.id)))],
  ["zod: a transform", z.object({ id: z.string().transform(async (id) => ((await isFree(id)) ? id : "")) })],
  ["zod: a union", z.object({ id: z.union([z.number(), inside]) })],
  ["zod: an intersection", z.intersection(z.object({ id: z.string() }), z.looseObject({ id: inside }))],
  ["zod: a recursive schema", tree as Schema],
  [
    "zod: a record",
    z.object({ id: z.string(), more: z.record(z.string(), inside).optional() }).and(z.looseObject({ id: inside })),
  ],
  ["valibot", valibot(v.pipeAsync(v.string(), v.checkAsync(isFree)))],
];

describe.each(schemas)("TOOL-2 OUT-2 %s", (_, schema) => {
  const tool = defineTool({
    name: "reserve",
    description: "Reserves an id.",
    input: schema as Schema<unknown, { id: string }>,
    execute: ({ id }) => `reserved ${id}`,
  });

  test("TOOL-2 a check of arguments that rejects is a failed call, and was run once", async () => {
    for (let time = 0; time < 2; time++) {
      asked = 0;
      const { result } = await invokeTool(tool, { id: "taken" } as never);
      expect(result).toMatchObject({ success: false });
      expect(result.message).toContain("the database is gone");
      expect(asked).toBe(1);
    }
    expect((await invokeTool(tool, { id: "free" } as never)).result).toMatchObject({ value: "reserved free" });
    const unknown = await invokeTool(tool, { id: "free", other: 1 } as never);
    if (!_.includes("intersection") && !_.includes("record")) expect(unknown.result.success).toBe(false);
  });

  test("OUT-2 a check of an answer that rejects is an answer that cannot be taken", async () => {
    const prompt = definePrompt({ key: "p", text: "Choose an id.", output: schema as Schema<unknown, unknown> }).bind();
    const answer = (id: string) => modelAdapter(scriptedModel([{ output: { id } }])).evaluate(prompt);
    await expect(answer("taken")).rejects.toMatchObject({ code: expect.any(String) });
    expect(await answer("free")).toMatchObject({ output: { id: "free" } });
  });
});

test("TOOL-2 what cannot be waited for is refused before an async check of it begins", () => {
  asked = 0;
  const params = z.object({ id: inside });
  const prompt = definePrompt({ key: "p", params, text: "{{id}}" });
  expect(() => prompt.bind({ id: "taken" })).toThrow("asynchronous");
  expect(() => defineEvent("reserved", params)({ id: "taken" })).toThrow("asynchronous");
  expect(asked).toBe(0);
});

test("TOOL-2 a schema of zod 3 prints no JSON Schema: it is refused when the tool is defined", () => {
  const input = zod3.object({ id: zod3.string().refine(isFree) });
  const define = () => defineTool({ name: "t", description: "d", input: input as never, execute: () => "" });
  expect(define).toThrow(DefinitionError);
});

test("TOOL-2 a schema that throws while it is looked through is refused where it is used", async () => {
  const broken = z.object({
    get id(): z.ZodString {
      throw new Error("no shape");
    },
  });
  const define = () => defineTool({ name: "t", description: "d", input: broken, execute: () => "" });
  expect(define).toThrow("no shape");
});
