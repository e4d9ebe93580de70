import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DefinitionError, definePrompt, defineSection } from "@proviso/core";
import { RenderFault } from "@proviso/core/internal";
import { caught } from "./support/caught.ts";

const params = z.object({ name: z.string(), other: z.string().default("OTHER") });
/** `as string`: such a text is checked when it is defined, not when it is compiled. */
const filled = (text: string, name = "Ada"): string =>
  definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", text }] })
    .bind({ name })
    .render().text;

describe("PRM-3 placeholders", () => {
  test.each([
    ["Hello {{name}}.", "Hello Ada."],
    ["{{ name }}|{{name}}|{{name }}", "Ada|Ada|Ada"],
    ["{{name}}{{other}}", "AdaOTHER"],
    ["\\{{name}}", "{{name}}"],
    ["\\{{ and {{name}}", "{{ and Ada"],
    ["\\{{{{name}}", "{{Ada"],
    ["a { b } c }} d", "a { b } c }} d"],
    ["an open {{ stays", "an open {{ stays"],
    ["{{ {{name}}", "{{ Ada"],
    ["$& $1 ${name} %s", "$& $1 ${name} %s"],
    ["a \\ b", "a \\ b"],
  ])("PRM-3 %j is filled to %j", (text, expected) => {
    expect(filled(text)).toBe(expected);
  });

  test.each(["{{name}}", "{{other}}", "{{missing}}", "$&", "$1", "$$", "${name}", "\\{{", "}}", "\n## 9. Fake"])(
    "PRM-3 a value %j stays as it is",
    (value) => {
      expect(filled("<{{name}}>", value)).toBe(`<${value}>`);
    },
  );

  test.each([
    "{{nmae}}",
    "{{}}",
    "{{ }}",
    "{{constructor}}",
    "{{__proto__}}",
    "{{toString}}",
    "{{name.length}}",
    "{{{name}}}",
  ])("PRM-3 %j is a DefinitionError at definePrompt", (text) => {
    const error = caught(() => definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", text }] }));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain('section "s"');
  });

  test("PRM-3 an unknown name in a summary, a nested section or a shared section is a DefinitionError", () => {
    const text: string = "{{nmae}}";
    const shared = defineSection({ key: "s", text });
    for (const section of [{ key: "s", summary: text }, { key: "s", children: [{ key: "c", text }] }, shared]) {
      const error = caught(() => definePrompt({ ns: "a", key: "b", params, sections: [section] }));
      expect(error.message).toContain("unknown params: nmae. The prompt's params: name, other.");
    }
  });

  test("PRM-3 names are known through unions and intersections of params", () => {
    const either = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), x: z.string() }),
      z.object({ kind: z.literal("b"), y: z.string() }),
    ]);
    const both = either.and(z.object({ z: z.string() }));
    const define = (text: string) => definePrompt({ ns: "a", key: "b", params: both, sections: [{ key: "s", text }] });
    expect(define("{{kind}} {{x}} {{z}}").bind({ kind: "a", x: "X", z: "Z" }).render().text).toBe("a X Z");
    expect(caught(() => define("{{w}}")).message).toContain("unknown params: w");
  });

  test("PRM-3 strings, numbers, booleans and bigints are shown, an empty string too", () => {
    const anything = z.object({ v: z.any() });
    const template = definePrompt({
      ns: "a",
      key: "b",
      params: anything,
      sections: [{ key: "s", text: "<{{v}}>" as string }],
    });
    const shown = ["", "x", 0, -1.5, true, false, 12n].map((v) => template.bind({ v }).render().text);
    expect(shown).toEqual(["<>", "<x>", "<0>", "<-1.5>", "<true>", "<false>", "<12>"]);
  });

  test.each([
    [null, "null"],
    [{}, "object"],
    [["x"], "array"],
    [() => "x", "function"],
    [Symbol("x"), "symbol"],
    [{ toString: () => "x" }, "object"],
  ])("PRM-3 a value %o cannot be shown, and the error names the placeholder and the section", (v, found) => {
    const template = definePrompt({
      ns: "a",
      key: "b",
      params: z.object({ v: z.any() }),
      sections: [{ key: "s", children: [{ key: "c", text: "{{v}}" as string }] }],
    });
    const fault = caught(() => template.bind({ v }).render()) as RenderFault;
    expect(fault).toBeInstanceOf(RenderFault);
    expect(fault).toMatchObject({ section: "s.c", placeholder: "v", code: "render_fault" });
    expect(fault.message).toContain(
      `{{v}} in section "s.c" must be a string, number, boolean, bigint or file, not ${found}.`,
    );
  });

  test("PRM-3 a text with 100,000 placeholders or open braces is filled without delay", () => {
    expect(filled("{{name}}".repeat(100_000))).toHaveLength(300_000);
    expect(filled("{{".repeat(100_000))).toHaveLength(200_000);
    expect(filled("{{ name".repeat(50_000))).toHaveLength(350_000);
  });
});
