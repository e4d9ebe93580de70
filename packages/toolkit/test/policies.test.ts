import { definePrompt, defineTool, Filesystem, provide, provideFactory, toolError } from "@proviso/core";
import {
  createSession,
  memoryConversations,
  memoryFilesystem,
  modelAdapter,
  readConversation,
  withConversation,
} from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import {
  filesystemTools,
  readBeforeWrite,
  requireApproval,
  sequentialDependency,
  type Approval,
} from "@proviso/toolkit";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, work } from "./support.ts";

const tool = (name: string) =>
  defineTool({
    name,
    description: name,
    input: z.object({ fail: z.boolean().default(false), to: z.string().default("prod") }),
    execute: ({ fail, to }) => (fail ? toolError("no") : `${name} ${to}`),
  });
const [build, check, deploy] = [tool("build"), tool("check"), tool("deploy")];

test("KIT-6 a tool is denied until those before it have succeeded", async () => {
  const { results } = await work(
    { tools: [build, check, deploy], policies: [sequentialDependency({ tool: deploy, after: [build, check] })] },
    [call("deploy"), call("build", { fail: true }), call("check"), call("deploy"), call("build"), call("deploy")],
  );
  expect(results).toEqual([
    "failed: Call build, then check first; deploy comes after.",
    "failed: no",
    "check prod",
    "failed: Call build first; deploy comes after.",
    "build prod",
    "deploy prod",
  ]);
});

test("SES-4 CNV-1 a turn with policies of the toolkit has the slices that the guide spreads", async () => {
  const policies = [
    sequentialDependency({ tool: deploy, after: [build] }),
    readBeforeWrite({ read: [check], write: [deploy] }),
    requireApproval(() => ({ approved: true })),
  ] as const;
  expect(policies.map(({ slices }) => slices.length)).toEqual([1, 1, 0]);
  const prompt = definePrompt({ key: "work", sections: [{ key: "s", role: "user", text: "Work.", tools: [build] }] });
  const store = memoryConversations();
  for (const policy of policies) {
    const steps = [{ toolCalls: [{ name: "build", arguments: {} }] }, { text: "Built." }];
    const adapter = modelAdapter(scriptedModel(steps));
    const slices = [...prompt.slices, ...policy.slices];
    await withConversation(
      store,
      policy.name,
      (turn) => turn.evaluate(adapter, prompt.bind(), { policies: [policy] }),
      {
        slices,
      },
    );
    const saved = await readConversation(store, policy.name, { slices });
    expect(saved?.session.slices().filter((each) => policy.slices.includes(each))).toEqual(policy.slices);
  }
});

const tools = filesystemTools();
const byName = (name: string) => tools.filter((one) => one.name === name);
const policy = readBeforeWrite({ read: byName("read_file"), write: [...byName("write_file"), ...byName("edit_file")] });

test("KIT-7 a file is changed only after it was read; new files are free, and then known", async () => {
  const { results } = await work(
    { tools, policies: [policy] },
    [
      call("write_file", { path: "old.ts", text: "x" }),
      call("write_file", { path: "new.ts", text: "x" }),
      call("write_file", { path: "./new.ts", text: "y" }),
      call("read_file", { path: ".//old.ts" }),
      call("edit_file", { path: "old.ts", find: "old", replace: "new" }),
    ],
    { "old.ts": "old" },
  );
  expect(results.map((result) => result.startsWith("failed"))).toEqual([true, false, false, false, false]);
  expect(results[0]).toContain("Read old.ts with read_file before write_file changes it.");
});

test("KIT-7 a read that was undone does not count", async () => {
  const read = byName("read_file")[0] as never;
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "x", tools, policies: [policy] }] }).bind();
  const session = createSession();
  session.on(read, ({ result }: { readonly result: { readonly success: boolean } }) => {
    if (result.success) throw new Error("not recorded");
  });
  const steps = [
    { toolCalls: [call("read_file", { path: "old.ts" })] },
    { toolCalls: [call("write_file", { path: "old.ts", text: "x" })] },
    { text: "done" },
  ];
  const resources = [provide(Filesystem, memoryFilesystem({ "old.ts": "old" }))];
  const { toolResults } = await modelAdapter(scriptedModel(steps)).evaluate(prompt, { session, resources });
  expect(toolResults.map(({ result }) => result.success)).toEqual([false, false]);
});

async function deploying(ask: Parameters<typeof requireApproval>[0], options?: Parameters<typeof requireApproval>[1]) {
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "x", tools: [deploy] }] }).bind();
  const model = scriptedModel([{ toolCalls: [call("deploy")] }, { text: "done" }]);
  const { toolResults } = await modelAdapter(model).evaluate(prompt, { policies: [requireApproval(ask, options)] });
  return toolResults[0]?.result;
}

test.each<readonly [string, Approval, object]>([
  ["approved", { approved: true }, { success: true, value: "deploy prod" }],
  ["approved with other arguments", { approved: true, input: { to: "test" } }, { success: true, value: "deploy test" }],
  ["denied", { approved: false, reason: "not on Fridays" }, { message: "deploy was not approved: not on Fridays." }],
  [
    "to be decided later, without a run,",
    { later: "Deploy?" },
    { message: "Not run: this has to be decided first, and there is no run to wait in: Deploy?" },
  ],
  ["answered with nothing", undefined as never, { message: "deploy was not approved." }],
])("KIT-8 a call that was %s", async (_, approval, result) => {
  expect(await deploying(async () => approval)).toMatchObject(result);
});

test.each([
  { approved: true, arguments: { to: "test" } },
  { approved: true, args: { to: "test" } },
  { approved: true, reason: "Only there.", updatedInput: { to: "test" } },
])(
  "KIT-11 an edit under a name that no answer has denies: the call that the person did not want would run: %o",
  async (answer) => {
    const result = await deploying(async () => answer as never);
    const name = Object.keys(answer).at(-1);
    expect(result).toMatchObject({ success: false, message: expect.stringContaining(`was answered with "${name}"`) });
    expect(result).toMatchObject({ message: expect.stringContaining("it takes { approved: true, input }") });
  },
);

test("KIT-11 a key that is undefined counts as left out, and a reason may stand beside a permission", async () => {
  const answer = { approved: true, reason: "Fine.", arguments: undefined };
  expect(await deploying(async () => answer as never)).toMatchObject({ success: true, value: "deploy prod" });
});

test("KIT-8 arguments put in place are validated again", async () => {
  expect(await deploying(() => ({ approved: true, input: { to: 5 } }))).toMatchObject({
    success: false,
    message: expect.stringContaining("to"),
  });
});

test("KIT-8 the wait for an approval ends with the evaluation, and its signal fires", async () => {
  const environment = fakeEnvironment();
  const controller = new AbortController();
  let asked: AbortSignal | undefined;
  const ask = requireApproval(({ signal }) => {
    asked = signal;
    return new Promise(() => {});
  });
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "x", tools: [deploy] }] }).bind();
  const evaluating = modelAdapter(scriptedModel([{ toolCalls: [call("deploy")] }]), environment)
    .evaluate(prompt, { policies: [ask], signal: controller.signal })
    .catch((error: { readonly code?: string }) => error.code);
  await environment.clock.advance(1);
  controller.abort();
  await environment.clock.advance(100);
  expect(await evaluating).toBe("aborted");
  expect(asked?.aborted).toBe(true);
});

test("KIT-8 read-only tools are not asked for, unless they are named", async () => {
  const look = defineTool({
    name: "look",
    description: "x",
    input: z.object({}),
    readOnly: true,
    execute: () => "seen",
  });
  let asked = 0;
  const ask = () => ({ approved: Boolean(++asked) }) as const;
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "x", tools: [look] }] }).bind();
  for (const tools of [undefined, [look]]) {
    const model = scriptedModel([{ toolCalls: [call("look")] }, { text: "done" }]);
    await modelAdapter(model).evaluate(prompt, { policies: [requireApproval(ask as never, { tools })] });
  }
  expect(asked).toBe(1);
});

test("KIT-6 KIT-7 policies with the same tools share what they remember, so two prompts of a session can have them", async () => {
  const pathOf = () => undefined;
  const prompts = ["first", "second"].map((key) => {
    const after = sequentialDependency({ tool: deploy, after: [build] });
    const reading = readBeforeWrite({ read: byName("read_file"), write: byName("write_file") });
    const other = readBeforeWrite({ read: byName("list_files"), write: byName("write_file"), pathOf });
    const own = [...tools, build, deploy];
    return definePrompt({ key, sections: [{ key: "s", text: "x", tools: own }], policies: [after, reading, other] });
  });
  const session = createSession();
  const resources = [provide(Filesystem, memoryFilesystem({ "a.ts": "a" }))];
  const steps = [
    [call("build"), call("read_file", { path: "a.ts" })],
    [call("deploy"), call("write_file", { path: "a.ts", text: "b" })],
  ];
  for (const [index, prompt] of prompts.entries()) {
    const model = scriptedModel([{ toolCalls: steps[index] ?? [] }, { text: "x" }]);
    const evaluated = modelAdapter(model, fakeEnvironment()).evaluate(prompt.bind(), { session, resources });
    expect((await evaluated).toolResults.map(({ result }) => result.success)).toEqual([true, true]);
  }
});

test("KIT-7 a filesystem that is made asynchronously is asked for new files too", async () => {
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "x", tools, policies: [policy] }] }).bind();
  const model = scriptedModel([{ toolCalls: [call("write_file", { path: "new.ts", text: "x" })] }, { text: "x" }]);
  const resources = [provideFactory(Filesystem, async () => memoryFilesystem({}))];
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(prompt, { resources });
  expect(toolResults[0]?.result.success).toBe(true);
});

test("KIT-7 of a folder its files are read and removed one by one, and then it may go", async () => {
  const removing = readBeforeWrite({ read: byName("read_file"), write: byName("remove_file") });
  const { results } = await work(
    { tools, policies: [removing] },
    [
      call("remove_file", { path: "src" }),
      call("remove_file", { path: "src/a.ts" }),
      call("read_file", { path: "src/a.ts" }),
      call("remove_file", { path: "src/a.ts" }),
      call("remove_file", { path: "src" }),
    ],
    { "src/a.ts": "a" },
  );
  expect(results[0]).toBe("failed: src is a folder: take its files one by one, each after it was read.");
  expect(results.map((result) => result.startsWith("failed"))).toEqual([true, true, false, false, false]);
});
