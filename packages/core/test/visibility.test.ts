import { DefinitionError, definePrompt, defineTool } from "@proviso/core";
import { RenderFault } from "@proviso/core/internal";
import { expect, test } from "vitest";
import { z } from "zod";
import { caught } from "./support/caught.ts";

const tool = (name: string) => defineTool({ name, description: name, input: z.object({}), execute: () => name });
const runbook = definePrompt({
  ns: "tests",
  key: "runbook",
  params: z.object({ expert: z.boolean().default(false), host: z.string().default("db-1") }),
  sections: [
    { key: "intro", title: "Intro", text: "Work." },
    {
      key: "disk",
      title: "Disk",
      text: "Look at {{host}}.",
      summary: "What to do when {{host}} is full.",
      visibility: "summary",
      tools: [tool("df")],
      children: [
        { key: "clean", title: "Clean", text: "Clean up.", tools: [tool("rm")] },
        { key: "more", title: "More", text: "All of it.", summary: "More.", visibility: "summary" },
      ],
    },
    {
      key: "history",
      title: "History",
      text: "Long ago.",
      summary: "Old cases.",
      visibility: ({ expert }) => (expert ? "full" : "summary"),
      children: [{ key: "older", title: "Older", text: "Longer ago." }],
    },
  ],
});

test("VIS-1 a summarised section shows its summary and the line that opens it; children and tools are absent", () => {
  const { text, tools, summarised } = runbook.bind().render();
  expect(text).toBe(
    [
      "## 1. Intro",
      "Work.",
      "## 2. Disk",
      "What to do when db-1 is full.",
      '(Summary. Call open_sections with the key "disk" to open it with its tools.)',
      "## 3. History",
      "Old cases.",
      '(Summary. Call read_section with the key "history" to read it.)',
    ].join("\n\n"),
  );
  expect(tools.map(({ name }) => name)).toEqual(["open_sections", "read_section"]);
  expect(summarised).toEqual([
    { path: "disk", hasTools: true },
    { path: "history", hasTools: false },
  ]);
});

test("VIS-2 the framework offers open_sections, read_section, both or neither, after the user's tools", () => {
  const offered = (visibility: Record<string, "full" | "summary">, expert = false) =>
    runbook
      .bind({ expert })
      .render({ visibility })
      .tools.map(({ name }) => name);
  expect(offered({ disk: "full" })).toEqual(["df", "rm", "read_section"]);
  expect(offered({}, true)).toEqual(["open_sections"]);
  expect(offered({ disk: "full", "disk.more": "full" }, true)).toEqual(["df", "rm"]);
});

test("VIS-2 keys of nested sections are dotted paths, and can be opened only below open ones", () => {
  const paths = (visibility: Record<string, "full" | "summary">) =>
    runbook
      .bind()
      .render({ visibility })
      .summarised.map(({ path }) => path);
  expect(paths({ disk: "full" })).toEqual(["disk.more", "history"]);
  expect(paths({ "disk.more": "full" })).toEqual(["disk", "history"]);
});

test("VIS-5 read_section gives the whole text with what is below, and changes nothing", async () => {
  const rendered = runbook.bind().render();
  const read = rendered.tools.find(({ name }) => name === "read_section");
  const result = await read?.execute({ key: "history" }, undefined as never);
  expect(result).toMatchObject({ success: true, value: "## 3. History\n\nLong ago.\n\n### 3.1. Older\n\nLonger ago." });
  for (const key of ["intro", "nope", "disk.clean", "__proto__"]) {
    const refused = await read?.execute({ key }, undefined as never);
    expect(refused).toMatchObject({
      success: false,
      message: expect.stringContaining("Can be opened: disk, history."),
    });
  }
});

test("PRM-4 PRM-9 opening leaves every number, and every other section's text, as it was", () => {
  const open = runbook.bind().render({ visibility: { history: "full" } });
  expect(open.text).toContain("## 3. History\n\nLong ago.\n\n### 3.1. Older");
  expect(open.text.startsWith(runbook.bind().render().text.split("## 3.")[0] as string)).toBe(true);
});

test("VIS-1 what may be summarised needs a summary", () => {
  for (const visibility of ["summary", () => "full" as const] as const) {
    const define = () => definePrompt({ key: "p", sections: [{ key: "s", text: "x", visibility }] });
    expect(caught(define)).toBeInstanceOf(DefinitionError);
  }
  expect(() =>
    definePrompt({ key: "p", sections: [{ key: "s", text: "x", summary: "y", visibility: "hidden" as never }] }),
  ).toThrow(DefinitionError);
});

test("PRM-3 a visibility that throws is a RenderFault that names the section", () => {
  const prompt = definePrompt({
    key: "p",
    sections: [
      {
        key: "s",
        text: "x",
        summary: "y",
        visibility: () => {
          throw new Error("no");
        },
      },
    ],
  }).bind();
  expect(caught(() => prompt.render())).toBeInstanceOf(RenderFault);
});
