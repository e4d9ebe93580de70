import {
  allow,
  definePolicy,
  definePrompt,
  defineEvent,
  defineSlice,
  defineTool,
  deny,
  Filesystem,
  provide,
  type NestedOptions,
  type Tool,
  type ToolPolicy,
} from "@proviso/core";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";

const asked: string[] = [];
const ran: string[] = [];
beforeEach(() => {
  asked.length = 0;
  ran.length = 0;
});

const input = z.object({});
const refund = defineTool({ name: "refund", description: "Refunds.", input, execute: () => void ran.push("refund") });
const inner = (policies: readonly ToolPolicy[] = []) =>
  definePrompt({ key: "inner", sections: [{ key: "task", text: "Refund.", tools: [refund] }], policies }).bind();
const innermost: readonly ScriptedStep[] = [{ toolCalls: [{ name: "refund" }] }, { text: "inner done" }];

const noting = (name: string, tools?: ToolPolicy["tools"]): ToolPolicy =>
  definePolicy({
    name,
    tools,
    check({ tool }) {
      asked.push(`${name}: ${tool.name}`);
      return allow();
    },
  });

/** An evaluation with these policies, whose call evaluates a prompt that refunds. */
async function delegated(
  policies: readonly ToolPolicy[],
  { options = {}, own = [], depth = 1 }: { options?: NestedOptions; own?: readonly ToolPolicy[]; depth?: number } = {},
) {
  const delegate = (left: number): Tool =>
    defineTool({
      name: "delegate",
      description: "Delegates.",
      input,
      async execute(_, { evaluate }): Promise<string> {
        const tools = left === 1 ? [] : [delegate(left - 1)];
        const between = definePrompt({ key: `at-${left}`, sections: [{ key: "t", text: "Go.", tools }] });
        const { toolResults } = await (left === 1 ? evaluate(inner(own), options) : evaluate(between.bind()));
        return toolResults.map(({ result }) => result.message).join();
      },
    }) as Tool;
  const calls: ScriptedStep[] = Array.from({ length: depth }, () => ({ toolCalls: [{ name: "delegate" }] }));
  const ends: ScriptedStep[] = Array.from({ length: depth }, () => ({ text: "done" }));
  const prompt = definePrompt({
    key: "outer",
    policies: [noting("of the outer prompt")],
    sections: [{ key: "task", text: "Go.", tools: [delegate(depth)] }],
  });
  const adapter = modelAdapter(scriptedModel([...calls, ...innermost, ...ends]), fakeEnvironment());
  const { toolResults } = await adapter.evaluate(prompt.bind(), {
    policies,
    resources: [provide(Filesystem, memoryFilesystem())],
  });
  return toolResults[0]?.result;
}

test.each([1, 2])("TOOL-20 an evaluation's policies watch evaluations inside its calls, %d deep", async (depth) => {
  const no = definePolicy({ name: "no", tools: [refund], check: () => deny("No refunds.") });
  expect(await delegated([no], { depth })).toMatchObject({ success: true });
  expect(ran).toEqual([]);
  await delegated([], { depth });
  expect(ran).toEqual(["refund"]);
});

test("TOOL-20 they are asked after the policies of the inner prompt and those given inside; a prompt's own hold there alone", async () => {
  const own = [noting("of the inner prompt")];
  await delegated([noting("evaluation's")], { own, options: { policies: [noting("given inside")] } });
  expect(asked).toEqual([
    "of the outer prompt: delegate",
    "evaluation's: delegate",
    "of the inner prompt: refund",
    "given inside: refund",
    "evaluation's: refund",
  ]);
});

test("TOOL-20 a policy that is given inside once more is asked once", async () => {
  const policy = noting("both", [refund]);
  await delegated([policy], { options: { policies: [policy] } });
  expect(asked).toEqual(["of the outer prompt: delegate", "both: refund"]);
});

test("TOOL-20 an approver is asked inside, too", async () => {
  const approve = definePolicy({
    name: "person",
    tools: [refund],
    approve({ tool }) {
      asked.push(tool.name);
      return deny("A person said no.");
    },
  });
  expect(await delegated([approve])).toMatchObject({ success: true });
  expect([asked, ran]).toEqual([["of the outer prompt: delegate", "refund"], []]);
});

test("TOOL-20 what a policy remembers of calls inside is in its slices, and it gets the resources that it uses", async () => {
  const seen = defineEvent("seen", input);
  const count = defineSlice({ name: "seen", initial: 0 as number, reducers: ({ on }) => on(seen, (n) => n + 1) });
  const once = definePolicy({
    name: "once",
    tools: [refund],
    slices: [count],
    uses: [Filesystem],
    async check(_, { session, resources }) {
      expect(await resources.get(Filesystem).exists("none")).toBe(false);
      if (session.get(count) > 0) return deny("Once.");
      session.dispatch(seen({}));
      return allow();
    },
  });
  const twice = defineTool({
    name: "twice",
    description: "Evaluates twice.",
    input,
    async execute(_, { evaluate }) {
      for (let time = 0; time < 2; time++) await evaluate(inner());
    },
  });
  const prompt = definePrompt({ key: "outer", sections: [{ key: "task", text: "Go.", tools: [twice] }] });
  const steps = [{ toolCalls: [{ name: "twice" }] }, ...innermost, ...innermost, { text: "done" }];
  await modelAdapter(scriptedModel(steps), fakeEnvironment()).evaluate(prompt.bind(), {
    policies: [once],
    resources: [provide(Filesystem, memoryFilesystem())],
  });
  expect(ran).toEqual(["refund"]);
});
