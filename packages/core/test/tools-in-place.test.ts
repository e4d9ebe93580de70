import {
  allow,
  definePolicy,
  definePrompt,
  defineSection,
  defineTool,
  DefinitionError,
  deny,
  toolOk,
  type PolicyDecision,
  type Tool,
} from "@proviso/core";
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
    [
      "an input that is no object",
      { input: z.string() },
      'The input of tool "pay" must be an object schema. Put what it takes under a key: z.object({ value: … }).',
    ],
    ["an input that is a list", { input: z.array(z.string()) }, "under a key: z.object({ items: z.array(…) })."],
    [
      "an input that is a union of objects",
      { input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) },
      "Put the union under a key, z.object({ action: z.union([…]) }), or write a tool for each of its objects.",
    ],
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
    const [placed] = toolsOf(counting);
    expect(placed?.name).toBe("count");
    expect(placed?.execute({}, {} as never)).toEqual(toolOk(1));
    expect(counting.calls).toBe(1);
    expect(() => toolsOf(Object.assign(new Counting(), { timeoutMs: -1 }))).toThrow("must be a positive number");
  });
});

describe("PRM-2 what is done to a tool or a policy after it was put into a prompt changes nothing", () => {
  test.each(["a plain object", "an instance"])("of a tool that is %s", (kind) => {
    class Paying {
      name = "pay";
      description = "Pays.";
      input = z.object({ cents: z.number() });
      timeoutMs = 5;
      uses: unknown[] = [];
      execute(): unknown {
        return this.name;
      }
    }
    const given = kind === "an instance" ? new Paying() : { ...pay, timeoutMs: 5, uses: [] as unknown[] };
    const [placed] = toolsOf(given);
    given.timeoutMs = -1;
    given.name = "my tool";
    given.uses.push("Stock");
    given.execute = () => "changed";
    expect(placed).toMatchObject({ name: "pay", timeoutMs: 5, uses: [] });
    expect(placed?.execute({}, {} as never)).toBe(kind === "an instance" ? "my tool" : "Paid.");
    expect(Object.isFrozen(placed)).toBe(true);
  });

  test("of a policy of a section and of a prompt, and of the lists of what is defined", () => {
    const tools: Tool[] = [];
    const given = { name: "chief", tools, check: () => deny("no") as PolicyDecision };
    const defined = definePolicy(given);
    const prompt = definePrompt({
      key: "p",
      policies: [given],
      sections: [{ key: "s", text: "x", tools: [defineTool(pay)], policies: [given, defined] }],
    })
      .bind()
      .render();
    given.check = () => allow();
    tools.push({ ...pay, name: "other" });
    for (const policy of prompt.policiesOf("pay")) {
      expect(policy.tools).toEqual([]);
      expect(policy.check?.({} as never, {} as never)).toEqual(deny("no"));
    }
    expect(prompt.policiesOf("pay")).toHaveLength(3);
  });
});
