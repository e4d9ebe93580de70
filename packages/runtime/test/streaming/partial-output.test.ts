import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { answer, streamingModel, structured } from "./support.ts";

/** Every partial output that is shown while the text comes one character after the other. */
async function partialsOf(text: string, schema: z.ZodType): Promise<readonly unknown[]> {
  const model = streamingModel([{ pieces: text.split(""), answer: answer(text) }]);
  const partials: unknown[] = [];
  const stream = modelAdapter(model, fakeEnvironment()).stream(structured(schema));
  try {
    for await (const event of stream) if (event.type === "output.delta") partials.push(event.partial);
  } catch {
    // The whole answer is refused.
  }
  return partials;
}

const anything = z.record(z.string(), z.any());

test.each(["__proto__", "constructor", "prototype", "\\u005f_proto__"])(
  "SEC-2 STR-4 from the key %s on nothing is shown of an output, at any depth",
  async (key) => {
    const evil = `"${key}": {"isAdmin": true}`;
    for (const text of [
      `{${evil}, "a": "hello world, what a day"}`,
      `{"first": 1, "deep": [{"x": 2, ${evil}, "y": 3}], "last": "hello world"}`,
      `\`\`\`json\n{"first": 1, ${evil}, "last": "hello world"}\n\`\`\``,
    ]) {
      const partials = await partialsOf(text, anything);
      for (const partial of partials) {
        expect((partial as { readonly isAdmin?: unknown }).isAdmin).toBeUndefined();
        expect(Object.getPrototypeOf(partial)).toBe(Object.prototype);
        expect(JSON.stringify(partial)).not.toMatch(/isAdmin|last|hello/);
      }
    }
    expect(({} as { readonly isAdmin?: unknown }).isAdmin).toBeUndefined();
  },
);

test("SEC-2 STR-4 beyond the depth that an answer may have nothing is shown, however deep it goes", async () => {
  const nested = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  const deepest = async (depth: number) => {
    const model = streamingModel([{ pieces: [nested(depth)], answer: answer(nested(depth)) }]);
    const seen: unknown[] = [];
    const stream = modelAdapter(model, fakeEnvironment()).stream(structured(anything));
    try {
      for await (const event of stream) if (event.type === "output.delta") seen.push(event.partial);
    } catch (error) {
      expect(error).toMatchObject({ code: "output" });
    }
    return seen.length;
  };
  expect(await deepest(256)).toBe(1);
  expect(await deepest(257)).toBe(0);
  expect(await deepest(200_000)).toBe(0);
});

test.each([
  ['{"a":1,"b":tru', [{}, { a: 1 }]],
  ['{"a":12', [{}]],
  ['{"a":-1.5e3,', [{}, { a: -1_500 }]],
  ['{"a":null,"b":[true,fal', [{}, { a: null }, { a: null, b: [] }, { a: null, b: [true] }]],
  ['{"a":"x\\n\\u00e9\\', [{}, { a: "" }, { a: "x" }, { a: "x\n" }, { a: "x\né" }]],
  ['{"a":[1,2] "b":3}', [{}, { a: [] }, { a: [1] }, { a: [1, 2] }]],
  ['{"a":1 oops', [{}, { a: 1 }]],
  ['{"a":NaN}', [{}]],
])("STR-4 of %s is shown what can be read, and nothing from the first fault on", async (text, expected) => {
  expect(await partialsOf(text, anything)).toEqual(expected);
});

test("STR-4 the parts of any JSON grow towards the whole of it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.stringMatching(/^[a-z"\\ é]{0,4}$/), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
      async (value) => {
        const text = JSON.stringify(value, null, 1);
        const partials = await partialsOf(text, anything);
        expect(partials.at(-1)).toEqual(JSON.parse(text));
        const sizes = partials.map((partial) => JSON.stringify(partial).length);
        expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
      },
    ),
    { numRuns: 150, seed: 12 },
  );
});
