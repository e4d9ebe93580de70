import { definePrompt, defineProviderTool, defineSection, defineTool } from "@proviso/core";
import { expect, test } from "vitest";
import { z } from "zod";

const search = defineProviderTool({ name: "search", id: "openai.web_search", args: { domains: ["nodejs.org"] } });
const own = defineTool({ name: "search", description: "Ours.", input: z.object({}), execute: () => 1 });

test("PTL-1 a provider tool comes and goes with its section", () => {
  const prompt = definePrompt({
    key: "news",
    params: z.object({ online: z.boolean() }),
    sections: [
      { key: "task", text: "What is new?" },
      { key: "web", text: "Search.", enabled: ({ online }) => online, providerTools: [search] },
    ],
  });
  expect(prompt.bind({ online: true }).render().providerTools).toEqual([search]);
  expect(prompt.bind({ online: false }).render().providerTools).toEqual([]);
});

test.each([
  ["one of ours", { tools: [own], providerTools: [search] }],
  ["another one of the provider", { providerTools: [search, search] }],
  ["one of the framework", { providerTools: [defineProviderTool({ name: "read_section", id: "a.b" })] }],
])("PTL-1 a provider tool with the name of %s is refused", (_, more) => {
  const section = { key: "task", text: "Search.", ...more };
  expect(() => definePrompt({ key: "news", sections: [section] })).toThrow(/Two tools have the name/);
});

test("PTL-1 the descriptor changes with the arguments of a provider tool, and a prompt without one has no such field", () => {
  const hashOf = (domains: readonly string[]) => {
    const tool = defineProviderTool({ name: "search", id: "openai.web_search", args: { domains } });
    return definePrompt({ key: "news", sections: [{ key: "task", text: "Search.", providerTools: [tool] }] }).descriptor
      .providerTools;
  };
  expect(Object.keys(hashOf(["a"]) ?? {})).toEqual(["search"]);
  expect(hashOf(["a"])).toEqual(hashOf(["a"]));
  expect(hashOf(["a"])).not.toEqual(hashOf(["b"]));
  expect(definePrompt({ key: "news", text: "Hello." }).descriptor).not.toHaveProperty("providerTools");
});

test.each([
  [{ name: "two words", id: "a.b" }, /must match/],
  [{ name: "search", id: "search" }, /needs an id such as/],
  [{ name: "search", id: "a.b", args: 5 }, /must be an object/],
  [{ name: "search", id: "a.b", more: 1 }, /more/],
  [undefined, /must be an object/],
])("PTL-1 %j is refused as a provider tool", (given, message) => {
  expect(() => defineProviderTool(given as never)).toThrow(message);
});

test("PTL-1 arguments that JSON cannot hold are refused", () => {
  expect(() => defineProviderTool({ name: "search", id: "a.b", args: { at: 5n } })).toThrow(/plain JSON/);
});

test("PTL-1 what was given is copied and frozen", () => {
  const args = { domains: ["a"] };
  const tool = defineProviderTool({ name: "search", id: "openai.web_search", args });
  args.domains.push("b");
  expect(tool.args).toEqual({ domains: ["a"] });
  const section = defineSection({ key: "web", text: "Search.", providerTools: [tool] });
  expect(
    definePrompt({ key: "news", sections: [section] })
      .bind()
      .render().providerTools,
  ).toEqual([tool]);
});
