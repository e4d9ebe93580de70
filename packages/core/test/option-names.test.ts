import {
  definePolicy,
  definePrompt,
  defineSection,
  defineSlice,
  DefinitionError,
  defineTool,
  provideFactory,
  resourceKey,
  toolOk,
  trackBudget,
} from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const key = resourceKey<number>("n");
const tool = { name: "t", description: "T.", input: z.object({}), execute: () => "done" };

describe("ERR-4 an unknown option is refused, and the one that may be meant is named", () => {
  test.each<readonly [what: string, define: () => unknown, message: string]>([
    [
      "defineTool",
      () => defineTool({ ...tool, readonly: true } as never),
      'The tool "t" has no option readonly. Did you mean readOnly?',
    ],
    [
      "defineTool",
      () => defineTool({ ...tool, strict: true } as never),
      'The tool "t" has no option strict. It takes name, description,',
    ],
    [
      "definePrompt",
      () => definePrompt({ key: "p", text: "x", tools: [] } as never),
      'The prompt "app/p" has no option tools. Did you mean sections?',
    ],
    [
      "definePrompt",
      () => definePrompt({ key: "p", text: "x", outputs: z.object({}) } as never),
      "Did you mean output?",
    ],
    [
      "a section",
      () => definePrompt({ key: "p", sections: [{ key: "a", content: "x" }] } as never),
      'The section "a" has no option content. Did you mean text?',
    ],
    [
      "a child",
      () =>
        definePrompt({ key: "p", sections: [{ key: "a", text: "x", children: [{ key: "b", titel: "B" }] }] } as never),
      'The section "a.b" has no option titel. Did you mean title?',
    ],
    [
      "defineSection",
      () => defineSection({ key: "a", text: "x", enable: () => true } as never),
      "Did you mean enabled?",
    ],
    [
      "definePolicy",
      () => definePolicy({ name: "p", check: () => ({ allowed: true }), tool: [] } as never),
      "Did you mean tools?",
    ],
    ["defineSlice", () => defineSlice({ name: "s", initial: 0, reducer: () => {} } as never), "Did you mean reducers?"],
    [
      "trackBudget",
      () => trackBudget({ maxTokens: 5 } as never),
      "A budget has no option maxTokens. Did you mean maxTotalTokens?",
    ],
    ["provideFactory", () => provideFactory(key, () => 1, { scopes: "toolCall" } as never), "Did you mean scope?"],
    [
      "toolOk",
      () => toolOk(1, { hide: true } as never),
      "toolOk has no option hide. It takes message, hideValue, files.",
    ],
    [
      "feedback",
      () =>
        definePrompt({
          key: "p",
          text: "x",
          feedback: [{ name: "f", every: { call: 1 }, provide: () => "x" }],
        } as never),
      "Did you mean calls?",
    ],
  ])("ERR-4 %s", (_, define, message) => {
    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(message);
  });

  test("ERR-4 an option that is undefined is as if left out", () => {
    expect(() => defineTool({ ...tool, strict: undefined } as never)).not.toThrow();
  });

  test("ERR-4 a name is near where a letter or two differ, capitals and underscores aside", () => {
    const pointed = (name: string): string => {
      try {
        checkOptionNames("x", { [name]: 1 }, { baseURL: true, timeoutMs: true, apiKey: true });
      } catch (error) {
        return (error as Error).message;
      }
      return "taken";
    };
    for (const name of ["baseUrl", "base_url", "baseURI", "bseURL"])
      expect(pointed(name)).toBe(`x has no option ${name}. Did you mean baseURL?`);
    expect(pointed("api_key")).toContain("apiKey");
    expect(pointed("timeout")).toContain("timeoutMs");
    expect(pointed("colour")).toBe("x has no option colour. It takes baseURL, timeoutMs, apiKey.");
    expect(pointed("y".repeat(500))).toBe(
      "x has no option a text of 500 characters. It takes baseURL, timeoutMs, apiKey.",
    );
    expect(pointed("constructor")).toContain("has no option constructor");
  });

  test.each<readonly [given: unknown, shown: string]>([
    [null, "null"],
    [5, "5"],
    ["name", '"name"'],
    [[], "an empty list"],
    [["a"], "a list"],
  ])("ERR-4 options that are no object are refused: %j", (given, shown) => {
    const check = () => checkOptionNames("x", given as object, { baseURL: true });
    expect(check).toThrow(new DefinitionError(`x takes its options as an object, not ${shown}.`));
  });
});

describe("ERR-4 what other frameworks write", () => {
  const js = (define: unknown) => define as (...given: readonly unknown[]) => unknown;
  const { name: _, ...unnamed } = tool;
  test.each<readonly [what: string, define: () => unknown, message: string]>([
    ["a tool's id", () => js(defineTool)({ id: "t", ...unnamed }), "defineTool has no option id. Did you mean name?"],
    [
      "a function before the options",
      () => js(defineTool)(() => "done", { name: "t", description: "T.", schema: z.object({}) }),
      "defineTool takes one object, { name, description, input, execute }, not a function.",
    ],
    [
      "nothing",
      () => js(defineTool)(),
      "defineTool takes one object, { name, description, input, execute }, not undefined.",
    ],
    [
      "a prompt's id",
      () => js(definePrompt)({ id: "p", text: "x" }),
      "definePrompt has no option id. Did you mean key?",
    ],
    [
      "a prompt's name alone",
      () => js(definePrompt)({ name: "greeter", text: "x" }),
      "The prompt key undefined must match ^[a-z0-9][a-z0-9._-]{0,63}$. A prompt needs a key: its name is what events and errors call it.",
    ],
    ["a prompt that is a text", () => js(definePrompt)("x"), 'definePrompt takes one object, { key, text }, not "x".'],
  ])("ERR-4 %s", (_, define, message) => {
    expect(define).toThrow(new DefinitionError(message));
  });
});
