import { defineTool, definePrompt, type ObjectSchema } from "@proviso/core";
import { expect, test } from "vitest";

const schemaOf = (vendor: string): ObjectSchema =>
  ({ "~standard": { version: 1, vendor, validate: (value: unknown) => ({ value }) } }) as unknown as ObjectSchema;
const toolOf = (vendor: string) => () =>
  defineTool({ name: "t", description: "T.", input: schemaOf(vendor), execute: () => 1 });

test("DOC-14 a schema of an older zod is refused with what installs a newer one beside it", () => {
  expect(toolOf("zod")).toThrow(/zod 4\.2 or later.*`npm install zod4@npm:zod@4`.*"zod4"/);
  expect(() => definePrompt({ key: "p", text: "x", output: schemaOf("zod") })).toThrow("zod4@npm:zod@4");
  expect(toolOf("other")).toThrow(/zod 4\.2 or later, say\), and this one of other prints none\.$/);
});
