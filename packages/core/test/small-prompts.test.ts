import { DefinitionError, definePrompt } from "@proviso/core";
import { expect, test } from "vitest";
import { z } from "zod";

test("PRM-11 ns is app, bind needs no argument, and text is one user section", () => {
  const hello = definePrompt({ key: "hello", text: "Say hello." });
  expect([hello.ns, hello.name]).toEqual(["app", "app/hello"]);
  const { system, user, text } = hello.bind().render();
  expect({ system, user, text }).toEqual({ system: "", user: "Say hello.", text: "Say hello." });
});

test("PRM-11 text knows the params", () => {
  const hello = definePrompt({ key: "hello", params: z.object({ name: z.string() }), text: "Hello {{name}}." });
  expect(hello.bind({ name: "Ada" }).render().user).toBe("Hello Ada.");
  // @ts-expect-error the param is missing
  expect(() => hello.bind()).toThrow(DefinitionError);
  // @ts-expect-error unknown placeholder
  expect(() => definePrompt({ key: "hello", text: "Hello {{name}}." })).toThrow(DefinitionError);
});

test("PRM-11 params that all have defaults need no argument", () => {
  const hello = definePrompt({ key: "hello", params: z.object({ name: z.string().default("you") }), text: "{{name}}" });
  expect(hello.bind().render().user).toBe("you");
});

test("PRM-11 sections and text together are refused", () => {
  expect(() => definePrompt({ key: "p", text: "x", sections: [{ key: "s", text: "y" }] })).toThrow(DefinitionError);
});
