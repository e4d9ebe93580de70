import { DefinitionError, definePrompt, defineTool, overrideOf, type PromptOverride } from "@proviso/core";
import { checkOverride } from "@proviso/core/internal";
import { expect, test } from "vitest";
import { z } from "zod";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string().describe("where"), deep: z.boolean().default(false) }),
  execute: ({ at }) => at,
});
const template = definePrompt({
  ns: "tests",
  key: "overridden",
  params: z.object({ name: z.string() }),
  sections: [
    { key: "guide", title: "Guide", text: "Help {{name}}.", tools: [look] },
    { key: "more", title: "More", text: "Details.", summary: "Some details.", visibility: "full" },
    { key: "law", title: "Law", text: "Never lie.", acceptsOverrides: false },
  ],
});
const { descriptor } = template;
const prompt = template.bind({ name: "Ada" });
const override = (parts: Partial<PromptOverride>): PromptOverride => ({ tag: "t", sections: {}, tools: {}, ...parts });
const hash = (key: string): string => descriptor.sections[key] ?? descriptor.tools[key] ?? "";

test("OVR-1 an override replaces text, summary, visibility, a tool's description and its parameters' descriptions", () => {
  const rendered = prompt.render({
    overrides: override({
      sections: {
        guide: { hash: hash("guide"), text: "Serve {{name}} well." },
        more: { hash: hash("more"), summary: "Ask for more.", visibility: "summary" },
      },
      tools: { look: { hash: hash("look"), description: "Looks closely.", params: { at: "which place" } } },
    }),
  });
  expect(rendered.text).toContain("## 1. Guide\n\nServe Ada well.");
  expect(rendered.text).toContain("## 2. More\n\nAsk for more.\n\n(Summary.");
  const tool = rendered.tools.find(({ name }) => name === "look");
  expect(tool?.description).toBe("Looks closely.");
  const json = tool?.input["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  expect(json).toMatchObject({ properties: { at: { type: "string", description: "which place" }, deep: {} } });
  expect(rendered.overrides).toEqual({ tag: "t", applied: ["guide", "more", "look"], stale: [] });
});

test("OVR-2 what was written for another text is skipped and listed", () => {
  const rendered = prompt.render({
    overrides: override({
      sections: {
        guide: { hash: "0".repeat(64), text: "Old." },
        gone: { hash: "1", text: "x" },
        constructor: { hash: "1", text: "x" },
        law: { hash: hash("law"), text: "Lie." },
      },
      tools: { look: { hash: "2", description: "Old." } },
    }),
  });
  expect(rendered.overrides).toEqual({ tag: "t", applied: [], stale: ["guide", "gone", "constructor", "law", "look"] });
  expect(rendered.text).toBe(prompt.render().text);
});

test("OVR-2 OVR-3 one that is stale, unknown, fixed or names unknown params cannot be stored", () => {
  const refusals: Partial<PromptOverride>[] = [
    { sections: { guide: { hash: "0" } } },
    { sections: { gone: { hash: "0" } } },
    { sections: { law: { hash: hash("law"), text: "Lie." } } },
    { tools: { look: { hash: "0" } } },
    { tools: { gone: { hash: "0" } } },
    { sections: { guide: { hash: hash("guide"), text: "Help {{nmae}}." } } },
    { sections: { more: { hash: hash("more"), summary: "{{nope}}" } } },
    { sections: { guide: { hash: hash("guide"), text: "Help {{}}." } } },
    { sections: { guide: { hash: hash("guide"), visibility: "summary" } } },
    { tag: "../up" },
  ];
  for (const parts of refusals) expect(() => checkOverride(override(parts), descriptor)).toThrow(DefinitionError);
  checkOverride(override({ sections: { guide: { hash: hash("guide"), text: "{{name}}!" } } }), descriptor);
});

test("OVR-3 an unknown placeholder is refused again when it is rendered", () => {
  const overrides = override({ sections: { guide: { hash: hash("guide"), text: "{{nope}}" } } });
  expect(() => prompt.render({ overrides })).toThrow(DefinitionError);
});

test("OVR-4 the current texts make an override that changes nothing", () => {
  const current = overrideOf(template, "seed");
  checkOverride(current, descriptor);
  expect(Object.keys(current.sections)).toEqual(["guide", "more"]);
  expect(current.tools["look"]).toMatchObject({ description: "Looks.", params: { at: "where" } });
  expect(prompt.render({ overrides: current }).text).toBe(prompt.render().text);
});

test("PRM-2 a value in an overridden text is not scanned again", () => {
  const overrides = override({ sections: { guide: { hash: hash("guide"), text: "{{name}} \\{{name}}" } } });
  expect(template.bind({ name: "{{name}} $&" }).render({ overrides }).text).toContain("{{name}} $& {{name}}");
});

test("OVR-1 a section may be summarised by an override only where there is a summary", () => {
  const bare = override({ sections: { guide: { hash: hash("guide"), visibility: "summary" } } });
  expect(() => prompt.render({ overrides: bare })).toThrow(/section "guide" is to be shown as a summary, but has none/);
  const summarised = { hash: hash("guide"), visibility: "summary", summary: "For {{name}}." } as const;
  const withSummary = override({ sections: { guide: summarised } });
  expect(prompt.render({ overrides: withSummary }).text).toContain("For Ada.\n\n(Summary. Call open_sections");
});

test("OVR-2 OVR-3 a stale text that names a param of then is skipped, not refused", () => {
  const overrides = override({ sections: { guide: { hash: "0".repeat(64), text: "Help {{nickname}} {{}}." } } });
  expect(prompt.render({ overrides }).overrides).toEqual({ tag: "t", applied: [], stale: ["guide"] });
});
