// Two copies of the packages in one process: of a library of tools beside a program, or of a bundle's two parts.
import { defineTool, definePrompt, provide, resourceKey, type Snapshotable } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test, vi } from "vitest";
import { z } from "zod";

async function otherCopy() {
  vi.resetModules();
  const [core, runtime, testing] = await Promise.all([
    import("@proviso/core"),
    import("@proviso/runtime"),
    import("@proviso/runtime/testing"),
  ]);
  expect(core.defineTool).not.toBe(defineTool);
  return { core, runtime, testing };
}

test("TOOL-5 ERR-8 a result of another copy of core is what it is: a failure leaves no trace, a hidden value stays hidden", async () => {
  const { core } = await otherCopy();
  const returning = async (result: () => unknown): Promise<readonly [unknown, string | undefined]> => {
    const tool = defineTool({ name: "t", description: "Does.", input: z.object({}), execute: () => result() as never });
    const prompt = definePrompt({ key: "p", sections: [{ key: "a", text: "Do.", tools: [tool] }] }).bind();
    const model = scriptedModel([{ toolCalls: [{ name: "t" }] }, { text: "done" }]);
    const { toolResults } = await modelAdapter(model).evaluate(prompt);
    return [toolResults[0]?.result, model.requests[1]?.messages.at(-1)?.text];
  };
  expect(await returning(() => core.toolError("Card declined."))).toEqual([
    { success: false, message: "Card declined." },
    "Card declined.",
  ]);
  const [, read] = await returning(() => core.toolOk({ secret: 1 }, { message: "m", hideValue: true }));
  expect(read).toBe("m");
});

test("ERR-2 a failure of another copy is one", async () => {
  const { core, runtime, testing } = await otherCopy();
  const { isEvaluationFailure } = await vi.importActual<typeof core>("@proviso/core");
  const error: unknown = await runtime
    .modelAdapter(testing.scriptedModel([]))
    .evaluate("x", { maxTurns: 0 })
    .catch((thrown: unknown) => thrown);
  const own: unknown = await modelAdapter(scriptedModel([]))
    .evaluate("x", { maxTurns: 0 })
    .catch((thrown: unknown) => thrown);
  expect([isEvaluationFailure(error), core.isEvaluationFailure(error), core.isEvaluationFailure(own)]).toEqual([
    true,
    true,
    true,
  ]);
  expect(core.isEvaluationFailure({ ...(error as object) })).toBe(false);
});

test("TX-11 a resource has one lock in a process, whichever copies of runtime use it", async () => {
  const { core, runtime, testing } = await otherCopy();
  const counter: Snapshotable & { n: number } = {
    n: 0,
    snapshot: () => counter.n,
    restore: (n: unknown) => void (counter.n = n as number),
  };
  const order: string[] = [];
  const evaluate = (
    copy: { core: typeof core; runtime: typeof runtime; testing: typeof testing },
    name: string,
    fails: boolean,
  ) => {
    const Counter = copy.core.resourceKey<typeof counter>("Counter");
    const tool = copy.core.defineTool({
      name: "count",
      description: "Counts.",
      input: z.object({}),
      uses: [Counter],
      async execute(_, { resources }) {
        order.push(`${name} begins`);
        resources.get(Counter).n += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(`${name} ends`);
        return fails ? copy.core.toolError("no") : "counted";
      },
    });
    const prompt = copy.core.definePrompt({ key: "p", sections: [{ key: "a", text: "Do.", tools: [tool] }] }).bind();
    const model = copy.testing.scriptedModel([{ toolCalls: [{ name: "count" }] }, { text: "done" }]);
    return copy.runtime.modelAdapter(model).evaluate(prompt, { resources: [copy.core.provide(Counter, counter)] });
  };
  const own = {
    core: { defineTool, definePrompt, provide, resourceKey } as never,
    runtime: { modelAdapter } as never,
    testing: { scriptedModel } as never,
  };
  const one = { ...own, core: { ...(own.core as object), toolError: core.toolError } as never };
  await Promise.all([evaluate(one, "own", true), evaluate({ core, runtime, testing }, "other", false)]);
  expect(order).toHaveLength(4);
  expect(order[1]).toBe(`${order[0]?.split(" ")[0]} ends`);
  expect(counter.n).toBe(1);
});
