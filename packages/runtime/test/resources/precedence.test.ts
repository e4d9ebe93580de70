import { definePrompt, defineTool, provide } from "@proviso/core";
import { openResources } from "@proviso/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { a, b, c, evaluateCalls } from "./support.ts";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  execute: (_, { resources }) => [a, b, c].map((key) => resources.find(key) ?? "unbound").join(),
});
const prompt = definePrompt({
  ns: "tests",
  key: "precedence",
  resources: [a, b, c].map((key) => provide(key, "template")),
  sections: [{ key: "s", text: "S.", tools: [look], resources: [a, b].map((key) => provide(key, "section")) }],
}).bind({});

test("RES-1 the options' bindings win over the section's, the section's over the template's", async () => {
  const seen = async (resources: Parameters<typeof evaluateCalls>[2]) =>
    (await evaluateCalls(prompt, [{ name: "look" }], resources)).toolResults[0]?.result;
  expect(await seen({ resources: [provide(a, "option")] })).toMatchObject({ value: "option,section,template" });
  expect(await seen({})).toMatchObject({ value: "section,section,template" });
  await using opened = await openResources([provide(a, "opened")]);
  expect(await seen({ resources: opened })).toMatchObject({ value: "opened,section,template" });
});

test("RES-1 of two bindings of one key in a list the later wins", async () => {
  await using opened = await openResources([provide(a, "first"), provide(a, "second")]);
  expect(opened.get(a)).toBe("second");
});

test("RES-1 of two opened scopes for one key the later counts, and of a scope and a binding too", async () => {
  await using first = await openResources([provide(a, "first"), provide(b, "first")]);
  await using second = await openResources([provide(b, "second"), provide(c, "second")]);
  const seen = async (resources: Parameters<typeof evaluateCalls>[2]) =>
    (await evaluateCalls(prompt, [{ name: "look" }], resources)).toolResults[0]?.result;
  expect(await seen({ resources: [first, second] })).toMatchObject({ value: "first,second,second" });
  expect(await seen({ resources: [second, first] })).toMatchObject({ value: "first,first,second" });
  const bound = provide(b, "bound");
  expect(await seen({ resources: [first, bound, second] })).toMatchObject({ value: "first,second,second" });
  expect(await seen({ resources: [first, second, bound] })).toMatchObject({ value: "first,bound,second" });
});
