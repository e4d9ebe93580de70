import { fc } from "./support/property.ts";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { definePrompt } from "@proviso/core";
import { hostileText } from "./support/hostile.ts";

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
});
