import { describe, expect, test } from "vitest";
import { z } from "zod";
import { definePrompt, defineSection, provide, resourceKey } from "@proviso/core";
import { policy, tool } from "./support/tools.ts";

const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen));

describe("PRM-2 immutability", () => {
  test("PRM-2 a template, its descriptor and its slices are frozen", () => {
    const template = definePrompt({ ns: "a", key: "b", sections: [{ key: "s", tools: [tool("t")] }] });
    expect(Object.isFrozen(template)).toBe(true);
    expect(isDeepFrozen(template.descriptor)).toBe(true);
    expect(Object.isFrozen(template.slices)).toBe(true);
  });

  test("PRM-2 a bound prompt and its params are frozen at every depth", () => {
    const params = z.object({ list: z.array(z.object({ x: z.number() })), any: z.any() });
    const template = definePrompt({ ns: "a", key: "b", params, sections: [] });
    const prompt = template.bind({ list: [{ x: 1 }], any: { deep: { y: 1 } } });
    expect(Object.isFrozen(prompt)).toBe(true);
    expect(isDeepFrozen(prompt.params)).toBe(true);
    expect(prompt.params).toEqual({ list: [{ x: 1 }], any: { deep: { y: 1 } } });
  });

  test("PRM-2 the caller's own params stay the caller's: not frozen, and later changes have no effect", () => {
    const template = definePrompt({ ns: "a", key: "b", params: z.object({ any: z.any() }), sections: [] });
    const circular: Record<string, unknown> = { n: 1 };
    circular["self"] = circular;
    const given = { any: { list: [1], circular } };
    const { params } = template.bind(given);
    given.any.list.push(2);
    expect(Object.isFrozen(given.any)).toBe(false);
    expect(params).toMatchObject({ any: { list: [1], circular: { n: 1 } } });
  });

  test("PRM-2 instances of classes are passed on as they are", () => {
    const map = new Map([["a", 1]]);
    const template = definePrompt({ ns: "a", key: "b", params: z.object({ map: z.any() }), sections: [] });
    expect(template.bind({ map }).params["map"]).toBe(map);
    expect(Object.isFrozen(map)).toBe(false);
  });

  test("PRM-2 changing the definition afterwards changes nothing", () => {
    const key = resourceKey<string>("r");
    const tools = [tool("t")];
    const policies = [policy("p")];
    const resources = [provide(key, "x")];
    const section = { key: "s", title: "T", text: "x", tools, policies, resources, enabled: () => true };
    const sections = [section];
    const template = definePrompt({ ns: "a", key: "b", sections, policies, resources });
    const before = template.bind({}).render();
    Object.assign(section, { title: "Changed", text: "changed", enabled: () => false });
    sections.push({ ...section, key: "other" });
    tools.push(tool("late"));
    policies.push(policy("late"));
    resources.push(provide(key, "late"));
    const after = template.bind({}).render();
    expect(after.text).toBe(before.text);
    expect(after.tools.map(({ name }) => name)).toEqual(["t"]);
    expect(after.policiesOf("t").map(({ name }) => name)).toEqual(["p", "p"]);
    expect(after.resources).toHaveLength(2);
  });

  test("PRM-2 sections and rendered prompts are frozen", () => {
    expect(Object.isFrozen(defineSection({ key: "s", text: "x" }))).toBe(true);
    const rendered = definePrompt({ ns: "a", key: "b", sections: [{ key: "s", text: "x" }] })
      .bind({})
      .render();
    expect(Object.isFrozen(rendered)).toBe(true);
    expect(Object.isFrozen(rendered.tools)).toBe(true);
  });
});
