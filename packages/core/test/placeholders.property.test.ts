import { fc } from "./support/property.ts";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { definePrompt } from "@proviso/core";
import { hostileText } from "./support/hostile.ts";

const templates = inject("exhaustive") ? 10_000 : 300;
const params = z.object({ name: z.string(), other: z.string() });
const rendered = (text: string, name: string, other = ""): string =>
  definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", text }] })
    .bind({ name, other })
    .render().text;

describe("PRM-3 hostile texts", () => {
  test("PRM-3 any value appears verbatim, exactly where its placeholder was", () => {
    fc.assert(
      fc.property(hostileText, hostileText, (name, other) => {
        expect(rendered("<{{name}}|{{other}}|{{name}}>", name, other)).toBe(`<${name}|${other}|${name}>`);
      }),
    );
  });

  test("PRM-3 any literal text is itself once its {{ are written \\{{", () => {
    fc.assert(
      fc.property(hostileText, (literal) => {
        fc.pre(literal !== "");
        // The backslash belongs to the braces that follow it, so a text is escaped from its left.
        expect(rendered(literal.replaceAll("{{", "\\{{"), "NEVER", "NEVER")).toBe(literal);
      }),
    );
  });

  test("PRM-3 nothing is expanded twice: a value is filled in the same whatever it holds", () => {
    const marker = "\u0001MARKER\u0001";
    fc.assert(
      fc.property(hostileText, (name) => {
        const text = "a {{other}} b {{name}} c";
        expect(rendered(text, name, "o")).toBe(rendered(text, marker, "o").replace(marker, () => name));
      }),
    );
  });

  test(
    "PRM-3 PRM-4 OVR-1 hostile templates: each value verbatim, exactly once, in its definition's and its override's place",
    { timeout: 300_000 },
    () => {
      fc.assert(
        fc.property(hostileTemplate, ({ parts, title, values, summary }) => {
          const named = Object.fromEntries(
            values.map((value, index) => [`p${index}`, `${open}${index}${close}${value}`]),
          );
          const text = parts.map((part) =>
            typeof part === "string" ? escaped(part) : `{{${part.space}p${part.index}}}`,
          );
          const expected = parts.map((part) => (typeof part === "string" ? part : (named[`p${part.index}`] ?? "")));
          const section = { key: "s", title, text: text.join(""), summary: text.join("") };
          const sections = [section, { key: "after", text: "{{p0}}", enabled: () => false }];
          const looseParams = z.record(z.string(), z.string());
          const template = definePrompt({ key: "hostile", params: looseParams, sections });
          const shown = `## 1. ${title}\n\n${expected.join("")}`;
          const given = template.bind(named);
          expect(given.render().text).toBe(shown);
          for (const [index] of values.entries()) expect(shown.split(`${open}${index}${close}`)).toHaveLength(2);

          const other = definePrompt({
            key: "hostile",
            params: looseParams,
            sections: [{ ...section, text: summary }],
          });
          const overrides = {
            tag: "t",
            sections: { s: { hash: other.descriptor.sections["s"] ?? "", text: text.join("") } },
            tools: {},
          };
          expect(other.bind(named).render({ overrides }).text).toBe(shown);
        }),
        { numRuns: templates },
      );
    },
  );
});

/** Marks that neither a literal nor a value holds, so that a value can be counted. */
const [open, close] = ["\uE000", "\uE001"];
const unmarked = hostileText.map((text) => text.replaceAll(/[\uE000\uE001]/g, ""));
const escaped = (literal: string): string => literal.replaceAll("{{", "\\{{");

/** Hostile literals between placeholders, each of them once and in any order. */
const hostileTemplate = fc
  .array(fc.tuple(unmarked, unmarked, fc.constantFrom("", " ", "\n")), { minLength: 1, maxLength: 5 })
  .chain((given) =>
    fc.record({
      values: fc.constant(given.map(([value]) => value)),
      order: fc.shuffledSubarray([...given.keys()], { minLength: given.length }),
      given: fc.constant(given),
      title: unmarked.filter((title) => title.trim() !== ""),
      summary: fc.constant("Short."),
    }),
  )
  .map(({ values, order, given, title, summary }) => ({
    values,
    title,
    summary,
    parts: order.flatMap((index) => {
      const [, literal = "", space = ""] = given[index] ?? [];
      // A backslash or brace just before a placeholder would belong to it.
      return [/[\\{]$/.test(literal) ? `${literal} ` : literal, { index, space }];
    }),
  }));
