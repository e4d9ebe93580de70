import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { definePrompt, defineTool, type Section } from "@proviso/core";
import { tool } from "./support/tools.ts";

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");
const sectionHash = (section: Omit<Section, "key">): string | undefined =>
  definePrompt({ ns: "a", key: "b", sections: [{ key: "s", ...section }] }).descriptor.sections["s"];
const toolHash = (more: { description?: string; input?: z.ZodObject; output?: z.ZodType }): string | undefined => {
  const made = defineTool({
    name: "t",
    description: "D",
    input: z.object({}),
    execute: () => undefined as never,
    ...more,
  });
  return definePrompt({ ns: "a", key: "b", sections: [{ key: "s", tools: [made as never] }] }).descriptor.tools["t"];
};

describe("PRM-10 the descriptor", () => {
  test("PRM-10 it names sections by dotted path and tools by name", () => {
    const { descriptor } = definePrompt({
      ns: "a",
      key: "b",
      sections: [{ key: "s", tools: [tool("t")], children: [{ key: "c", tools: [tool("u")] }] }],
    });
    expect(descriptor).toMatchObject({ ns: "a", key: "b" });
    expect(Object.keys(descriptor.sections)).toEqual(["s", "s.c"]);
    expect(Object.keys(descriptor.tools)).toEqual(["t", "u"]);
  });

  test("PRM-10 a section's hash is the SHA-256 of text, summary and visibility as canonical JSON", () => {
    expect(sectionHash({ text: "Grüße 👋" })).toBe(sha256('{"summary":null,"text":"Grüße 👋","visibility":"full"}'));
    expect(sectionHash({ summary: "S" })).toBe(sha256('{"summary":"S","text":null,"visibility":"full"}'));
  });

  test("PRM-10 a section's hash changes with its text and summary, and with nothing else", () => {
    const base = sectionHash({ text: "x" });
    expect(sectionHash({ text: "x", title: "T", role: "user", tools: [tool("t")], enabled: () => true })).toBe(base);
    expect(sectionHash({ text: "x", visibility: "full" })).toBe(base);
    expect(sectionHash({ text: "x " })).not.toBe(base);
    expect(sectionHash({ text: "x", summary: "" })).not.toBe(base);
  });

  test("PRM-10 a tool's hash is the SHA-256 of description, input and output schema as canonical JSON", () => {
    expect(toolHash({ output: z.string() })).toBe(
      sha256('{"description":"D","input":{"properties":{},"type":"object"},"output":{"type":"string"}}'),
    );
  });

  test("PRM-10 a tool's hash changes with its description, input and output", () => {
    const hashes = [
      toolHash({}),
      toolHash({ description: "E" }),
      toolHash({ input: z.object({ a: z.string() }) }),
      toolHash({ input: z.object({ a: z.string().describe("said") }) }),
      toolHash({ output: z.string() }),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(toolHash({})).toBe(hashes[0]);
  });

  test("PRM-10 the descriptor is the template's: disabled sections are in it, params are not", () => {
    const template = definePrompt({
      ns: "a",
      key: "b",
      params: z.object({ v: z.string() }),
      sections: [{ key: "s", text: "{{v}}", enabled: () => false }],
    });
    expect(template.bind({ v: "1" }).render().descriptor).toBe(template.descriptor);
    expect(Object.keys(template.descriptor.sections)).toEqual(["s"]);
  });
});
