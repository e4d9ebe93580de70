import { describe, expect, test } from "vitest";
import { DefinitionError, definePrompt, defineSection } from "@proviso/core";
import { caught } from "./support/caught.ts";

const good = ["a", "0", "code-review", "a_b", "a".repeat(64)];
const bad = ["", "A", "-a", "_a", ".a", "a b", "a/b", "ä", "a\n", "..", "a".repeat(65), "__proto__"];
const promptOf = (ns: string, key: string, section: string) =>
  definePrompt({ ns, key, sections: [{ key: section, text: "x" }] });

describe("PRM-1 keys", () => {
  test.each(good)("PRM-1 %j is a key everywhere", (key) => {
    expect(promptOf(key, key, key)).toMatchObject({ ns: key, key });
    expect(defineSection({ key }).key).toBe(key);
  });

  test.each(bad)("PRM-1 %j is a key nowhere, and the error shows it and the rule", (key) => {
    for (const define of [
      () => promptOf(key, "k", "s"),
      () => promptOf("n", key, "s"),
      () => promptOf("n", "k", key),
      () => defineSection({ key }),
    ]) {
      const error = caught(define);
      expect(error).toBeInstanceOf(DefinitionError);
      expect(error.message).toContain(JSON.stringify(key));
      expect(error.message).toContain("^[a-z0-9][a-z0-9");
    }
  });

  test("PRM-1 a dot is part of ns and prompt keys, and of no section key", () => {
    expect(promptOf("acme.tools", "v1.2", "s").ns).toBe("acme.tools");
    expect(caught(() => promptOf("n", "k", "a.b")).message).toContain('"a.b" must match ^[a-z0-9][a-z0-9_-]{0,63}$');
    expect(caught(() => defineSection({ key: "a.b" }))).toBeInstanceOf(DefinitionError);
  });

  test("PRM-1 a key that is no string is refused", () => {
    for (const key of [undefined, null, 1, ["a"]]) {
      expect(caught(() => promptOf("n", key as never, "s"))).toBeInstanceOf(DefinitionError);
    }
  });

  test("PRM-1 the keys of nested sections are checked", () => {
    const nested = () => definePrompt({ ns: "n", key: "k", sections: [{ key: "s", children: [{ key: "No" }] }] });
    expect(caught(nested).message).toContain('"No"');
  });
});
