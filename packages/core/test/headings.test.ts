import { describe, expect, test } from "vitest";
import { z } from "zod";
import { definePrompt, type Section } from "@proviso/core";

const template = definePrompt({
  ns: "a",
  key: "b",
  params: z.object({ first: z.boolean(), child: z.boolean() }),
  sections: [
    { key: "one", title: "One", text: "1", enabled: ({ first }) => first },
    {
      key: "two",
      title: "Two",
      children: [
        { key: "x", title: "X", text: "2.1", enabled: ({ child }) => child },
        { key: "y", title: "Y", text: "2.2", children: [{ key: "deep", title: "Deep", text: "2.2.1" }] },
      ],
    },
    { key: "three", text: "no title" },
    { key: "four", title: "Four" },
  ],
});

describe("PRM-4 headings", () => {
  test.each([undefined, "", " \t"])("PRM-4 a section with the title %j has no heading", (title) => {
    const prompt = definePrompt({
      key: "k",
      sections: [
        { key: "a", title, text: "A" },
        { key: "b", title, text: "B", children: [{ key: "c", title, text: "C" }] },
        { key: "d", title, summary: "D", visibility: "summary" },
      ],
    });
    expect(prompt.bind().render().text).toMatch(/^A\n\nB\n\nC\n\nD\n\n\(Summary\./);
  });

  test("PRM-4 headings carry the number of their place, one level deeper for each generation", () => {
    expect(template.bind({ first: true, child: true }).render().text).toBe(
      [
        "## 1. One",
        "1",
        "## 2. Two",
        "### 2.1. X",
        "2.1",
        "### 2.2. Y",
        "2.2",
        "#### 2.2.1. Deep",
        "2.2.1",
        "no title",
        "## 4. Four",
      ].join("\n\n"),
    );
  });

  test("PRM-4 a disabled section leaves a gap and the others keep their numbers", () => {
    expect(template.bind({ first: false, child: false }).render().text).toBe(
      ["## 2. Two", "### 2.2. Y", "2.2", "#### 2.2.1. Deep", "2.2.1", "no title", "## 4. Four"].join("\n\n"),
    );
  });

  test("PRM-4 headings stop at six #, as markdown does", () => {
    const nested = (depth: number): Section => ({
      key: "s",
      title: "T",
      children: depth === 1 ? [] : [nested(depth - 1)],
    });
    const deep = definePrompt({ ns: "a", key: "b", sections: [nested(7)] });
    expect(deep.bind({}).render().text.split("\n\n").slice(-3)).toEqual([
      "###### 1.1.1.1.1. T",
      "###### 1.1.1.1.1.1. T",
      "###### 1.1.1.1.1.1.1. T",
    ]);
  });

  test("PRM-4 user and system sections are numbered together", () => {
    const mixed = definePrompt({
      ns: "a",
      key: "b",
      sections: [
        { key: "u", title: "U", role: "user" },
        { key: "s", title: "S" },
      ],
    });
    expect(mixed.bind({}).render()).toMatchObject({ user: "## 1. U", system: "## 2. S" });
  });
});
