// Evaluations inside calls of a run: what they were answered is kept when their call is run again, and they may wait.
import {
  allow,
  definePolicy,
  definePrompt,
  defineTool,
  deny,
  RunError,
  suspend,
  toolOk,
  type PolicyDecision,
  type SessionEvent,
} from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { replay } from "@proviso/journal/testing";
import { agentAdapter, createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { heard, noted, notes } from "./runs-support.ts";
import { listed } from "./support.ts";

interface World {
  readonly requests: string[];
  readonly done: string[];
  readonly keys: string[];
}
const newWorld = (): World => ({ requests: [], done: [], keys: [] });

/** A model that answers by what it is asked: the outer evaluation calls `survey`, the inner ones `step` thrice each. */
function modelOf({ requests }: World, name = "model-1") {
  const answer = ({ messages }: { readonly messages: readonly { readonly role: string; readonly text: string }[] }) => {
    const question = messages.find(({ role }) => role === "user")?.text ?? "";
    const turn = messages.filter(({ role }) => role === "assistant").length;
    requests.push(`${question} ${turn}`);
    if (question.startsWith("Survey")) {
      if (turn > 0) return { text: "Surveyed." };
      return { toolCalls: [{ id: "s", name: "survey", arguments: {} }] };
    }
    if (turn === 3) return { text: `${question} done` };
    return { toolCalls: [{ id: `t${turn}`, name: "step", arguments: { of: question, turn } }] };
  };
  const steps = Array.from({ length: 60 }, () => answer as unknown as ScriptedStep);
  return modelAdapter({ ...scriptedModel(steps), model: name });
}

interface Shape {
  /** What the tool around the evaluations is declared to be. */
  readonly tool?: object;
  readonly decide?: (of: string, turn: number) => PolicyDecision;
  /** Called with each step. */
  readonly onStep?: (of: string, turn: number) => void;
  readonly swallows?: boolean;
}

function promptOf(world: World, { tool = { idempotent: true }, decide, onStep, swallows = false }: Shape = {}) {
  const step = defineTool({
    name: "step",
    description: "Takes a step.",
    input: z.object({ of: z.string(), turn: z.number() }),
    execute({ of, turn }, { session, idempotencyKey }) {
      onStep?.(of, turn);
      world.done.push(`${of} ${turn}`);
      world.keys.push(idempotencyKey);
      session.dispatch(noted({ text: `${of} ${turn}` }));
      return turn;
    },
  });
  const manager = definePolicy({
    name: "manager",
    tools: [step],
    check: ({ input }) => decide?.(input.of, input.turn) ?? allow(),
  });
  const part = definePrompt({
    ns: "test",
    key: "part",
    params: z.object({ name: z.string() }),
    slices: [notes],
    policies: decide === undefined ? [] : [manager],
    sections: [
      { key: "task", text: "Take steps.", tools: [step] },
      { key: "question", role: "user", text: "Part {{name}}" },
    ],
  });
  const survey = defineTool({
    name: "survey",
    description: "Surveys.",
    input: z.object({}),
    ...tool,
    async execute(_input, { evaluate }) {
      const found: string[] = [];
      for (const name of ["a", "b"]) {
        const evaluation = evaluate(part.bind({ name }));
        found.push(String(swallows ? await evaluation.then(({ text }) => text, String) : (await evaluation).text));
      }
      return found;
    },
  });
  return definePrompt({
    ns: "test",
    key: "survey",
    slices: [notes],
    sections: [
      { key: "task", text: "Look at all.", tools: [survey] },
      { key: "question", role: "user", text: "Survey" },
    ],
  }).bind();
}

async function cutOff(entries: readonly JournalEntry[], count: number): Promise<Journal> {
  const store = memoryStore();
  for (const [attempt, part] of Map.groupBy(entries.slice(0, count), (entry) => entry.attempt)) {
    const of = { run: "r", first: part[0]?.index ?? 0, body: bodyOf(attempt, part) };
    await store.append([{ ...of, count: part.length, writer: `w${attempt}`, sum: frameSum(of), summary: "{}" }]);
  }
  return createJournal(store);
}

const all = [
  "Survey 0",
  ...["a", "b"].flatMap((name) => [0, 1, 2, 3].map((turn) => `Part ${name} ${turn}`)),
  "Survey 1",
];

describe("a call with evaluations inside that is run again", () => {
  it("RSM-9 is run as one, and no answer that was kept is asked for again", async () => {
    const journal = memoryJournal();
    const first = newWorld();
    await modelOf(first).evaluate(promptOf(first), { run: journal.run("r") });
    expect(first.requests).toEqual(all);
    const entries = await listed(journal.entries("r"));
    for (let count = 2; count < entries.length; count++) {
      const world = newWorld();
      const cut = await cutOff(entries, count);
      const kept = entries.slice(0, count).filter(({ kind }) => kind === "answered").length;
      const { text, usage } = await modelOf(world).evaluate(promptOf(world), { run: cut.run("r", { takeOver: true }) });
      expect(text).toBe("Surveyed.");
      expect(usage.totalTokens).toBeGreaterThan(0);
      expect(world.requests, `${count} entries`).toEqual(all.slice(kept));
      // The calls inside are run again, each under its key of then.
      const isOver = entries
        .slice(0, count)
        .some(({ kind, evaluationId }) => kind === "committed" && evaluationId === entries[0]?.evaluationId);
      expect(world.keys).toEqual(isOver ? [] : first.keys);
      const session = await cut.session("r", { slices: [notes] });
      expect(session.get(notes)).toEqual((await journal.session("r", { slices: [notes] })).get(notes));
      const { events } = await replay(promptOf(newWorld()), cut.replay("r"));
      expect(events.at(-1)).toMatchObject({ type: "prompt.executed" });
    }
  });

  it("RSM-9 answers of all attempts count, and the record of the last one is whole", async () => {
    const journal = memoryJournal();
    const requests: string[] = [];
    let ended = 0;
    for (; ended < 20; ended++) {
      const aborting = new AbortController();
      const world = newWorld();
      const counting = { ...world, requests };
      const before = requests.length;
      // Each attempt is cut off after its second request.
      const prompt = promptOf(world, {
        onStep: () => {
          if (requests.length - before >= 2) aborting.abort();
        },
      });
      const evaluation = modelOf(counting).evaluate(prompt, { run: journal.run("r"), signal: aborting.signal });
      const outcome = await evaluation.then(
        ({ text }) => text,
        () => undefined,
      );
      if (outcome !== undefined) break;
    }
    expect(ended).toBeGreaterThan(2);
    expect(requests).toEqual(all);
    const { response } = await replay(promptOf(newWorld()), journal.replay("r"));
    expect(response?.text).toBe("Surveyed.");
  });

  it.each(["question", "model"])("RSM-9 another %s is asked again", async (what) => {
    const journal = memoryJournal();
    const first = newWorld();
    const aborting = new AbortController();
    const prompt = promptOf(first, { onStep: (of, turn) => of === "Part b" && turn === 1 && aborting.abort() });
    await expect(
      modelOf(first).evaluate(prompt, { run: journal.run("r"), signal: aborting.signal }),
    ).rejects.toMatchObject({ code: "aborted" });
    const world = newWorld();
    // With another step's result, each request after it is another one.
    const changed = promptOf(world, { onStep: () => {} });
    if (what === "model") {
      await modelOf(world, "model-2").evaluate(changed, { run: journal.run("r", { onChange: "adopt" }) });
      expect(world.requests).toEqual(all.slice(1));
      return;
    }
    const answers = await listed(journal.entries("r"));
    const asked = answers.filter((entry) => entry.kind === "asked" && entry.key !== undefined);
    expect(new Set(asked.map((entry) => entry.kind === "asked" && entry.key)).size).toBe(asked.length);
    await modelOf(world).evaluate(changed, { run: journal.run("r") });
    expect(world.requests).toEqual(all.slice(7));
  });
});

it("RSM-9 an answer whose arguments were hidden is asked for again", async () => {
  const input = z.object({ key: z.string() });
  const used: string[] = [];
  const aborting = new AbortController();
  const use = defineTool({
    name: "use",
    description: "Uses a key.",
    input,
    execute({ key }) {
      used.push(key);
      aborting.abort();
    },
  });
  const inner = definePrompt({ key: "inner", sections: [{ key: "task", text: "Use it.", tools: [use] }] });
  const outer = defineTool({
    name: "outer",
    description: "Evaluates.",
    input: z.object({}),
    idempotent: true,
    execute: async (_, { evaluate }) => (await evaluate(inner.bind())).text,
  });
  const prompt = () => definePrompt({ key: "outer", sections: [{ key: "task", text: "Go.", tools: [outer] }] }).bind();
  const journal = memoryJournal({ secrets: ["sk-canary-1"] });
  const useIt: ScriptedStep = { toolCalls: [{ id: "u", name: "use", arguments: { key: "sk-canary-1" } }] };
  const first = scriptedModel([{ toolCalls: [{ id: "o", name: "outer", arguments: {} }] }, useIt]);
  await expect(
    modelAdapter(first).evaluate(prompt(), { run: journal.run("r"), signal: aborting.signal }),
  ).rejects.toMatchObject({ code: "aborted" });
  const second = scriptedModel([useIt, { text: "Used." }, { text: "Done." }]);
  expect((await modelAdapter(second).evaluate(prompt(), { run: journal.run("r") })).text).toBe("Done.");
  expect(used).toEqual(["sk-canary-1", "sk-canary-1"]);
});

describe("a decision inside a call", () => {
  const wait = (of: string, turn: number): PolicyDecision =>
    of === "Part b" && turn === 1 ? suspend("May it?", { details: { of } }) : allow();

  async function waiting(journal: Journal, world: World, shape: Shape): Promise<RunError> {
    const error: unknown = await modelOf(world)
      .evaluate(promptOf(world, shape), { run: journal.run("r") })
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof RunError)) throw error;
    return error;
  }

  it.each([{ idempotent: true }, { transactional: true }, { readOnly: false, idempotent: true }])(
    "SUS-4 suspends the whole, and goes on with it: %o",
    async (tool) => {
      const journal = memoryJournal();
      const world = newWorld();
      const session = createSession({ id: "s" });
      const live = heard(session);
      const error: unknown = await modelOf(world)
        .evaluate(promptOf(world, { tool, decide: wait }), { run: journal.run("r"), session })
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        reason: "suspended",
        pending: {
          tool: "step",
          callId: "t1",
          question: "May it?",
          input: { of: "Part b", turn: 1 },
          about: "decision",
        },
      });
      expect(live.at(-1)).toMatchObject({ type: "run.suspended", callId: "t1", name: "step", question: "May it?" });
      // All that the call had done is undone, and is done again under the same keys.
      expect(session.get(notes)).toEqual([]);
      const keys = [...world.keys];
      const described = await journal.describe("r");
      expect(described).toMatchObject({ state: "suspended", pending: { callId: "t1" } });
      const again = await replay(promptOf(newWorld(), { tool, decide: wait }), journal.replay("r"));
      expect(again.failure).toMatchObject({ reason: "suspended" });
      expect(again.events.map((event) => JSON.stringify(event))).toEqual(live.map((event) => JSON.stringify(event)));
      expect(again.session.get(notes)).toEqual([]);
      expect((await journal.session("r", { slices: [notes] })).get(notes)).toEqual([]);

      await journal.resolve((error as RunError).pending?.token ?? "", allow());
      const later = newWorld();
      const { text } = await modelOf(later).evaluate(promptOf(later, { tool, decide: wait }), {
        run: journal.run("r"),
      });
      expect(text).toBe("Surveyed.");
      // Requests before the question are answered from the record.
      expect(later.requests).toEqual(all.slice(7));
      expect(later.keys.slice(0, keys.length)).toEqual(keys);
      expect(later.done).toHaveLength(6);
      const end = await replay(promptOf(newWorld(), { tool, decide: wait }), journal.replay("r"));
      expect(end.response?.text).toBe("Surveyed.");
    },
  );

  it("SUS-4 waits inside a call that only reads", async () => {
    const input = z.object({});
    const seen: string[] = [];
    const peek = defineTool({
      name: "peek",
      description: "Peeks.",
      input,
      readOnly: true,
      execute: () => void seen.push("peeked"),
    });
    const guard = definePolicy({ name: "guard", tools: [peek], check: () => suspend("May it?") });
    const inner = definePrompt({
      key: "inner",
      policies: [guard],
      sections: [{ key: "task", text: "Peek.", tools: [peek] }],
    });
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input,
      readOnly: true,
      execute: async (_, { evaluate }) => (await evaluate(inner.bind())).text,
    });
    const outer = () =>
      definePrompt({ key: "outer", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();
    const journal = memoryJournal();
    const toolCall = (name: string): ScriptedStep => ({ toolCalls: [{ id: "c1", name, arguments: {} }] });
    const error: unknown = await modelAdapter(scriptedModel([toolCall("look"), toolCall("peek")]))
      .evaluate(outer(), { run: journal.run("r") })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "suspended", pending: { tool: "peek" } });
    await journal.resolve((error as RunError).pending?.token ?? "", allow());
    const { text } = await modelAdapter(scriptedModel([{ text: "Seen." }, { text: "Done." }])).evaluate(outer(), {
      run: journal.run("r"),
    });
    expect([text, seen]).toEqual(["Done.", ["peeked"]]);
  });

  it("SUS-4 is denied where a tool around it may not be run again", async () => {
    const world = newWorld();
    const journal = memoryJournal();
    const { text } = await modelOf(world).evaluate(promptOf(world, { tool: {}, decide: wait }), {
      run: journal.run("r"),
    });
    expect(text).toBe("Surveyed.");
    expect(world.done).not.toContain("Part b 1");
    const denied = (await listed(journal.entries("r"))).filter(
      (entry) => entry.kind === "event" && entry.event.type === "tool.invoked" && !entry.event.result.success,
    );
    expect(JSON.stringify(denied)).toContain(
      "Not run: this has to be decided first, and there is no run to wait in: May it?",
    );
  });

  const decisions: readonly [string, Parameters<Journal["resolve"]>[1], string[]][] = [
    ["denied", deny("No."), ["Part b 0", "Part b 2"]],
    ["allowed with another input", allow({ of: "other", turn: 9 }), ["Part b 0", "other 9", "Part b 2"]],
    ["done elsewhere", { result: toolOk(7) }, ["Part b 0", "Part b 2"]],
  ];
  it.each(decisions)("SUS-2 SUS-4 the call inside comes to what was decided: %s", async (_name, decision, done) => {
    const journal = memoryJournal();
    const { pending } = await waiting(journal, newWorld(), { decide: wait });
    await journal.resolve(pending?.token ?? "", decision);
    const world = newWorld();
    await modelOf(world).evaluate(promptOf(world, { decide: wait }), { run: journal.run("r") });
    expect(world.done.slice(3)).toEqual(done);
  });

  it("SUS-4 a handler that goes on after it is undone with its call all the same", async () => {
    const journal = memoryJournal();
    const session = createSession();
    const heardLive: SessionEvent[] = heard(session);
    const error: unknown = await modelOf(newWorld())
      .evaluate(promptOf(newWorld(), { decide: wait, swallows: true }), { run: journal.run("r"), session })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "suspended" });
    expect(session.get(notes)).toEqual([]);
    expect(heardLive.filter(({ type }) => type === "noted")).toEqual([]);
    expect((await listed(journal.entries("r"))).some(({ kind }) => kind === "committed")).toBe(false);
  });

  it("SUS-4 waits in a turn of an agent, unless what it did in it would be done twice", async () => {
    for (const first of ["look", "pay"]) {
      const journal = memoryJournal();
      const done: string[] = [];
      const tool = (name: string, more: object) =>
        defineTool({
          name,
          description: `Does ${name}.`,
          input: z.object({ n: z.number() }),
          ...more,
          execute: ({ n }) => void done.push(`${name} ${n}`),
        });
      const refund = tool("refund", {});
      const manager = definePolicy({ name: "manager", tools: [refund], check: () => suspend("Refund?") });
      const prompt = definePrompt({
        key: "desk",
        policies: [manager],
        sections: [{ key: "task", text: "Work.", tools: [tool("look", { readOnly: true }), tool("pay", {}), refund] }],
      }).bind();
      let turns = 0;
      const adapter = agentAdapter({
        name: "agent",
        model: "agent-1",
        async drive({ executeToolCall }) {
          turns += 1;
          const call = (name: string) => executeToolCall({ id: `${name} ${turns}`, name, arguments: '{"n":1}' });
          await call(first);
          const { text } = await call("refund");
          return { message: { role: "assistant", text: text || "Done.", toolCalls: [] }, finishReason: "stop" };
        },
      });
      const evaluate = () => adapter.evaluate(prompt, { run: journal.run("r") });
      if (first === "pay") {
        expect((await evaluate()).text).toContain("there is no run to wait in");
        expect(done).toEqual(["pay 1"]);
        continue;
      }
      const error = (await evaluate().catch((thrown: unknown) => thrown)) as RunError;
      expect(error).toMatchObject({ reason: "suspended", pending: { tool: "refund" } });
      await journal.resolve(error.pending?.token ?? "", allow());
      await evaluate();
      expect(done).toEqual(["look 1", "look 1", "refund 1"]);
      await replay(prompt, journal.replay("r"));
    }
  });
});
