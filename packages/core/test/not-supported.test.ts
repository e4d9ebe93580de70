import { describe, expect, test } from "vitest";
import { z } from "zod";
import { definePrompt, defineSection, defineTool, NotSupportedError, type Section } from "@proviso/core";
import { caught } from "./support/caught.ts";

const sections = [{ key: "s", text: "x" }] as const;
const withSection = (section: Section) => () => definePrompt({ ns: "a", key: "b", sections: [section] });
const prompt = definePrompt({ ns: "a", key: "b", sections }).bind({});
const exemplary = defineTool({
  name: "t",
  description: "x",
  input: z.object({}),
  examples: [{ description: "x", input: {}, output: 1 }],
  execute: () => 1,
});

describe("what is declared and not built yet is refused, never ignored", () => {
  test.each<[string, () => unknown]>([
    ["a summarised section", withSection({ key: "s", visibility: "summary" })],
    ["a nested summarised section", withSection({ key: "s", children: [{ key: "c", visibility: "summary" }] })],
    ["a computed visibility", withSection({ key: "s", visibility: () => "full" })],
    ["a shared section's visibility", () => defineSection({ key: "s", visibility: "summary" })],
    [
      "feedback",
      () =>
        definePrompt({
          ns: "a",
          key: "b",
          sections,
          feedback: [{ name: "f", every: { calls: 1 }, provide: () => "x" }],
        }),
    ],
    [
      "a completion checker",
      () => definePrompt({ ns: "a", key: "b", sections, completion: { name: "c", check: () => undefined } }),
    ],
    ["task examples", () => definePrompt({ ns: "a", key: "b", sections, examples: [{ objective: "o", steps: [] }] })],
    ["a tool's examples", withSection({ key: "s", tools: [exemplary as never] })],
    ["visibility in render", () => prompt.render({ visibility: { s: "full" } })],
    ["overrides in render", () => prompt.render({ overrides: { tag: "t", sections: {}, tools: {} } })],
  ])("%s", (_, use) => {
    const error = caught(use);
    expect(error).toBeInstanceOf(NotSupportedError);
    expect(error).toMatchObject({ code: "not_supported" });
    expect(error.message).toMatch(/ (is|are) not supported yet\.$/);
  });

  test("what asks for nothing is taken", () => {
    const plain = definePrompt({ ns: "a", key: "b", sections, feedback: [], examples: [], completion: undefined });
    expect(plain.bind({}).render({ visibility: {} }).text).toBe("x");
  });
});
