import {
  allow,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSection,
  defineTool,
  DefinitionError,
  deny,
  Filesystem,
  toolOk,
  type CompletionChecker,
  type PromptTemplate,
} from "@proviso/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const tool = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => toolOk("Paid.") });
const never = (): unknown => deny("never");
/** As plain JavaScript would write it. */
const prompt = (definition: object): PromptTemplate<never, unknown> =>
  definePrompt({ key: "x", ...definition } as never) as never;

describe("PRM-15 what cannot be an item of a list is refused where it is defined", () => {
  test.each<readonly [what: string, name: string, item: unknown, why: string]>([
    ["a function", "policies", never, "policies[1] has neither check nor approve. It is a function."],
    ["a misspelt step", "policies", { name: "p", chek: never }, "policies[1] has neither check nor approve."],
    ["a step that is no function", "policies", { name: "p", check: "never" }, "policies[1] has neither check nor"],
    ["nothing", "policies", undefined, "policies[1] has neither check nor approve. It is undefined."],
  ])("a policy that is %s, of a prompt, a section, a child and a shared section", (_, name, item, why) => {
    const list = [definePolicy({ name: "fine", check: () => allow() }), item];
    const message = (owner: string): string =>
      `The ${name} of ${owner} must be a list of what definePolicy makes: ${why}`;
    const refused = (define: () => unknown, owner: string): void => {
      expect(define).toThrow(DefinitionError);
      expect(define).toThrow(message(owner));
    };
    refused(() => prompt({ text: "x", policies: list }), 'prompt "app/x"');
    const section = { key: "a", text: "x", policies: list };
    refused(() => prompt({ sections: [section] }), 'section "a" of prompt "app/x"');
    refused(() => prompt({ sections: [{ key: "t", children: [section] }] }), 'section "t.a" of prompt "app/x"');
    refused(() => defineSection(section as never), 'section "a"');
  });

  test("a policy that watches a tool by its name would watch nothing", () => {
    const message =
      'The tools of policy "p" must be a list of what defineTool makes: tools[0] has no execute. It is "pay".';
    expect(() => prompt({ text: "x", policies: [{ name: "p", tools: ["pay"], check: never }] })).toThrow(message);
    expect(() => definePolicy({ name: "p", tools: ["pay"], check: never } as never)).toThrow(message);
  });

  test("a policy that only decides on calls whose effect is not known is one", () => {
    const policy = definePolicy({ name: "p", unknown: () => allow() });
    expect(prompt({ text: "x", policies: [policy] }).name).toBe("app/x");
  });

  test.each<readonly [name: string, item: unknown, why: string]>([
    ["tools", () => tool, "what defineTool makes: tools[0] has no execute. It is a function."],
    ["tools", "pay", 'what defineTool makes: tools[0] has no execute. It is "pay".'],
    ["providerTools", () => tool, "what defineProviderTool makes: providerTools[0] has no id. It is a function."],
    [
      "slices",
      defineEvent("e", z.object({})),
      "what defineSlice makes: slices[0] has no registered. It is a function.",
    ],
    ["slices", { name: "s" }, "what defineSlice makes: slices[0] has no registered."],
    ["resources", Filesystem, "what provide or provideFactory makes: resources[0] has no create."],
    ["children", "text", 'sections such as { key, text }: children[0] has no key. It is "text".'],
  ])("%s of a section: %o", (name, item, why) => {
    const define = (): unknown => prompt({ sections: [{ key: "a", text: "x", [name]: [item] }] });
    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(`The ${name} of section "a" of prompt "app/x" must be a list of ${why}`);
  });

  test.each<readonly [name: string, item: unknown, why: string]>([
    [
      "feedback",
      () => "x",
      "providers such as { name, every, provide }: feedback[0] has no provide. It is a function.",
    ],
    ["feedback", { name: "f", every: { calls: 1 } }, "feedback[0] has no provide."],
    ["slices", {}, "slices[0] has no registered."],
    ["resources", null, "resources[0] has no create. It is null."],
    ["examples", {}, "examples[0] has neither steps nor input."],
  ])("%s of a prompt: %o", (name, item, why) => {
    const define = (): unknown => prompt({ text: "x", [name]: [item] });
    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(`The ${name} of prompt "app/x" must be a list of `);
    expect(define).toThrow(why);
  });

  const checker: CompletionChecker = { name: "c", check: () => undefined };
  test.each<readonly [completion: unknown, why: string]>([
    [() => "x", "not a function."],
    [[checker], "not a list."],
    [{ name: "c", chek: checker.check }, "not an object without check."],
    [null, "not null."],
  ])("a completion that checks nothing: %o", (completion, why) => {
    const define = (): unknown => prompt({ text: "x", completion });
    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(`The completion of prompt "app/x" must be one checker such as { name, check }`);
    expect(define).toThrow(why);
    expect(() => prompt({ text: "x", completion: { ...checker, uses: ["files"] } })).toThrow(
      'The uses of completion checker "c" must be a list of resource keys, [Filesystem] for example: uses[0] has no name. It is "files".',
    );
  });
});

describe("PRM-15 what is no list is refused where it is defined", () => {
  const sections = [{ key: "a", text: "x" }];
  test.each<readonly [define: () => unknown, message: string]>([
    [
      () => prompt({ sections: [{ ...sections[0], tools: { tool } }] }),
      'The tools of section "a" of prompt "app/x" must be a list of what defineTool makes, not an object.',
    ],
    [
      () => prompt({ sections: { a: sections[0] } }),
      'The sections of prompt "app/x" must be a list of sections such as { key, text }, not an object.',
    ],
    [
      () => prompt({ sections: [{ key: "t", children: sections[0] }] }),
      'The children of section "t" of prompt "app/x" must be a list of sections such as { key, text }, not an object.',
    ],
    [
      () => prompt({ sections, policies: definePolicy({ name: "p", check: () => allow() }) }),
      'The policies of prompt "app/x" must be a list of what definePolicy makes, not an object.',
    ],
    [
      () => definePolicy({ name: "p", tools: tool, check: never } as never),
      'The tools of policy "p" must be a list of what defineTool makes, not an object.',
    ],
    [
      () => defineTool({ ...tool, uses: ["db"] } as never),
      'The uses of tool "pay" must be a list of resource keys, [Filesystem] for example: uses[0] has no name. It is "db".',
    ],
    [
      () => defineTool({ ...tool, uses: Filesystem } as never),
      'The uses of tool "pay" must be a list of resource keys, [Filesystem] for example, not an object.',
    ],
    [
      () => defineTool({ ...tool, examples: { description: "d" } } as never),
      'The examples of tool "pay" must be a list of examples',
    ],
  ])("%o", (define, message) => {
    expect(define).toThrow(DefinitionError);
    expect(define).toThrow(message);
  });
});
