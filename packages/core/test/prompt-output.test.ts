import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DefinitionError, definePrompt } from "@proviso/core";
import { strictSchema } from "@proviso/core/provider";
import { wrappedSchema, wrapperKey, type OutputSpec } from "@proviso/core/internal";
import { caught } from "./support/caught.ts";

const define = (output: z.ZodType) =>
  definePrompt({
    ns: "a",
    key: "b",
    output,
    sections: [
      { key: "s", text: "x" },
      { key: "u", text: "u", role: "user" },
    ],
  });
const specOf = (output: z.ZodType): OutputSpec<unknown> => {
  const spec = define(output).bind({}).render().output;
  if (spec === undefined) throw new Error("no output");
  return spec;
};

describe("OUT-3 wrapping", () => {
  test("OUT-3 an object stays as it is, an array travels in items and a value in value", () => {
    expect(wrapperKey).toEqual({ array: "items", value: "value" });
    const object = specOf(z.object({ a: z.string() }));
    expect(object.container).toBe("object");
    expect(wrappedSchema(object)).toBe(object.jsonSchema);
    const wrapped = (key: string, schema: unknown) => ({
      type: "object",
      properties: { [key]: schema },
      required: [key],
      additionalProperties: false,
    });
    expect(wrappedSchema(specOf(z.array(z.string())))).toEqual(
      wrapped("items", { type: "array", items: { type: "string" } }),
    );
    expect(wrappedSchema(specOf(z.enum(["a", "b"])))).toEqual(wrapped("value", { type: "string", enum: ["a", "b"] }));
    expect(specOf(z.union([z.object({}), z.string()])).container).toBe("value");
  });

  test("OUT-3 definitions move to the wrapper's root, where references find them", () => {
    const Named = z.object({ s: z.string() }).meta({ id: "Named" });
    const wrapped = wrappedSchema(specOf(z.array(z.object({ a: Named, b: Named }))));
    expect(wrapped["$defs"]).toEqual({ Named: expect.objectContaining({ type: "object" }) });
    expect(JSON.stringify(wrapped["properties"])).toContain('"$ref":"#/$defs/Named"');
  });

  test("OUT-3 a root that refers to itself still does when it is wrapped", () => {
    const Expression: z.ZodType = z.lazy(() =>
      z.union([z.number(), z.object({ left: Expression, right: Expression })]),
    );
    const wrapped = wrappedSchema(specOf(Expression));
    expect(JSON.stringify(wrapped)).not.toContain('"$ref":"#"');
    expect(wrapped).toMatchObject({
      properties: { value: { $ref: "#/$defs/__root" } },
      $defs: { __root: { anyOf: [{ type: "number" }, { properties: { left: { $ref: "#/$defs/__root" } } }] } },
    });
    expect(strictSchema(wrapped)?.restore({ value: { left: 1, right: { left: 2, right: 3 } } })).toEqual({
      value: { left: 1, right: { left: 2, right: 3 } },
    });
  });
});

describe("OUT-6 output instructions", () => {
  const schema = z.object({ answer: z.string() });

  test("OUT-6 the schema is in the text only when it is asked for", () => {
    const prompt = define(schema).bind({});
    expect(prompt.render().text).not.toContain("JSON");
    const { system, user } = prompt.render({ outputInstructions: true });
    expect(user).toBe("u");
    expect(system).toMatch(/^x\n\nAnswer with JSON alone/);
    const fenced = /```json\n(.*)\n```$/.exec(system)?.[1] ?? "";
    expect(JSON.parse(fenced)).toEqual(prompt.render().output?.jsonSchema);
  });

  test("OUT-6 the prompt's own wish is the default, and an option wins over it", () => {
    const template = definePrompt({
      ns: "a",
      key: "b",
      output: schema,
      outputInstructions: true,
      sections: [{ key: "s", text: "x" }],
    });
    expect(template.bind({}).render().text).toContain("JSON");
    expect(template.bind({}).render({ outputInstructions: false }).text).toBe("x");
  });

  test("OUT-6 a text prompt has nothing to instruct", () => {
    const template = definePrompt({ ns: "a", key: "b", outputInstructions: true, sections: [{ key: "s", text: "x" }] });
    expect(template.bind({}).render({ outputInstructions: true })).toMatchObject({ text: "x", output: undefined });
  });

  test("OUT-6 an output that cannot be written as JSON Schema is a DefinitionError", () => {
    expect(caught(() => define(z.date()))).toBeInstanceOf(DefinitionError);
    expect(caught(() => define("string" as never)).message).toContain("must be a Standard Schema");
  });
});

describe("OUT-5 asText", () => {
  test("OUT-5 asText is the same prompt without its output", () => {
    const prompt = define(z.object({ answer: z.string() })).bind({});
    const text = prompt.asText();
    expect(text.render()).toMatchObject({ text: prompt.render().text, output: undefined });
    expect(text.render({ outputInstructions: true }).text).not.toContain("JSON");
    expect(text.params).toBe(prompt.params);
    expect(text.template).toBe(prompt.template);
    expect(Object.isFrozen(text)).toBe(true);
    expect(prompt.render().output).toBeDefined();
  });
});
