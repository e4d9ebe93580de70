// Runs of agents, which own their loop: a turn with its calls is one step.
import { deadlineIn, definePrompt, defineTool, RunError, type SessionEvent } from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { sqliteJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { agentAdapter, createSession, type AgentDriver, type AgentRun } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { heard, noted, notes } from "./runs-support.ts";
import { folder, listed } from "./support.ts";

interface World {
  readonly done: string[];
  readonly keys: string[];
}

const newWorld = (): World => ({ done: [], keys: [] });

function toolsOf(world: World) {
  const tool = (name: string, more: object) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      input: z.object({ n: z.number() }),
      ...more,
      execute({ n }, { session, idempotencyKey }) {
        world.done.push(`${name} ${n}`);
        world.keys.push(idempotencyKey);
        if (name === "fail") throw new Error("It failed.");
        if (name !== "look") session.dispatch(noted({ text: `${name} ${n}` }));
        return n;
      },
    });
  return [
    tool("write", {}),
    tool("look", { readOnly: true }),
    tool("save", { idempotent: true }),
    tool("move", { transactional: true }),
    tool("fail", {}),
  ];
}

function promptOf(world: World) {
  return definePrompt({
    ns: "test",
    key: "agent",
    slices: [notes],
    output: z.object({ sum: z.number() }),
    sections: [{ key: "task", text: "Work.", tools: toolsOf(world) }],
  }).bind();
}

const done = (text: string, usage = { inputTokens: 10, outputTokens: 5 }) =>
  ({ message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop", usage }) as const;

type Drive = AgentDriver["drive"];
const agentOf = (drive: Drive, more: object = {}) => agentAdapter({ name: "agent", model: "agent-1", drive }, more);
const call = (run: AgentRun, id: string, name: string, n: number) =>
  run.executeToolCall({ id, name, arguments: JSON.stringify({ n }) });

/** Works in two turns: its first answer does not fit. */
const working: Drive = async (run) => {
  const isRepair = run.messages.length > 1;
  run.onDelta({ kind: "reasoning", text: "Hm." });
  run.onDelta({ kind: "text", text: isRepair ? '{"sum"' : "I say " });
  if (!isRepair) {
    await call(run, "c1", "write", 1);
    run.onDelta({ kind: "text", text: "six" });
    await call(run, "c2", "fail", 2);
    await call(run, "c3", "nothing", 3);
    await Promise.all([call(run, "c4", "write", 1), call(run, "c5", "look", 5)]);
    return done("I say six");
  }
  await call(run, "c1", "save", 6);
  run.onDelta({ kind: "text", text: ": 6}" });
  return done('{"sum": 6}');
};

/** A journal whose run has these entries alone, as if its process had ended there. */
async function cutOff(entries: readonly JournalEntry[], count: number): Promise<Journal> {
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
  await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store);
}

const shown = (events: readonly SessionEvent[]): readonly string[] => events.map((event) => JSON.stringify(event));

describe("a run of an agent", () => {
  it.each(["evaluate", "stream"] as const)(
    "RPL-1 RSM-10 is recorded and replays byte for byte without the agent, by %s",
    async (way) => {
      const journal = memoryJournal();
      const world = newWorld();
      const session = createSession({ id: "s" });
      const live = heard(session);
      const options = { run: journal.run("r"), session, maxRepairs: 1 };
      const adapter = agentOf(working, fakeEnvironment());
      const stream = way === "stream" ? adapter.stream(promptOf(world), options) : undefined;
      if (stream !== undefined) for await (const _ of stream) void _;
      const response = await (stream?.response ?? adapter.evaluate(promptOf(world), options));
      expect(response).toMatchObject({ output: { sum: 6 }, turns: 2, run: { id: "r", attempt: 1, keptSteps: 0 } });
      expect(world.done).toEqual(["write 1", "fail 2", "write 1", "look 5", "save 6"]);
      // EFF-1: a call that is made twice has two keys.
      expect(new Set(world.keys).size).toBe(5);

      const again = createSession({ id: "s" });
      const replayedLive = heard(again);
      const silent = agentOf(() => Promise.reject(new Error("The agent was asked.")));
      const given = { run: journal.replay("r"), session: again };
      const second = way === "stream" ? silent.stream(promptOf(newWorld()), given) : undefined;
      if (second !== undefined) for await (const _ of second) void _;
      const same = await (second?.response ?? silent.evaluate(promptOf(newWorld()), given));
      expect(shown(replayedLive)).toEqual(shown(live));
      expect(again.get(notes)).toEqual(session.get(notes));
      const [{ run: _a, providerPayload: _b, ...first }, { run: _c, providerPayload: _d, ...rest }] = [response, same];
      expect(rest).toEqual(first);
      if (way === "evaluate") {
        const { events, response: third } = await replay(promptOf(newWorld()), journal.replay("r"));
        expect(shown(events)).toEqual(shown(live));
        expect(third?.output).toEqual({ sum: 6 });
      }
    },
  );

  it("RSM-10 a turn is one step, with its calls", async () => {
    const journal = memoryJournal();
    await agentOf(working).evaluate(promptOf(newWorld()), { run: journal.run("r"), maxRepairs: 1 });
    const described = await journal.describe("r");
    expect(described?.steps).toBe(2);
    expect(described?.timeline.map((step) => [step.step, step.kind === "call" ? step.callId : "answer"])).toEqual([
      [1, "c1"],
      [1, "c2"],
      [1, "c3"],
      [1, "c4"],
      [1, "c5"],
      [1, "answer"],
      [2, "c1"],
      [2, "answer"],
    ]);
    const early = await journal.session("r", { slices: [notes], at: 1 });
    expect(early.get(notes).filter((text) => text.startsWith("write"))).toEqual(["write 1", "write 1"]);
    // FRK-1: a fork begins after a whole turn.
    const world = newWorld();
    const { output, run } = await agentOf(working).evaluate(promptOf(world), {
      run: journal.fork("r", { at: 1, id: "f" }),
      maxRepairs: 1,
    });
    expect([output, run?.keptSteps, world.done]).toEqual([{ sum: 6 }, 1, ["save 6"]]);
  });

  it("RSM-10 a run cut after any entry goes on with the turn that was lost, or names what its calls did", async () => {
    const journal = memoryJournal();
    await agentOf(working).evaluate(promptOf(newWorld()), { run: journal.run("r"), maxRepairs: 1 });
    const entries = await listed(journal.entries("r"));
    const firstAnswer = entries.findIndex(({ kind }) => kind === "answered");
    const firstStart = entries.findIndex(({ kind }) => kind === "started");
    const firstFailure = entries.findIndex(({ kind }) => kind === "committed") + 1;
    expect(firstFailure).toBeLessThan(firstAnswer);
    for (let count = 1; count < entries.length; count++) {
      const cut = await cutOff(entries, count);
      const world = newWorld();
      const options = { run: cut.run("r", { takeOver: true }), maxRepairs: 1 };
      const evaluation = agentOf(working).evaluate(promptOf(world), options);
      if (count > firstStart && count <= firstAnswer) {
        const error = await evaluation.catch((thrown: unknown) => thrown);
        expect(error, `${count} entries`).toBeInstanceOf(RunError);
        expect(error).toMatchObject({ code: "run", reason: "agent", runId: "r" });
        expect((error as RunError).message).toContain("write (c1)");
        expect(world.done).toEqual([]);
        // It stays so: nothing was begun that could stand.
        const again = agentOf(working).evaluate(promptOf(world), { ...options, run: cut.run("r", { takeOver: true }) });
        await expect(again).rejects.toMatchObject({ reason: "agent" });
        continue;
      }
      const { output, run } = await evaluation;
      expect(output).toEqual({ sum: 6 });
      const isKept = count > firstAnswer;
      expect(run?.keptSteps).toBe(count === entries.length ? 2 : run?.keptSteps);
      expect(world.done.includes("write 1")).toBe(!isKept);
      const { events } = await replay(promptOf(newWorld()), cut.replay("r"));
      expect(events.at(-1)).toMatchObject({ type: "prompt.executed" });
    }
  });

  const lost: readonly [string, string, boolean][] = [
    ["that only reads", "look", true],
    ["that is idempotent", "save", true],
    ["that is transactional, of the session alone", "move", true],
    ["that failed, and was undone", "fail", true],
    ["that changed something", "write", false],
  ];
  it.each(lost)("RSM-10 after a call %s", async (_name, tool, mayBegin) => {
    const journal = memoryJournal();
    const aborting = new AbortController();
    let turns = 0;
    const drive: Drive = async (run) => {
      turns += 1;
      await call(run, `t${turns}`, tool, turns);
      if (turns === 1) aborting.abort();
      return done('{"sum": 6}');
    };
    const world = newWorld();
    const options = { run: journal.run("r"), signal: aborting.signal };
    await expect(agentOf(drive).evaluate(promptOf(world), options)).rejects.toMatchObject({ code: "aborted" });
    const evaluation = agentOf(drive).evaluate(promptOf(world), { run: journal.run("r") });
    if (!mayBegin) {
      await expect(evaluation).rejects.toMatchObject({
        reason: "agent",
        message: expect.stringContaining(`${tool} (t1)`) as string,
      });
      expect(world.done).toEqual([`${tool} 1`]);
      return;
    }
    await evaluation;
    expect(world.done).toEqual([`${tool} 1`, `${tool} 2`]);
    // What the lost turn did to the session does not stand.
    const after = await journal.session("r", { slices: [notes] });
    expect(after.get(notes).filter((text) => text === `${tool} 1`)).toEqual([]);
    const { events } = await replay(promptOf(newWorld()), journal.replay("r"));
    expect(events.at(-1)).toMatchObject({ type: "prompt.executed" });
  });

  const ends: readonly [string, Drive, object][] = [
    [
      "a failure without a usage",
      async (run) => {
        run.onDelta({ kind: "text", text: "Some text that costs." });
        await call(run, "c1", "look", 1);
        run.onDelta({ kind: "text", text: "And more of it." });
        return { failure: "process", message: "It exited.", exitCode: 1, signal: null, stderr: "" };
      },
      { code: "process" },
    ],
    [
      "a deadline in the middle of a call",
      async (run) => {
        run.onDelta({ kind: "text", text: "Some text." });
        await call(run, "c1", "wait", 1);
        return done("late");
      },
      { code: "deadline" },
    ],
    [
      "a deadline between calls",
      async (run) => {
        await call(run, "c1", "write", 1);
        run.onDelta({ kind: "text", text: "Some text." });
        await new Promise<void>((resolve) => run.signal.addEventListener("abort", () => resolve()));
        return done("late");
      },
      { code: "deadline" },
    ],
    [
      "an answer while a call still runs",
      async (run) => {
        void call(run, "c1", "slow", 1).catch(() => {});
        return done('{"sum": 1}');
      },
      {},
    ],
  ];
  it.each(ends)("RPL-7 RSM-10 %s replays as it was", async (_name, drive, expected) => {
    const journal = memoryJournal();
    const wait = (ms: number, name: string) =>
      defineTool({
        name,
        description: "Waits.",
        input: z.object({ n: z.number() }),
        execute: (_input, { signal }) =>
          new Promise((resolve) => {
            const over = (): void => resolve("over");
            signal.addEventListener("abort", over, { once: true });
            if (ms > 0) setTimeout(over, ms);
          }),
      });
    const prompt = definePrompt({
      ns: "test",
      key: "ending",
      slices: [notes],
      output: z.object({ sum: z.number() }),
      sections: [{ key: "task", text: "Work.", tools: [...toolsOf(newWorld()), wait(0, "wait"), wait(5, "slow")] }],
    }).bind();
    const session = createSession({ id: "s" });
    const live = heard(session);
    const pricing = { input: 1, output: 5 };
    const evaluation = agentOf(drive, { pricing }).evaluate(prompt, {
      run: journal.run("r"),
      session,
      // Only a case that is about the deadline meets it, also on a machine that is busy.
      deadline: deadlineIn("code" in expected && expected.code === "deadline" ? 500 : 20_000),
    });
    const outcome: unknown = await evaluation.catch((error: unknown) => error);
    expect(outcome).toMatchObject(expected);
    const { events, failure } = await replay(prompt, journal.replay("r"));
    expect(shown(events)).toEqual(shown(live));
    if ("code" in expected) expect(failure).toMatchObject(expected);
  });

  it.each(["apart", "together"])(
    "RSM-10 rows that a lost turn committed are named, with the file %s",
    async (place) => {
      const path = await folder();
      await using journal = sqliteJournal(join(path, "runs.db"));
      const rows = sqliteResource(place === "together" ? journal : join(path, "rows.db"), {
        migrate: ["CREATE TABLE rows (n)"],
      });
      const insert = defineTool({
        name: "insert",
        description: "Inserts.",
        input: z.object({ n: z.number() }),
        transactional: true,
        uses: [SqliteDatabase],
        execute({ n }, { resources }) {
          resources.get(SqliteDatabase).run("INSERT INTO rows VALUES (?)", n);
          if (n === 0) throw new Error("Not this one.");
        },
      });
      const prompt = definePrompt({
        key: "rows",
        sections: [{ key: "task", text: "Insert.", tools: [insert] }],
      }).bind();
      const attempt = async (n: number, isLost: boolean): Promise<unknown> => {
        const aborting = new AbortController();
        const drive: Drive = async (run) => {
          await call(run, "c1", "insert", n);
          if (isLost) aborting.abort();
          return done("Inserted.");
        };
        const options = { run: journal.run("r"), resources: [rows], signal: aborting.signal };
        return agentOf(drive)
          .evaluate(prompt, options)
          .then(
            ({ output }) => output,
            (error: unknown) => error,
          );
      };
      // What failed was undone, and the turn begins again.
      expect(await attempt(0, true)).toMatchObject({ code: "aborted" });
      expect(await attempt(1, true)).toMatchObject({ code: "aborted" });
      expect(await attempt(2, false)).toMatchObject({ code: "run", reason: "agent" });
      expect((await listed(journal.entries("r"))).filter(({ kind }) => kind === "committed")).toHaveLength(1);
    },
  );
});
