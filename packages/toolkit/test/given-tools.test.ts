import { definePrompt, defineTool, DefinitionError } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import {
  allOf,
  anyOf,
  readBeforeWrite,
  requireApproval,
  requireFiles,
  sequentialDependency,
  staticFeedback,
} from "@proviso/toolkit";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const tool = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "PAID" });
/** As plain JavaScript would call it. */
const js = (make: unknown) => make as (...given: readonly unknown[]) => unknown;

describe("KIT-11 what is given to a policy or a checker is looked at when it is made", () => {
  test.each<readonly [make: () => unknown, message: string]>([
    [() => js(readBeforeWrite)(), "readBeforeWrite needs read: a list of what defineTool makes."],
    [() => js(readBeforeWrite)({ read: [tool] }), "readBeforeWrite needs write: a list of what defineTool makes."],
    [
      () => js(readBeforeWrite)({ read: tool, write: [tool] }),
      "The read of readBeforeWrite must be a list of what defineTool makes, not an object.",
    ],
    [
      () => js(readBeforeWrite)({ read: ["read_file"], write: [tool] }),
      'The read of readBeforeWrite must be a list of what defineTool makes: read[0] has no execute. It is "read_file".',
    ],
    [() => js(sequentialDependency)(), "The tool of sequentialDependency must be a list of what defineTool makes"],
    [() => js(sequentialDependency)({ tool }), "sequentialDependency needs after: a list of what defineTool makes."],
    [
      () => js(sequentialDependency)({ tool, after: tool }),
      "The after of sequentialDependency must be a list of what defineTool makes, not an object.",
    ],
    [() => js(requireApproval)(), "requireApproval needs a function that is asked, not undefined."],
    [() => js(requireApproval)({ tools: [tool] }), "requireApproval needs a function that is asked, not an object."],
    [
      () => js(requireApproval)(() => true, { tools: ["pay"] }),
      'The tools of policy "require-approval" must be a list of what defineTool makes: tools[0] has no execute. It is "pay".',
    ],
    [
      () => js(staticFeedback)("x"),
      'staticFeedback("x", { every }) needs every: { calls: 5 } or { ms: 60_000 }, for example.',
    ],
    [() => js(staticFeedback)(5, { every: { calls: 1 } }), "staticFeedback needs a text, not 5."],
    [() => js(requireFiles)(), 'requireFiles takes paths, requireFiles("a.md", "b.md"), and was given none.'],
    [() => js(requireFiles)(["a.md"]), 'requireFiles takes paths, requireFiles("a.md", "b.md"), not a list.'],
    [() => js(allOf)([requireFiles("a.md")]), "The completion of allOf must be one checker"],
    [() => js(anyOf)(requireFiles), "The completion of anyOf must be one checker"],
  ])("%#: %s", (make, message) => {
    expect(make).toThrow(DefinitionError);
    expect(make).toThrow(message);
  });

  test.each([true, "yes"])("an approval that is %o denies, and says what is taken", async (answer) => {
    const prompt = definePrompt({ key: "x", sections: [{ key: "a", text: "a", tools: [tool] }] }).bind();
    const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "pay" }] }, { text: "Done." }]));
    const { toolResults } = await adapter.evaluate(prompt, { policies: [requireApproval(() => answer as never)] });
    const [{ ran, result } = { ran: true, result: undefined }] = toolResults;
    expect(ran).toBe(false);
    expect(result?.message).toContain("requireApproval was answered with");
    expect(result?.message).toContain("{ approved: false, reason }");
  });
});
