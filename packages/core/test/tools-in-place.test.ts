import { definePrompt, defineSection, defineTool, DefinitionError, toolOk, type Tool } from "@proviso/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const pay = { name: "pay", description: "Pays.", input: z.object({ cents: z.number() }), execute: () => "Paid." };
const toolsOf = (...tools: readonly unknown[]): readonly Tool[] =>
  definePrompt({ key: "p", sections: [{ key: "s", text: "x", tools: tools as readonly Tool[] }] })
    .bind()
    .render().tools;

describe("PRM-15 a tool that is written in a section passes the checks of defineTool", () => {
  test.each<readonly [what: string, more: object, message: string]>([
    [
      "an option that there is not",
      { needsApproval: true },
      'The tool "pay" has no option needsApproval. Did you mean a policy of requireApproval?',
    ],
    ["a misspelt option", { timeout: 5 }, 'The tool "pay" has no option timeout. Did you mean timeoutMs?'],
    [
      "a timeout that is a text",
      { timeoutMs: "5s" },
      'The timeoutMs of tool "pay" must be a positive number, not "5s".',
    ],
    ["a name that providers refuse", { name: "my tool" }, 'The tool name "my tool" must match'],
    ["resources by name", { uses: ["Stock"] }, 'The uses of tool "pay" must be a list of resource keys'],
    ["no description", { description: undefined }, 'The tool "pay" needs a description: a text.'],
    ["an input that is no object", { input: z.string() }, 'The input of tool "pay" must be an object schema.'],
    ["an input that is JSON Schema", { input: { type: "object" } }, 'The input of tool "pay"'],
  ])("%s", (_, more, message) => {
    const tool = { ...pay, ...more } as never;
    const section = { key: "s", text: "x", tools: [tool] };
    for (const define of [
      () => toolsOf(tool),
      () => defineSection(section),
      () => definePrompt({ key: "p", sections: [{ key: "t", children: [section] }] }),
    ]) {
      expect(define).toThrow(DefinitionError);
      expect(define).toThrow(message);
    }
  });

  test("one that passes is taken as it is, and so is a copy of one that defineTool made", () => {
    const copy = { ...defineTool(pay), name: "refund" };
    expect(toolsOf(pay, copy)).toEqual([pay, copy]);
  });

  test("the fields of an instance are no options", () => {
    class Counting {
      readonly name = "count";
      readonly description = "Counts.";
      readonly input = z.object({});
      calls = 0;
      execute(): unknown {
        return toolOk((this.calls += 1));
      }
    }
    const counting = new Counting();
    expect(toolsOf(counting)).toEqual([counting]);
    expect(() => toolsOf(Object.assign(new Counting(), { timeoutMs: -1 }))).toThrow("must be a positive number");
  });
});
