import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DefinitionError, definePrompt } from "@proviso/core";
import { caught } from "./support/caught.ts";

describe("PRM-7 messages", () => {
  test("PRM-7 a prompt is called by its name, else ns/key", () => {
    expect(definePrompt({ ns: "a", key: "b", sections: [] }).name).toBe("a/b");
    expect(definePrompt({ ns: "a", key: "b", name: "Review", sections: [] }).name).toBe("Review");
  });

  test("PRM-7 user sections make the user message, the others the system message, each in order", () => {
    const template = definePrompt({
      ns: "a",
      key: "b",
      sections: [
        { key: "u1", text: "u1", role: "user", children: [{ key: "uc", text: "uc" }] },
        { key: "s1", text: "s1" },
        { key: "u2", text: "u2", role: "user" },
        { key: "s2", text: "s2", role: "system", children: [{ key: "sc", text: "sc" }] },
      ],
    });
    const { system, user, text } = template.bind({}).render();
    expect({ system, user }).toEqual({ system: "s1\n\ns2\n\nsc", user: "u1\n\nuc\n\nu2" });
    expect(text).toBe("u1\n\nuc\n\ns1\n\nu2\n\ns2\n\nsc");
  });

  test("PRM-7 a prompt without a user section is one user message", () => {
    const template = definePrompt({
      ns: "a",
      key: "b",
      sections: [
        { key: "s", text: "a" },
        { key: "t", text: "b" },
      ],
    });
    expect(template.bind({}).render()).toMatchObject({ system: "", user: "a\n\nb", text: "a\n\nb" });
  });

  test("PRM-7 the system text stays what it is where user sections are disabled or empty", () => {
    const template = definePrompt({
      ns: "a",
      key: "b",
      params: z.object({ on: z.boolean() }),
      sections: [
        { key: "s", text: "a", cached: true },
        { key: "u", role: "user", enabled: ({ on }) => on },
      ],
    });
    const cacheAt = { system: [1], user: [] };
    for (const on of [true, false])
      expect(template.bind({ on }).render()).toMatchObject({ system: "a", user: "", text: "a", cacheAt });
  });

  test("PRM-7 a child has its parent's role and no other", () => {
    const define = (parent: "user" | "system", child: "user" | "system") =>
      definePrompt({
        ns: "a",
        key: "b",
        sections: [{ key: "s", role: parent, children: [{ key: "c", role: child }] }],
      });
    expect(() => define("user", "user")).not.toThrow();
    expect(caught(() => define("user", "system"))).toBeInstanceOf(DefinitionError);
    expect(caught(() => define("system", "user")).message).toContain('"s.c" cannot be a "user" section');
  });
});
