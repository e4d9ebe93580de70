import {
  allow,
  deadlineIn,
  defineEvent,
  definePolicy,
  defineSlice,
  defineTool,
  deny,
  provide,
  type ApprovalContext,
  type PolicyDecision,
  type ToolPolicy,
} from "@proviso/core";
import { createSession, modelAdapter, openResources } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { calling, Counter, CounterKey, toolOf } from "../transactions/support.ts";
import { promptOf } from "./support.ts";

const input = z.object({ to: z.object({ amount: z.number().max(10) }) });

/** Pays, and remembers what it was given. */
function pay() {
  const paid: unknown[] = [];
  const tool = defineTool({
    name: "pay",
    description: "Pays.",
    input,
    execute: (given) => void paid.push(given),
  });
  return { paid, tool };
}

async function paying(policies: readonly ToolPolicy[], amount = 5) {
  const { paid, tool } = pay();
  const model = scriptedModel([{ toolCalls: [{ name: "pay", arguments: { to: { amount } } }] }, { text: "done" }]);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [tool] }), {
    policies,
  });
  const { params, result } = toolResults[0] ?? { params: undefined, result: undefined };
  return { paid, params, success: result?.success, message: result?.message };
}

const decides = (decision: unknown): ToolPolicy =>
  definePolicy({ name: "odd", check: () => decision as PolicyDecision });

test.each([
  [{ allowed: false }],
  [{ allowed: false, reason: "" }],
  [{ allowed: false, reason: 7 }],
  [{ allowed: "true" }],
  [{ allow: true }],
  [{ allowed: 1 }],
  [{}],
  [false],
  [true],
  [0],
  ["allow"],
  [null],
  [undefined],
  [[]],
  [deny("")],
  [deny("  ")],
])("TOOL-10 a decision that is no permission denies, and the model reads why: %o", async (decision) => {
  for (const policy of [decides(decision), definePolicy({ name: "odd", approve: () => decision as PolicyDecision })]) {
    const { paid, success, message } = await paying([policy]);
    expect([paid, success, message]).toEqual([[], false, "The policy odd did not allow pay."]);
  }
});

test.each(["arguments", "args", "updatedInput", "later"])(
  "TOOL-10 a permission with %s denies: what it was to change would be lost",
  async (key) => {
    const decision = { allowed: true, [key]: { amount: 1 } } as unknown as PolicyDecision;
    for (const policy of [decides(decision), definePolicy({ name: "odd", approve: () => decision })]) {
      const { paid, success, message } = await paying([policy]);
      expect([paid, success]).toEqual([[], false]);
      expect(message).toBe(
        `The policy odd allowed pay with "${key}", which no decision has: allow(input) replaces the arguments.`,
      );
    }
  },
);

test("TOOL-10 a permission may have a reason, and what is undefined counts as left out", async () => {
  const decision = { allowed: true, reason: "Fine.", later: undefined } as PolicyDecision;
  expect((await paying([decides(decision)])).success).toBe(true);
});

test("TOOL-10 a decision that cannot be read denies", async () => {
  const decision = {
    get allowed(): boolean {
      throw new Error("no");
    },
  };
  expect(await paying([decides(decision)])).toMatchObject({ paid: [], message: "The policy odd failed: no" });
});

test("TOOL-14 a policy cannot change the input that was validated, in place", async () => {
  const sneaky = definePolicy({
    name: "sneaky",
    check({ input: given }) {
      (given as { to: { amount: number } }).to.amount = 1_000_000;
      return allow();
    },
  });
  const { paid, success } = await paying([sneaky]);
  expect([paid, success]).toEqual([[], false]);
});

test("TOOL-14 what the approver was shown is what is recorded and what runs, though it tries to change it", async () => {
  let shown: unknown;
  const approver = definePolicy({
    name: "approver",
    approve({ input: given }) {
      shown = given;
      Reflect.set((given as z.infer<typeof input>).to, "amount", 7);
      return allow();
    },
  });
  const { paid, params } = await paying([approver]);
  expect([shown, params, paid]).toEqual([{ to: { amount: 5 } }, { to: { amount: 5 } }, [{ to: { amount: 5 } }]]);
});

test("TOOL-14 a handler gets its input frozen at every depth", async () => {
  const { paid } = await paying([]);
  expect([Object.isFrozen(paid[0]), Object.isFrozen((paid[0] as { to: object }).to)]).toEqual([true, true]);
});

test("TOOL-10 checks run before anyone is asked, and again on the input that was approved", async () => {
  const seen: unknown[] = [];
  const watcher = (name: string) =>
    definePolicy({
      name,
      check({ input: given }) {
        seen.push([name, (given as z.infer<typeof input>).to.amount]);
        return allow();
      },
    });
  const approver = definePolicy({
    name: "approver",
    approve({ input: given }) {
      seen.push(["approver", (given as z.infer<typeof input>).to.amount]);
      return allow({ to: { amount: 3 } });
    },
  });
  const { paid, params } = await paying([watcher("before"), approver, watcher("after")]);
  expect(seen).toEqual([
    ["before", 5],
    ["after", 5],
    ["approver", 5],
    ["before", 3],
    ["after", 3],
  ]);
  expect([params, paid]).toEqual([{ to: { amount: 3 } }, [{ to: { amount: 3 } }]]);
});

test("TOOL-10 no approval is asked for a call that a check denies", async () => {
  let asked = 0;
  const approver = definePolicy({ name: "approver", approve: () => (asked++, allow()) });
  const { message } = await paying([approver, definePolicy({ name: "never", check: () => deny("never") })]);
  expect([asked, message]).toEqual([0, "never"]);
});

test("TOOL-10 a check that changes what was approved denies; one that says the same again does not", async () => {
  const approver = definePolicy({ name: "approver", approve: () => allow({ to: { amount: 9 } }) });
  const cap = definePolicy({
    name: "cap",
    check: ({ input: given }) => allow({ to: { amount: Math.min(6, (given as z.infer<typeof input>).to.amount) } }),
  });
  const { paid, message } = await paying([cap, approver]);
  expect([paid, message]).toEqual([[], "The policy cap changed the input after it had been approved."]);
  const same = definePolicy({ name: "same", check: ({ input: given }) => allow(structuredClone(given)) });
  expect((await paying([same, approver])).paid).toEqual([{ to: { amount: 9 } }]);
});

test("TOOL-10 an earlier approver is asked again when a later one changes the input", async () => {
  const asked: unknown[] = [];
  const approver = (name: string, decide: () => PolicyDecision) =>
    definePolicy({
      name,
      approve({ input: given }) {
        asked.push([name, (given as z.infer<typeof input>).to.amount]);
        return decide();
      },
    });
  const { paid } = await paying([
    approver("first", () => allow()),
    approver("second", () => allow({ to: { amount: 4 } })),
  ]);
  expect(asked).toEqual([
    ["first", 5],
    ["second", 5],
    ["first", 4],
  ]);
  expect(paid).toEqual([{ to: { amount: 4 } }]);
  let amount = 0;
  const restless = approver("restless", () => allow({ to: { amount: ++amount } }));
  const other = approver("other", () => allow({ to: { amount: ++amount } }));
  expect(await paying([restless, other])).toMatchObject({
    paid: [],
    message: "The policies of pay did not agree on one input in 5 rounds.",
  });
});

test("TOOL-10 an input that an approver gives is validated", async () => {
  const approver = definePolicy({ name: "approver", approve: () => allow({ to: { amount: 11 } }) });
  const { paid, message } = await paying([approver]);
  expect([paid, message]).toEqual([[], expect.stringContaining("The arguments of pay do not fit")]);
});

const counted = defineEvent("counted", z.object({}));
const count = defineSlice({ name: "count", initial: 0 as number, reducers: ({ on }) => on(counted, (n) => n + 1) });

/** What a rollback leaves: each time that an event was reduced. */
const log = defineSlice({
  name: "log",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(counted, (draft) => draft.push("counted"));
    on("tool.requested", (draft, { callId }) => draft.push(`requested ${callId}`));
  },
});
const requested = defineSlice({
  name: "requested",
  initial: 0 as number,
  reducers: ({ on }) => on("tool.requested", (n) => n + 1),
});

test("TOOL-10 TX-7 what a check dispatched before the question is rolled back: it counts once, and a log keeps both", async () => {
  const session = createSession({ slices: [count, log, requested] });
  const { tool } = pay();
  const policies = [
    definePolicy({
      name: "counting",
      check(_, context) {
        context.session.dispatch(counted({}));
        return allow();
      },
    }),
    definePolicy({ name: "approver", approve: (_, { session: seen }: ApprovalContext) => (seen.get(count), allow()) }),
  ];
  const heard: string[] = [];
  session.on(counted, () => heard.push("counted"));
  session.on("tool.requested", ({ callId }) => heard.push(`requested ${callId}`));
  const model = scriptedModel([
    { toolCalls: [{ name: "pay", id: "c1", arguments: { to: { amount: 5 } } }] },
    { text: "done" },
  ]);
  await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [tool] }), { session, policies });
  expect([session.get(count), session.get(requested)]).toEqual([1, 1]);
  expect(heard).toEqual(["requested c1", "counted"]);
  // The call was requested once; its check dispatched twice, and the first time was undone.
  expect(session.get(log)).toEqual(["requested c1", "counted", "counted"]);
});

test.each([
  ["shares the session", true],
  ["shares the resources", false],
])("TOOL-10 TX-11 an approval that takes its time delays no call of an evaluation that %s", async (_, sameSession) => {
  const environment = fakeEnvironment();
  const session = sameSession ? createSession() : undefined;
  const resources = await openResources([provide(CounterKey, new Counter())]);
  const approver = definePolicy({
    name: "approver",
    tools: [],
    check: () => allow(),
  });
  const slowly: ToolPolicy = {
    ...approver,
    tools: undefined,
    approve: async () => {
      await environment.clock.sleep(1_500);
      return allow();
    },
  };
  const add = toolOf("add", ({ resources: mine }) => void (mine.get(CounterKey).value += 1), { timeoutMs: 100 });
  const waiting = calling(environment, "add").evaluate(promptOf({ tools: [add] }), {
    session,
    resources,
    policies: [slowly],
  });
  await environment.clock.advance(1);
  const startedAt = environment.clock.now();
  for (const options of [{}, { readOnly: true }] as const) {
    const other = toolOf("other", ({ resources: mine }) => mine.get(CounterKey).value, options);
    const deadline = deadlineIn(1_000, environment.clock);
    await calling(environment, "other").evaluate(promptOf({ tools: [other] }), { session, resources, deadline });
  }
  expect(environment.clock.now()).toBe(startedAt);
  await environment.clock.advance(2_000);
  // Its timeoutMs of 100 did not run while somebody thought.
  expect((await waiting).toolResults[0]?.result.success).toBe(true);
});

test("LIM-2 TOOL-10 the evaluation's limits end the wait for an approval, and its signal fires", async () => {
  const environment = fakeEnvironment();
  const { tool, paid } = pay();
  let signal: AbortSignal | undefined;
  const never = definePolicy({
    name: "never",
    approve(_, context) {
      ({ signal } = context);
      return new Promise(() => {});
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "pay", arguments: { to: { amount: 5 } } }] }]);
  const evaluating = modelAdapter(model, environment)
    .evaluate(promptOf({ tools: [tool] }), { policies: [never], deadline: deadlineIn(100, environment.clock) })
    .catch((error: unknown) => error);
  await environment.clock.advance(100);
  expect(await evaluating).toMatchObject({
    code: "deadline",
    phase: "tool",
    toolResults: [{ params: { to: { amount: 5 } } }],
  });
  expect([signal?.aborted, paid]).toEqual([true, []]);
});
