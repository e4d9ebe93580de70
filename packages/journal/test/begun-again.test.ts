// Runs of adapters that begin an evaluation again with another model: what the first attempt did is undone.
import { definePrompt, defineTool } from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { sqliteJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { fromSources } from "../../../scripts/from-sources.ts";
import { heard, noted, notes } from "./runs-support.ts";
import { folder, listed } from "./support.ts";

const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({ text: z.string() }),
  idempotent: true,
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    return text.length;
  },
});
const prompt = definePrompt({
  key: "noting",
  slices: [notes],
  output: z.object({ sum: z.number() }),
  sections: [{ key: "task", text: "Note.", tools: [note] }],
}).bind();

type Asked = { readonly messages: readonly { readonly role: string }[] };
/** Notes twice, then answers. */
const noting = (name: string, answer: string) => {
  const step = ({ messages }: Asked) => {
    const turn = messages.filter(({ role }) => role === "assistant").length;
    if (turn === 2) return { text: answer };
    return { toolCalls: [{ id: `c${turn}`, name: "note", arguments: { text: `${name} ${turn}` } }] };
  };
  return modelAdapter({
    ...scriptedModel(Array.from({ length: 9 }, () => step as unknown as ScriptedStep)),
    name,
    model: name,
  });
};
const chain = (answer = "no JSON") =>
  fallback([noting("first", answer), noting("second", '{"sum":2}')], { on: ["output"] });

const isRestart = (entry: JournalEntry | undefined): boolean =>
  entry?.kind === "event" && entry.event.type === "evaluation.restarted";

async function cutOff(entries: readonly JournalEntry[], count: number): Promise<Journal> {
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
  await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store);
}

describe("an evaluation that begins again", () => {
  it.each(["no JSON", '{"sum":1}'])("RPL-1 RSM-2 replays, and goes on from any entry: %s", async (answer) => {
    const journal = memoryJournal();
    const session = createSession({ id: "s" });
    const live = heard(session);
    const { output } = await chain(answer).evaluate(prompt, { run: journal.run("r"), session });
    const own = session.get(notes).filter((text) => /^(first|second)/.test(text));
    expect(own).toHaveLength(2);
    const again = createSession({ id: "s" });
    const replayed = heard(again);
    expect((await chain(answer).evaluate(prompt, { run: journal.replay("r"), session: again })).output).toEqual(output);
    expect(replayed.map((event) => JSON.stringify(event))).toEqual(live.map((event) => JSON.stringify(event)));
    expect(again.get(notes)).toEqual(session.get(notes));
    const read = await journal.session("r", { slices: [notes] });
    expect(read.get(notes)).toEqual(session.get(notes));
    const entries = await listed(journal.entries("r"));
    for (let count = 1; count < entries.length; count++) {
      const cut = await cutOff(entries, count);
      const later = createSession({ id: "s" });
      const options = { run: cut.run("r", { takeOver: true }), session: later };
      const response = await chain(answer).evaluate(prompt, options);
      expect(response.output, `${count}`).toEqual(output);
      expect(later.get(notes), `${count}`).toEqual(session.get(notes));
    }
  });

  it.each(["recorded", "run"] as const)("RPL-1 RPL-3 replays without its adapters, tools %s", async (tools) => {
    for (const answer of ["no JSON", '{"sum":1}']) {
      const journal = memoryJournal();
      const session = createSession({ id: "s" });
      const live = heard(session);
      await chain(answer).evaluate(prompt, { run: journal.run("r"), session });
      const replayed = await replay(prompt, journal.replay("r", { tools }));
      expect(replayed.events.map((event) => JSON.stringify(event))).toEqual(live.map((event) => JSON.stringify(event)));
      expect(JSON.stringify(replayed.session)).toBe(JSON.stringify(session));
    }
  });

  it("RSM-14 RPL-3 after repairs that were spent, with whatever repairs it is given later: its calls run again alike", async () => {
    const count = defineTool({
      name: "count",
      description: "Counts.",
      input: z.object({}),
      readOnly: true,
      execute: (_, { session }) => session.get(notes).filter((text) => text === "N").length,
    });
    const sections = [{ key: "task", text: "Note.", tools: [note, count] }];
    const output = z.object({ sum: z.number() });
    const counting = definePrompt({ key: "counting", slices: [notes], output, sections }).bind();
    const given = { note: { text: "N" }, count: {} };
    const calls = Object.entries(given).map(([name, values]) => ({ toolCalls: [{ name, arguments: values }] }));
    const [no, right] = [{ text: "no JSON" }, { text: '{"sum":1}' }];
    const cut = { failure: "throttle", kind: "network", message: "The line is cut." } as const;
    const evaluated = async (maxRepairs: number, first: readonly ScriptedStep[], second: readonly ScriptedStep[]) => {
      const models = Object.entries({ first, second }).map(([name, steps]) =>
        modelAdapter({ ...scriptedModel(steps), name, model: name }, { throttle: { maxAttempts: 1 } }),
      );
      return fallback(models as never, { on: ["output"] }).evaluate(counting, { run: journal.run("r"), maxRepairs });
    };
    const journal = memoryJournal();
    await expect(evaluated(1, [...calls, no, no], [...calls, cut])).rejects.toMatchObject({ code: "throttled" });
    expect((await listed(journal.entries("r"))).filter(isRestart)).toHaveLength(1);
    await expect(evaluated(9, [], [cut])).rejects.toMatchObject({ code: "throttled" });
    expect((await evaluated(0, [], [right])).output).toEqual({ sum: 1 });
    for (const tools of ["recorded", "run"] as const) {
      expect((await replay(counting, journal.replay("r", { tools }))).response?.output).toEqual({ sum: 1 });
    }
  });

  it("RTE-14 RSM-2 goes on with the model that it went on with, whatever the order, and whichever model answered before", async () => {
    // The first one refuses, so that the second one answers with what does not parse: then it is the first one's turn.
    const refusing = { failure: "throttle", kind: "server_error", message: "Later." } as const;
    const chainOf = (steps: readonly ScriptedStep[], isFirst: boolean) => {
      const model = (name: string, own: readonly ScriptedStep[]) =>
        modelAdapter({ ...scriptedModel(own), name, model: name }, { throttle: { maxAttempts: 1 } });
      const [first, second] = [model("first", steps), model("second", [{ text: "no JSON" }])];
      return fallback([first, second], {
        on: ["output", "server_error"],
        breaker: false,
        order: (candidates) => (isFirst ? candidates : candidates.toReversed()),
      });
    };
    const journal = memoryJournal();
    const whole = await chainOf([refusing, { text: '{"sum":3}' }], true).evaluate(prompt, { run: journal.run("r") });
    expect(whole.output).toEqual({ sum: 3 });
    const entries = await listed(journal.entries("r"));
    const restarted = entries.findIndex(({ kind }, at) => kind === "event" && isRestart(entries[at]));
    const again = restarted + 1 + entries.slice(restarted).findIndex(({ kind }) => kind === "asked");
    for (const isFirst of [true, false]) {
      const cut = await cutOff(entries, again);
      const response = await chainOf([{ text: '{"sum":4}' }], isFirst).evaluate(prompt, {
        run: cut.run("r", { takeOver: true }),
      });
      expect(response.output).toEqual({ sum: 4 });
    }
  });

  const program = [...fromSources, join(import.meta.dirname, "processes", "fallback-runner.ts")];
  const ran = (...given: readonly string[]) =>
    spawnSync(process.execPath, [...program, ...given], { encoding: "utf8", timeout: 300_000 }).stdout;
  const rowsIn = (path: string, place: string): unknown[] => {
    const database = new DatabaseSync(join(path, place === "apart" ? "rows.db" : "runs.db"));
    const rows = database.prepare("SELECT n FROM rows ORDER BY n").all();
    database.close();
    return rows.map(({ n }) => n);
  };

  it.each(["apart", "together"])(
    "RTE-14 RSM-2 rows of a chain that may begin again are there once, whenever its process ends: %s",
    { timeout: 300_000 },
    async (place) => {
      for (const request of [1, 2, 3]) {
        const path = await folder();
        expect(ran(path, place, String(request))).toBe("");
        // What the record has as done is in the file.
        if (request > 1) expect(rowsIn(path, place)).toEqual([0, 1].slice(0, request - 1));
        expect(JSON.parse(ran(path, place))).toEqual({ output: { sum: 1 } });
        expect(rowsIn(path, place), `killed at request ${request}`).toEqual([0, 1]);
      }
    },
  );

  it("RTE-14 in a run, an evaluation does not begin again once a call may have changed what outlives the process", async () => {
    for (const place of ["apart", "together"]) {
      const path = await folder();
      expect(JSON.parse(ran(path, place, "0", "no JSON"))).toEqual({ code: "output" });
      expect(rowsIn(path, place)).toEqual([0, 1]);
      // It goes on like that in another process, too: killed before the last request of the first model.
      const other = await folder();
      expect(ran(other, place, "3", "no JSON")).toBe("");
      expect(JSON.parse(ran(other, place, "0", "no JSON"))).toEqual({ code: "output" });
      expect(rowsIn(other, place)).toEqual([0, 1]);
      await using journal = sqliteJournal(join(other, "runs.db"));
      expect((await journal.describe("r"))?.state).toBe("failed");
    }
  });

  it("RTE-8 without a run it begins again, and what it changed there is undone", async () => {
    const path = await folder();
    const database = sqliteResource(join(path, "rows.db"), { migrate: ["CREATE TABLE rows (n)"] });
    const insert = defineTool({
      name: "insert",
      description: "Inserts.",
      input: z.object({ n: z.number() }),
      idempotent: true,
      uses: [SqliteDatabase],
      execute: ({ n }, { resources }) => void resources.get(SqliteDatabase).run("INSERT INTO rows VALUES (?)", n),
    });
    const rows = definePrompt({
      key: "rows",
      output: z.object({ sum: z.number() }),
      sections: [{ key: "task", text: "Insert.", tools: [insert] }],
    }).bind();
    const modelOf = (n: number, text: string) =>
      modelAdapter(scriptedModel([{ toolCalls: [{ id: "c", name: "insert", arguments: { n } }] }, { text }]));
    const both = fallback([modelOf(1, "no JSON"), modelOf(2, '{"sum":2}')], { on: ["output"] });
    expect((await both.evaluate(rows, { resources: [database] })).output).toEqual({ sum: 2 });
    expect(rowsIn(path, "apart")).toEqual([2]);
  });
});
