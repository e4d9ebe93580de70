import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DefinitionError, definePrompt, type ObjectSchema } from "@proviso/core";
import { caught } from "./support/caught.ts";

const greeting = definePrompt({
  ns: "a",
  key: "b",
  params: z.object({
    name: z.string(),
    times: z.number().int().default(1),
    deep: z.object({ x: z.number() }).optional(),
  }),
  sections: [{ key: "s", text: "{{name}} {{times}}" }],
});

describe("PRM-2 bind", () => {
  test("PRM-2 bind applies the schema's defaults", () => {
    const prompt = greeting.bind({ name: "Ada" });
    expect(prompt.params).toEqual({ name: "Ada", times: 1 });
    expect(prompt.render().text).toBe("Ada 1");
  });

  test("PRM-2 bind reports every issue at once, unknown keys among them", () => {
    const error = caught(() => greeting.bind({ times: 1.5, deep: { x: "1", y: 2 }, extra: true } as never));
    expect(error).toBeInstanceOf(DefinitionError);
    for (const part of ['"a/b"', "name: ", "times: ", "deep.x: ", "deep.y: unknown key", "extra: unknown key"]) {
      expect(error.message).toContain(part);
    }
  });

  test("PRM-2 bind refuses an unknown key by itself", () => {
    expect(caught(() => greeting.bind({ name: "Ada", nmae: "x" } as never)).message).toContain("nmae: unknown key");
  });

  test("PRM-2 bind refuses a key __proto__ and leaves Object.prototype alone", () => {
    const params: unknown = JSON.parse('{ "name": "Ada", "__proto__": { "times": 9 } }');
    expect(caught(() => greeting.bind(params as never)).message).toContain("__proto__: unknown key");
    expect("times" in {}).toBe(false);
  });

  test.each([undefined, null, 1, "x", ["Ada"]])("PRM-2 bind refuses %j in place of params", (params) => {
    expect(caught(() => greeting.bind(params as never))).toBeInstanceOf(DefinitionError);
  });

  test("PRM-2 a prompt without params takes none", () => {
    const plain = definePrompt({ ns: "a", key: "b", sections: [{ key: "s", text: "x" }] });
    expect(plain.bind({}).params).toEqual({});
    expect(caught(() => plain.bind({ name: 1 } as never)).message).toContain("takes no params, but was given: name");
  });

  test("PRM-2 params of a loose schema may have more keys, and these can be shown", () => {
    const loose = definePrompt({
      ns: "a",
      key: "b",
      params: z.looseObject({}),
      sections: [{ key: "s", text: "{{any}}" as string }],
    });
    expect(loose.bind({ any: 1 }).render().text).toBe("1");
  });

  test("PRM-2 params may be what JSON Schema cannot say: transforms, dates, bigints", () => {
    const params = z.object({ id: z.bigint(), name: z.string().transform((s) => s.toUpperCase()), at: z.date() });
    const template = definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", text: "{{id}} {{name}}" }] });
    const bound = { id: 9_007_199_254_740_993n, name: "ada", at: new Date(0) };
    expect(template.bind(bound).render().text).toBe("9007199254740993 ADA");
    expect(caught(() => template.bind({ ...bound, more: 1 } as never)).message).toContain("more: unknown key");
    const misspelt = () =>
      definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", text: "{{idd}}" as string }] });
    expect(caught(misspelt).message).toContain("idd");
  });
});

describe("PRM-2 asynchronous schemas", () => {
  const define = (params: ObjectSchema) => definePrompt({ ns: "a", key: "b", params, sections: [] });

  test("PRM-2 an asynchronous params schema is refused", () => {
    const error = caught(() => define(z.object({ name: z.string().refine(async () => true) })).bind({ name: "x" }));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toMatch(
      /^The params of "a\/b" cannot be checked: an asynchronous schema cannot be used here\./u,
    );
  });

  test("PRM-2 a late rejection of an asynchronous schema is swallowed, not unhandled", async () => {
    const json = () => ({ type: "object", properties: {} });
    const params: ObjectSchema = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: () => Promise.reject(new Error("late")),
        jsonSchema: { input: json, output: json },
      },
    };
    expect(caught(() => define(params).bind({})).message).toContain("asynchronous");
    // An unhandled rejection would fail the run here.
    await new Promise((resolve) => setTimeout(resolve, 0));
  });
});

test("PRM-2 params that nest too deep to be kept are refused by name", () => {
  let value: unknown = {};
  for (let level = 0; level < 20_000; level++) value = { a: value };
  const deep = definePrompt({ ns: "a", key: "b", params: z.object({ value: z.unknown() }), sections: [] });
  const error = caught(() => deep.bind({ value }));
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toBe('The params of "a/b" cannot be kept: a value in them nests too deep.');
});
