import {
  definePolicy,
  definePrompt,
  defineTool,
  Filesystem,
  isEvaluationFailure,
  provide,
  suspend,
  toolOk,
  type ToolPolicy,
} from "@proviso/core";
import { createJournal, memoryJournal, type Effect, type Journal } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { z } from "zod";
import { folder, listed } from "./support.ts";

/** A prompt whose tool writes a file and, where it is there, a row. */
function writing(done: string[] = [], policies: readonly ToolPolicy[] = []) {
  const write = defineTool({
    name: "write",
    description: "Writes a file.",
    input: z.object({ path: z.string() }),
    async execute({ path }, { resources, idempotencyKey }) {
      done.push(idempotencyKey);
      await resources.get(Filesystem).write(path, path.toUpperCase());
      resources.find(SqliteDatabase)?.prepare("INSERT INTO written VALUES (?)").run(path);
      if (path === "bad") throw new Error("No such name.");
    },
  });
  return definePrompt({
    ns: "test",
    key: "w",
    policies,
    sections: [{ key: "t", text: "Write.", tools: [write] }],
  }).bind();
}

const call = (path: string): ScriptedStep => ({ toolCalls: [{ name: "write", arguments: { path } }] });
const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };
const adapterOf = (...steps: readonly ScriptedStep[]) =>
  modelAdapter(scriptedModel(steps), { throttle: { maxAttempts: 1 } });

it("FRK-3 resources in memory are as they were at that step, and durable ones are what is bound", async () => {
  const journal = memoryJournal();
  const at = await folder();
  const [here, there] = [join(at, "here.sqlite"), join(at, "there.sqlite")];
  const bind = (path: string) => {
    const files = memoryFilesystem({ "old.md": "old" });
    const rows = sqliteResource(path, { migrate: ["CREATE TABLE written (path TEXT)"] });
    return { files, resources: [provide(Filesystem, files), rows] };
  };
  const first = bind(here);
  await adapterOf(call("a"), call("b"), { text: "Two." }).evaluate(writing(), {
    run: journal.run("r"),
    resources: first.resources,
  });
  const forked = bind(there);
  await adapterOf(call("c"), { text: "Another." }).evaluate(writing(), {
    run: journal.fork("r", { at: 2, id: "f" }),
    resources: forked.resources,
  });
  expect((await forked.files.glob("**")).toSorted()).toEqual(["a", "c", "old.md"]);
  expect((await forked.files.read("a")).text).toBe("A");
  // Rows of the recorded run are where they were: a copy is the caller's to bind.
  const rowsOf = (path: string): readonly unknown[] => {
    using database = new DatabaseSync(path, { readOnly: true });
    return database
      .prepare("SELECT path FROM written")
      .all()
      .map(({ path: of }) => of);
  };
  expect([rowsOf(here), rowsOf(there)]).toEqual([["a", "b"], ["c"]]);
});

/** Runs that have ended, failed, wait, or are open, each with two steps that stand. */
async function runsOf(done: string[]): Promise<Journal> {
  const journal = memoryJournal();
  const resources = [provide(Filesystem, memoryFilesystem())];
  const evaluate = (id: string, steps: readonly ScriptedStep[], policies: readonly ToolPolicy[] = []) =>
    adapterOf(...steps)
      .evaluate(writing(done, policies), { run: journal.run(id), resources })
      .catch((error: unknown) => {
        if (!isEvaluationFailure(error)) throw error;
        return error;
      });
  await evaluate("executed", [call("a"), call("b"), { text: "Done." }]);
  await evaluate("failed", [call("a"), { failure: "provider", reason: "bad_request", message: "No." }]);
  await evaluate("limited", [call("a"), cut]);
  const wait = definePolicy({
    name: "wait",
    check: ({ input }) => (JSON.stringify(input).includes("b") ? suspend("b?") : { allowed: true }),
  });
  await evaluate("suspended", [call("a"), call("b")], [wait]);
  const store = memoryStore();
  const entries = await listed(journal.entries("executed"));
  const committed = entries.findIndex(({ kind }) => kind === "committed") + 1;
  const of = { run: "open", first: 0, body: bodyOf(1, entries.slice(0, committed)) };
  await store.append([{ ...of, count: committed, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  await createJournal(store).copy("open", journal);
  return journal;
}

it.each(["executed", "failed", "limited", "suspended", "open"])(
  "FRK-5 a run that is %s is forked, and so is its fork; the origin stays as it was, and keys differ",
  async (id) => {
    const done: string[] = [];
    const journal = await runsOf(done);
    const before = JSON.stringify(await listed(journal.entries(id)));
    const fork = async (from: string, to: string, at: number, ...steps: readonly ScriptedStep[]) => {
      const own: string[] = [];
      const { text } = await adapterOf(...steps).evaluate(writing(own), {
        run: journal.fork(from, { at, id: to }),
        resources: [provide(Filesystem, memoryFilesystem())],
      });
      return { text, own, steps: (await journal.describe(to))?.steps, of: (await journal.describe(to))?.forkOf };
    };
    const first = await fork(id, "first", 2, call("c"), { text: "Forked." });
    expect(first).toMatchObject({ text: "Forked.", steps: 5, of: { id, at: 2 } });
    const second = await fork("first", "second", 4, { text: "Again." });
    expect(second).toMatchObject({ text: "Again.", own: [], steps: 5, of: { id: "first", at: 4 } });
    const third = await fork("first", "third", 2, call("c"), { text: "A third." });
    // The same call of the same step, in another fork.
    expect(third.own).not.toEqual(first.own);
    for (const key of [...first.own, ...third.own]) expect(done).not.toContain(key);
    expect(JSON.stringify(await listed(journal.entries(id)))).toBe(before);
  },
);

it("EFF-2 describe says of each call whether it began, counts, was undone, or is unknown; so does the run that goes on", async () => {
  const journal = memoryJournal();
  const resources = () => [provide(Filesystem, memoryFilesystem())];
  const calls = ["a", "bad", "b"].map((path, n) => ({ id: `c${n}`, name: "write", arguments: { path } }));
  await adapterOf({ toolCalls: calls }, { text: "Done." }).evaluate(writing(), {
    run: journal.run("r"),
    resources: resources(),
  });
  const entries = await listed(journal.entries("r"));
  const effectsAt = async (count: number): Promise<{ readonly at: Journal; readonly effects: readonly Effect[] }> => {
    const store = memoryStore();
    const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
    await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
    const at = createJournal(store);
    const timeline = (await at.describe("r"))?.timeline ?? [];
    return { at, effects: timeline.flatMap((step) => (step.kind === "call" ? [step.effect] : [])) };
  };
  expect((await effectsAt(entries.length)).effects).toEqual(["committed", "undone", "committed"]);
  const lastStart = entries.findLastIndex(({ kind }) => kind === "started");
  const { at, effects } = await effectsAt(lastStart + 1);
  expect(effects).toEqual(["committed", "undone", "unknown"]);
  expect((await effectsAt(lastStart)).effects.slice(0, 2)).toEqual(["committed", "undone"]);
  expect(["not-started", undefined]).toContain((await effectsAt(lastStart)).effects[2]);

  const asked: string[] = [];
  const policy = definePolicy({
    name: "looked",
    check: () => ({ allowed: true }),
    unknown({ input }) {
      asked.push(JSON.stringify(input));
      return { allowed: true };
    },
  });
  const resumed: unknown[] = [];
  const [begun] = entries;
  const session = createSession(begun?.kind === "begun" ? { id: begun.session.id } : {});
  session.on("run.resumed", ({ unknown }) => void resumed.push(...unknown));
  await adapterOf({ text: "Done." }).evaluate(writing([], [policy]), {
    run: at.run("r", { takeOver: true, onChange: "adopt" }),
    session,
    resources: resources(),
  });
  expect(resumed).toEqual([{ callId: "c2", name: "write" }]);
  expect(asked).toEqual(['{"path":"b"}']);
});

/** A prompt whose tool says its text, and is stopped at the text that stops. */
function saying(stop: AbortController, ran: string[]) {
  const speak = defineTool({
    name: "speak",
    description: "Speaks.",
    input: z.object({ text: z.string() }),
    idempotent: true,
    async execute({ text }, { signal }) {
      ran.push(text);
      if (text !== "stop" || stop.signal.aborted) return text;
      stop.abort();
      return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve(text)));
    },
  });
  return definePrompt({ key: "speaks", sections: [{ key: "t", text: "Speak.", tools: [speak] }] }).bind();
}

it("RPL-3 FRK-4 FRK-5 what a limit, or a given result, had made of a kept call is answered again, and other calls run", async () => {
  const journal = memoryJournal();
  const [stop, ran]: [AbortController, string[]] = [new AbortController(), []];
  const prompt = saying(stop, ran);
  const toolCalls = ["first", "stop", "last"].map((text) => ({ name: "speak", arguments: { text } }));
  const cutOff = adapterOf({ toolCalls }).evaluate(prompt, { run: journal.run("r"), signal: stop.signal });
  await expect(cutOff).rejects.toMatchObject({ code: "aborted" });
  const forks = [
    { of: { at: 2, result: toolOk("Given.") }, again: ["stop", "last"] },
    { of: { at: 3 }, again: ["first", "last"] },
  ];
  for (const { of, again } of forks) {
    const id = `at ${of.at}`;
    const done = await adapterOf({ text: "Done." }).evaluate(prompt, { run: journal.fork("r", { ...of, id }) });
    for (const tools of ["recorded", "run"] as const) {
      ran.length = 0;
      const { messages } = await adapterOf().evaluate(prompt, { run: journal.replay(id, { tools }) });
      expect(messages).toEqual(done.messages);
      expect(ran).toEqual(tools === "run" ? again : []);
    }
  }
});

it("FRK-4 FRK-1 ids of calls may repeat: a given result stands in place of the last call alone, and the one before stays", async () => {
  const journal = memoryJournal();
  const one = (path: string): ScriptedStep => ({ toolCalls: [{ id: "c", name: "write", arguments: { path } }] });
  const bind = () => {
    const files = memoryFilesystem();
    return { files, resources: [provide(Filesystem, files)] };
  };
  await adapterOf(one("a"), one("b"), { text: "Two." }).evaluate(writing(), {
    run: journal.run("r"),
    resources: bind().resources,
  });
  const before = JSON.stringify(await listed(journal.entries("r")));
  const { files, resources } = bind();
  const { messages } = await adapterOf({ text: "Forked." }).evaluate(writing(), {
    run: journal.fork("r", { at: 4, id: "f", result: toolOk("Given.") }),
    resources,
  });
  expect(messages.flatMap(({ role, text }) => (role === "tool" ? [text] : []))).toEqual(["Done.", "Given."]);
  expect(await files.glob("**")).toEqual(["a"]);
  expect(JSON.stringify(await listed(journal.entries("r")))).toBe(before);
});
