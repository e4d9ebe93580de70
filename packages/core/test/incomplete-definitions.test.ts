import {
  definePolicy,
  definePrompt,
  defineSection,
  defineSlice,
  defineTool,
  DefinitionError,
  allow,
} from "@proviso/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const tool = { name: "look", description: "Looks.", input: z.object({}), execute: () => 1 };
const policy = { name: "open", check: () => allow() };
const slice = { name: "seen", initial: 0 };

describe("PRM-6 a definition that lacks what it needs says what", () => {
  test.each<readonly [what: string, define: () => unknown, message: string]>([
    ["a tool's name", () => defineTool({ ...tool, name: undefined as never }), "The tool name undefined must match"],
    ["a description", () => defineTool({ ...tool, description: undefined as never }), '"look" needs a description'],
    ["execute", () => defineTool({ ...tool, execute: undefined as never }), '"look" needs execute: a function'],
    ["an input", () => defineTool({ ...tool, input: undefined as never }), "Schema"],
    ["a policy's name", () => definePolicy({ ...policy, name: "" }), "A policy needs a name"],
    [
      "check",
      () => definePolicy({ ...policy, check: undefined as never }),
      '"open" needs check, approve or unknown: a function',
    ],
    ["a slice's name", () => defineSlice({ ...slice, name: "" }), "A slice needs a name"],
    ["an initial state", () => defineSlice({ name: "seen" } as never), '"seen" needs an initial state'],
  ])("%s", (_, define, message) => {
    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(message);
  });

  test("a state that is undefined is one", () => {
    expect(defineSlice({ name: "seen", initial: undefined }).initial).toBe(undefined);
  });
});

describe("PRM-7 a section is shown in the system message or in the user message", () => {
  test.each(["assistant", "User", "developer", "", 1, null])(
    "the role %o is refused, and would have been the user's",
    (role) => {
      const section = { key: "a", text: "x", role } as never;
      const mustBe = `must be "system" or "user", not ${JSON.stringify(role)}.`;
      expect(() => definePrompt({ key: "p", sections: [section] })).toThrow(
        `The role of section "a" of prompt "app/p" ${mustBe}`,
      );
      expect(() => definePrompt({ key: "p", sections: [{ key: "t", children: [section] }] })).toThrow(
        `The role of section "t.a" of prompt "app/p" ${mustBe}`,
      );
      expect(() => defineSection(section)).toThrow(new DefinitionError(`The role of section "a" ${mustBe}`));
    },
  );

  test("a role that is undefined counts as left out", () => {
    const { system } = definePrompt({
      key: "p",
      sections: [
        { key: "a", text: "x", role: undefined },
        { key: "b", text: "y", role: "user" },
      ],
    })
      .bind()
      .render();
    expect(system).toBe("x");
  });
});
