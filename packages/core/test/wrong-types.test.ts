import {
  deadlineAt,
  defineEvent,
  definePrompt,
  defineSection,
  defineSlice,
  DefinitionError,
  provide,
  provideFactory,
  resourceKey,
  trackBudget,
} from "@proviso/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const js = (define: unknown) => define as (...given: readonly unknown[]) => unknown;
const sectionOf = (more: object) => js(definePrompt)({ key: "p", sections: [{ key: "s", ...more }] });

describe("PRM-16 what is of another type than a definition takes is refused in words", () => {
  test.each<readonly [what: string, define: () => unknown, message: string]>([
    [
      "a prompt's text that is a function",
      () => js(definePrompt)({ key: "p", text: () => "x" }),
      'The text of prompt "app/p" must be a text, not a function: what changes is a param, {{name}}.',
    ],
    [
      "a section's text that is a function",
      () => sectionOf({ text: () => "x" }),
      'The text of section "s" of prompt "app/p" must be a text, not a function: what changes is a param, {{name}}.',
    ],
    [
      "a section's text that is a list",
      () => sectionOf({ text: ["x"] }),
      'The text of section "s" of prompt "app/p" must be a text, not a list: what changes is a param, {{name}}.',
    ],
    [
      "a summary that is a function",
      () => js(defineSection)({ key: "s", text: "x", summary: () => "x" }),
      'The summary of section "s" must be a text, not a function: what changes is a param, {{name}}.',
    ],
    [
      "a title that is a function",
      () => sectionOf({ text: "x", title: () => "x" }),
      'The title of section "s" of prompt "app/p" must be a text, not a function: what changes is a param, {{name}}.',
    ],
    [
      "reducers by name",
      () => js(defineSlice)({ name: "s", initial: 0, reducers: { added: () => 1 } }),
      'The reducers of slice "s" must be a function, ({ on }) => on(added, (draft, event) => …), not an object.',
    ],
    [
      "a reducer of a slice that is left out",
      () => defineSlice({ name: "s", initial: 0, reducers: ({ on }) => on("tool.invoked", undefined as never) }),
      'A reducer of slice "s" must be a function, not undefined.',
    ],
    [
      "an event as an object",
      () => js(defineEvent)({ type: "x", schema: z.object({}) }),
      'The type of an event must be a text, defineEvent("noted", schema), not an object.',
    ],
    [
      "a deadline as a text",
      () => js(deadlineAt)("2026-12-24T00:00Z"),
      'deadlineAt needs a valid Date, not "2026-12-24T00:00Z".',
    ],
    ["a deadline as milliseconds", () => js(deadlineAt)(5), "deadlineAt needs a valid Date, not 5."],
    [
      "a resource under a text",
      () => js(provide)("Stock", {}),
      'provide needs the key of a resource, which resourceKey makes, not "Stock".',
    ],
    [
      "a resource under its class",
      () => js(provide)(Map, new Map()),
      "provide needs the key of a resource, which resourceKey makes, not a function.",
    ],
    [
      "a factory under a text",
      () => js(provideFactory)("Stock", () => 1),
      'provideFactory needs the key of a resource, which resourceKey makes, not "Stock".',
    ],
    [
      "a factory that is none",
      () => js(provideFactory)(resourceKey("Stock"), { stock: 1 }),
      'The factory of "Stock" must be a function, not an object: provide(key, instance) takes what is ready.',
    ],
    [
      "a key without a name",
      () => js(resourceKey)(),
      'The name of a resource must be a text, resourceKey("Stock"), not undefined.',
    ],
    ["no budget", () => js(trackBudget)(undefined), "A budget must be an object, not undefined."],
    ["a budget that is a number", () => js(trackBudget)(5), "A budget must be an object, not 5."],
  ])("%s", (_, define, message) => {
    expect(define).toThrow(new DefinitionError(message));
  });

  test("a Date that is invalid is none", () => {
    expect(() => deadlineAt(new Date(NaN))).toThrow("deadlineAt needs a valid Date");
    expect(deadlineAt(new Date(5)).expiresAt).toEqual(new Date(5));
  });
});
