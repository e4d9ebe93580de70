// Limits that are met where calls begin, wait or end, and runs that are refused: the record is that of what happened.
import {
  countSpending,
  definePrompt,
  defineTool,
  provide,
  resourceKey,
  type EvaluateOptions,
  type ModelProvider,
} from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { agentAdapter, createSession, modelAdapter, openResources } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const toolOf = (name: string, more: object = {}) =>
  defineTool({ name, description: `Does ${name}.`, input: z.object({}), ...more, execute: () => "seen" });
const look = toolOf("look", { readOnly: true });
const write = toolOf("write");
const promptOf = (...tools: readonly ReturnType<typeof toolOf>[]) =>
  definePrompt({ key: "calls", sections: [{ key: "task", text: "Go.", tools: [...tools] }] }).bind();
const calls = (...names: readonly string[]) => ({ toolCalls: names.map((name, at) => ({ id: `c${at}`, name })) });

/** What it came to, evaluated or replayed. */
const messageOf = async (evaluating: Promise<unknown>): Promise<string> => {
  const came = await evaluating.catch((error: unknown) => error);
  const { failure, message } = came as { readonly failure?: Error; readonly message?: string };
  return failure?.message ?? message ?? "executed";
};

async function expectReplays(journal: Journal, prompt: ReturnType<typeof promptOf>, came: string, more = {}) {
  for (const tools of ["recorded", "run"] as const) {
    expect(await messageOf(replay(prompt, journal.replay("r", { tools }), more)), tools).toBe(came);
  }
}

it.each([
  [["look", "look"], 1],
  [["look", "look"], 0],
  [["write", "look", "look"], 1],
  [["write", "write"], 1],
  [["look"], 1],
])("RPL-7 an abort between an answer and its calls %j replays (%i)", async (names, hops) => {
  await using journal = memoryJournal();
  const prompt = promptOf(look, write);
  const aborting = new AbortController();
  const session = createSession({ id: "s" });
  session.on("provider.responded", () => {
    if (hops === 0) aborting.abort();
    else void Promise.resolve().then(() => aborting.abort());
  });
  const options = { run: journal.run("r"), session, signal: aborting.signal };
  const came = await messageOf(modelAdapter(scriptedModel([calls(...names)])).stream(prompt, options).response);
  expect(came).toBe("The evaluation was aborted.");
  await expectReplays(journal, prompt, came);
  const rest = modelAdapter(scriptedModel([{ text: "Done." }]));
  expect((await rest.evaluate(prompt, { run: journal.run("r") })).text).toBe("Done.");
});

it("RPL-7 TX-12 an abort while a call waits for a lock replays with the call that it waited for", async () => {
  await using journal = memoryJournal();
  const environment = fakeEnvironment();
  const { clock } = environment;
  const Stock = resourceKey<{ snapshot(): number; restore(): void }>("Stock");
  const resources = await openResources([provide(Stock, { snapshot: () => 1, restore: () => {} })]);
  const order = defineTool({
    name: "order",
    description: "Orders.",
    input: z.object({}),
    uses: [Stock],
    execute: () => clock.sleep(1_000).then(() => "ordered"),
  });
  const prompt = promptOf(order as never);
  const evaluate = (options: EvaluateOptions) =>
    modelAdapter(scriptedModel([calls("order"), { text: "Done." }]), environment).evaluate(prompt, {
      resources,
      ...options,
    });
  const first = evaluate({});
  await clock.advance(10);
  const aborting = new AbortController();
  const second = messageOf(evaluate({ run: journal.run("r"), signal: aborting.signal }));
  await clock.advance(10);
  aborting.abort();
  const came = await second;
  expect(came).toMatch(/^The evaluation was aborted\. It waited for the call of order/);
  await expectReplays(journal, prompt, came, { resources });
  await clock.advance(2_000);
  await first;
});

it("EFF-3 RSM-2 an abort while a call that counts is released does not make it run again", async () => {
  await using journal = memoryJournal();
  const environment = fakeEnvironment();
  const { clock } = environment;
  const Rows = resourceKey<object>("Rows");
  const aborting = new AbortController();
  let rows = 0;
  const resource = {
    durable: true,
    snapshot: () => rows,
    restore: (before: number) => void (rows = before),
    async release() {
      await clock.sleep(4);
      aborting.abort();
      await clock.sleep(4);
    },
  };
  const insert = defineTool({
    name: "insert",
    description: "Inserts.",
    input: z.object({}),
    uses: [Rows],
    transactional: true,
    execute: () => void (rows += 1),
  });
  const prompt = promptOf(insert as never);
  const resources = [provide(Rows, resource)];
  const adapter = (...steps: Parameters<typeof scriptedModel>[0]) => modelAdapter(scriptedModel(steps), environment);
  const first = messageOf(
    adapter(calls("insert")).evaluate(prompt, { run: journal.run("r"), resources, signal: aborting.signal }),
  );
  await clock.advance(100);
  expect(await first).toBe("The evaluation was aborted.");
  const second = adapter({ text: "Done." }).evaluate(prompt, { run: journal.run("r"), resources });
  await clock.advance(100);
  expect((await second).text).toBe("Done.");
  expect(rows).toBe(1);
  const timeline = (await journal.describe("r"))?.timeline ?? [];
  expect(timeline.flatMap((step) => (step.kind === "call" ? [step.effect] : []))).toEqual(["committed"]);
});

it("RPL-7 RSM-15 a run that is refused to go on, for the turn of its agent was lost, replays up to its failure", async () => {
  await using journal = memoryJournal();
  const prompt = promptOf(write);
  const aborting = new AbortController();
  const adapter = agentAdapter({
    name: "agent",
    model: "agent-1",
    async drive({ executeToolCall, signal }) {
      await executeToolCall({ id: "c", name: "write", arguments: "{}" });
      aborting.abort();
      throw signal.reason;
    },
  });
  const came = await messageOf(adapter.evaluate(prompt, { run: journal.run("r"), signal: aborting.signal }));
  for (let attempt = 2; attempt < 4; attempt++) {
    await expect(adapter.evaluate(prompt, { run: journal.run("r") })).rejects.toMatchObject({ reason: "agent" });
    expect(await journal.describe("r")).toMatchObject({ state: "failed", attempts: attempt });
    expect(await messageOf(replay(prompt, journal.replay("r")))).toBe(came);
  }
});

it.each(["none", "counted", "limited"])(
  "RPL-1 RSM-1 what was estimated is that of the record, with any budget (%s) and without",
  async (which) => {
    const budgets: Readonly<Record<string, () => EvaluateOptions>> = {
      none: () => ({}),
      counted: () => ({ budget: countSpending() }),
      limited: () => ({ budget: { maxTotalTokens: 1_000_000 } }),
    };
    const prompt = promptOf(write);
    // Only the second of three answers has no usage.
    const provider: ModelProvider = {
      ...scriptedModel([]),
      async generate({ messages }) {
        const turn = messages.filter(({ role }) => role === "assistant").length;
        const toolCalls = turn < 2 ? [{ id: `c${turn}`, name: "write", arguments: "{}" }] : [];
        return {
          message: { role: "assistant", text: "A text.", toolCalls },
          finishReason: toolCalls.length > 0 ? "tool-calls" : "stop",
          ...(turn !== 1 && { usage: { inputTokens: 10, outputTokens: 5 } }),
        };
      },
    };
    await using journal = memoryJournal();
    const adapter = modelAdapter(provider);
    const { usage } = await adapter.evaluate(prompt, { run: journal.run("r"), ...budgets[which]?.() });
    expect((await replay(prompt, journal.replay("r"))).response?.usage).toEqual(usage);
    for (const budget of Object.values(budgets)) {
      expect((await adapter.evaluate(prompt, { run: journal.run("r"), ...budget() })).usage).toEqual(usage);
    }
  },
);
