import { describe, expect, test } from "vitest";
import { z } from "zod";
import { definePrompt, provide, resourceKey } from "@proviso/core";
import { RenderFault } from "@proviso/core/internal";
import { caught } from "./support/caught.ts";
import { policy, tool } from "./support/tools.ts";

const outer = resourceKey<string>("outer");
const inner = resourceKey<string>("inner");
let asked = 0;
const template = definePrompt({
  ns: "a",
  key: "b",
  params: z.object({ on: z.boolean() }),
  policies: [policy("prompt")],
  sections: [
    {
      key: "s",
      text: "outer",
      enabled: ({ on }) => on,
      tools: [tool("outer")],
      policies: [policy("outer")],
      resources: [provide(outer, "x")],
      children: [
        {
          key: "c",
          text: "inner",
          enabled: () => (asked += 1) > 0,
          tools: [tool("inner")],
          policies: [policy("inner")],
          resources: [provide(inner, "y")],
        },
      ],
    },
    { key: "rest", text: "rest", tools: [tool("rest")] },
  ],
});

describe("PRM-5 disabled sections", () => {
  test("PRM-5 an enabled section brings its text, tools, policies and resources, and its children's", () => {
    const rendered = template.bind({ on: true }).render();
    expect(rendered.text).toBe("outer\n\ninner\n\nrest");
    expect(rendered.tools.map(({ name }) => name)).toEqual(["outer", "inner", "rest"]);
    expect(rendered.policiesOf("inner").map(({ name }) => name)).toEqual(["inner", "outer", "prompt"]);
    expect(rendered.policiesOf("rest").map(({ name }) => name)).toEqual(["prompt"]);
    expect(rendered.resources.map(({ key }) => key.name)).toEqual(["outer", "inner"]);
  });

  test("PRM-5 a disabled section vanishes with all of it, and its children are not asked", () => {
    asked = 0;
    const rendered = template.bind({ on: false }).render();
    expect(rendered.text).toBe("rest");
    expect(rendered.tools.map(({ name }) => name)).toEqual(["rest"]);
    expect(rendered.policiesOf("inner").map(({ name }) => name)).toEqual(["prompt"]);
    expect(rendered.resources).toEqual([]);
    expect(asked).toBe(0);
  });

  test("PRM-5 an enabled function that throws is a RenderFault that names its section", () => {
    const fragile = definePrompt({
      ns: "a",
      key: "b",
      sections: [
        {
          key: "s",
          enabled() {
            throw new Error("no idea");
          },
        },
      ],
    });
    const fault = caught(() => fragile.bind({}).render()) as RenderFault;
    expect(fault).toBeInstanceOf(RenderFault);
    expect(fault).toMatchObject({ section: "s", placeholder: undefined, cause: { message: "no idea" } });
    expect(fault.message).toContain("no idea");
  });
});
