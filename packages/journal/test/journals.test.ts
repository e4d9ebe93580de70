import { AbortedError, DefinitionError, JournalError, RunError, type JournalRun, toolOk } from "@proviso/core";
import { createJournal, memoryJournal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore, sqliteStore } from "@proviso/journal/internal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { notes, reviewPrompt, script, type World } from "./runs-support.ts";
import { folder, listed } from "./support.ts";

const noWait = { now: () => Date.now(), sleep: async () => {} };

async function recorded(journal = memoryJournal(), id = "r1") {
  const world: World = { done: [] };
  const adapter = modelAdapter(scriptedModel([...script]), { clock: noWait });
  const response = await adapter.evaluate(reviewPrompt(world), { run: journal.run(id) });
  return { journal, response, world };
}

const rejection = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("a journal", () => {
  it("FRK-1 FRK-2 a fork begins with recorded steps, and goes on with another model", async () => {
    const { journal, response } = await recorded();
    const world: World = { done: [] };
    const model = scriptedModel([{ text: "Another end." }]);
    const run = journal.fork("r1", { at: 8, id: "f1" });
    const forked = await modelAdapter(model, { clock: noWait }).evaluate(reviewPrompt(world), { run });
    expect(forked.text).toBe("Another end.");
    expect(model.callCount).toBe(1);
    expect(world.done).toEqual([]);
    expect(forked.messages.slice(0, -1)).toEqual(response.messages.slice(0, -1));
    expect((await journal.describe("f1"))?.forkOf).toEqual({ id: "r1", at: 8 });
    expect((await journal.describe("r1"))?.state).toBe("executed");
    const replayed = await replay(reviewPrompt({ done: [] }), journal.replay("f1"));
    expect(replayed.response?.text).toBe("Another end.");
    expect(replayed.session.get(notes)).toEqual((await journal.session("r1", { slices: [notes], at: 8 })).get(notes));
  });

  it("FRK-4 a fork can have another result of its last call, without what that had dispatched", async () => {
    const { journal } = await recorded();
    const result = { other: true } as never;
    const model = scriptedModel([
      (request) => ({ text: request.messages.findLast(({ role }) => role === "tool")?.text ?? "" }),
    ]);
    const run = journal.fork("r1", { at: 8, result, id: "f2" });
    const forked = await modelAdapter(model, { clock: noWait }).evaluate(reviewPrompt({ done: [] }), { run });
    expect(forked.text).toBe('{"other":true}');
    const session = await journal.session("f2", { slices: [notes] });
    expect(session.get(notes)).not.toContain("two");
    const wrong = modelAdapter(scriptedModel([])).evaluate(reviewPrompt({ done: [] }), {
      run: journal.fork("r1", { at: 1, result }),
    });
    expect((await rejection(wrong)) instanceof Error).toBe(true);
  });

  it("FRK-1 a fork of a step that is not there is refused", async () => {
    const { journal } = await recorded();
    const error = await rejection(
      modelAdapter(scriptedModel([])).evaluate(reviewPrompt({ done: [] }), { run: journal.fork("r1", { at: 99 }) }),
    );
    expect(error).toBeInstanceOf(RunError);
    expect((error as RunError).cause).toBeInstanceOf(JournalError);
    expect(((error as RunError).cause as JournalError).reason).toBe("not_found");
  });

  it("RSM-7 two evaluations with one run at once: the second is busy", async () => {
    const journal = memoryJournal();
    const run = journal.run("r1");
    const adapter = modelAdapter(scriptedModel([...script, ...script]), { clock: noWait });
    const first = adapter.evaluate(reviewPrompt({ done: [] }), { run });
    const second = await rejection(adapter.evaluate(reviewPrompt({ done: [] }), { run }));
    expect(second).toBeInstanceOf(RunError);
    expect((second as RunError).reason).toBe("busy");
    const third = await rejection(adapter.evaluate(reviewPrompt({ done: [] }), { run: journal.run("r1") }));
    expect((third as RunError).reason).toBe("busy");
    expect((await first).text).toBe("Done.");
  });

  it("RSM-8 a writer that was taken over is refused: nothing of it is in the record", async () => {
    const store = memoryStore();
    const journal = createJournal(store);
    const answering = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const slow = modelAdapter({
      name: "slow",
      model: "slow-1",
      capabilities: { tools: true, nativeOutput: false },
      async generate() {
        asked.resolve();
        await answering.promise;
        return { message: { role: "assistant", text: "Late.", toolCalls: [] }, finishReason: "stop" };
      },
    });
    const old = rejection(slow.evaluate("Hello.", { run: journal.run("r1") }));
    await asked.promise;
    const before = await listed(journal.entries("r1"));
    // What another process appends when it goes on with the run.
    const of = {
      run: "r1",
      first: before.length,
      body: bodyOf(2, [
        { ...(before[0] as JournalEntry), index: before.length, kind: "resumed", kept: 1 } as JournalEntry,
      ]),
    };
    await store.append([{ ...of, count: 1, writer: "another", sum: frameSum(of), summary: "{}" }]);
    answering.resolve();
    const error = await old;
    expect(error).toBeInstanceOf(RunError);
    expect((error as RunError).reason).toBe("fenced");
    expect((error as RunError).response?.text).toBe("Late.");
    expect(await listed(journal.entries("r1"))).toHaveLength(before.length + 1);
  });

  it("FLT-3 cancel ends a run for good", async () => {
    const journal = memoryJournal();
    const asked = Promise.withResolvers<void>();
    const slow = modelAdapter({
      name: "slow",
      model: "slow-1",
      capabilities: { tools: true, nativeOutput: false },
      generate: ({ signal }) => {
        asked.resolve();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      },
    });
    const running = rejection(slow.evaluate("Hello.", { run: journal.run("r1") }));
    await asked.promise;
    expect(await journal.cancel("r1", "No longer wanted.")).toBe(true);
    expect(await running).toBeInstanceOf(AbortedError);
    expect((await journal.describe("r1"))?.state).toBe("cancelled");
    expect(await journal.cancel("r1")).toBe(false);
  });

  it("JRN-7 a copy that fails half-way leaves nothing, and can be made again", async () => {
    const path = join(await folder(), "runs.db");
    await recorded(sqliteJournal(path));
    const from = sqliteStore(path);
    let reads = 0;
    const source = createJournal({
      ...from,
      async *read(run, first) {
        let frames = 0;
        reads += 1;
        for await (const frame of from.read(run, first)) {
          if (reads === 2 && ++frames > 2) throw new JournalError("The connection was lost.", { reason: "failed" });
          yield frame;
        }
      },
    });
    const inner = memoryStore();
    let appends = 0;
    // A store of one's own, whose second append finds no room.
    const full = createJournal({
      ...inner,
      appendRun: undefined as never,
      async append(frames) {
        if (++appends === 2) throw new JournalError("There is no room.", { reason: "full" });
        return inner.append(frames);
      },
    });
    const targets = [memoryJournal(), folderJournal(join(await folder(), "runs")), createJournal(memoryStore())];
    for (const to of targets) {
      // It is read once to see that it is there, and again to be written.
      reads = 0;
      await expect(source.copy("r1", to)).rejects.toMatchObject({ reason: "failed" });
      expect(await to.describe("r1")).toBeUndefined();
      await source.copy("r1", to);
      expect((await to.describe("r1"))?.steps).toBe((await source.describe("r1"))?.steps);
    }
    await source.copy("r1", full);
    expect(appends).toBe(1);
    expect((await full.describe("r1"))?.state).toBe("executed");
    await source.close();
  });

  it("JRN-7 a copy whose answer was lost is there, and one whose place another run took meanwhile is refused", async () => {
    const { journal: source } = await recorded();
    const other = memoryStore();
    await recorded(createJournal(other));
    const others = await listed(other.read("r1"));
    for (const hasAppendRun of [true, false]) {
      // The frames are kept, and then sent once more: the connection was lost before the answer.
      const kept = memoryStore();
      const twice = {
        ...kept,
        append: async (frames: Parameters<typeof kept.append>[0]) => {
          await kept.append(frames);
          return kept.append(frames);
        },
        appendRun: async (frames: Parameters<typeof kept.append>[0]) => {
          await kept.append(frames);
          return false;
        },
      };
      const copied = createJournal(hasAppendRun ? twice : { ...twice, appendRun: undefined as never });
      await source.copy("r1", copied);
      expect(await copied.describe("r1")).toEqual(await source.describe("r1"));
      // Another run of the same id begins between the look and the copy.
      const taken = memoryStore();
      const late = {
        ...taken,
        append: async (frames: Parameters<typeof taken.append>[0]) => {
          await taken.append(others);
          return taken.append(frames);
        },
        appendRun: async () => {
          await taken.append(others);
          return false;
        },
      };
      const to = createJournal(hasAppendRun ? late : { ...late, appendRun: undefined as never });
      await expect(source.copy("r1", to)).rejects.toMatchObject({ reason: "exists" });
      expect(await listed(taken.read("r1"))).toEqual(others);
    }
  });

  it("FRK-1 a fork under the id of another run is refused, and the same fork again goes on", async () => {
    const { journal } = await recorded();
    await recorded(journal, "done");
    const cut = { failure: "throttle", kind: "network", message: "The line is cut." } as const;
    const cutOff = modelAdapter(scriptedModel([cut]), { clock: noWait, throttle: { maxAttempts: 1 } });
    await rejection(cutOff.evaluate("Hello.", { run: journal.run("open") }));
    const evaluated = async (run: JournalRun, ...steps: readonly ScriptedStep[]) => {
      const model = scriptedModel(steps);
      const adapter = modelAdapter(model, { clock: noWait, throttle: { maxAttempts: 1 } });
      const outcome = await adapter.evaluate(reviewPrompt({ done: [] }), { run }).catch((error: unknown) => error);
      return { outcome, asked: model.callCount };
    };
    const exists = { reason: "journal", cause: { code: "journal", reason: "exists" } };
    for (const id of ["done", "open", "r1"]) {
      const before = await listed(journal.entries(id));
      expect(await evaluated(journal.fork("r1", { at: 2, id }))).toMatchObject({ outcome: exists, asked: 0 });
      expect(await listed(journal.entries(id))).toEqual(before);
    }
    const fork = () => journal.fork("r1", { at: 8, id: "f" });
    expect(await evaluated(fork(), cut)).toMatchObject({ outcome: { code: "throttled" }, asked: 1 });
    for (const at of [7, 9]) {
      expect(await evaluated(journal.fork("r1", { at, id: "f" }))).toMatchObject({ outcome: exists, asked: 0 });
    }
    expect(await evaluated(journal.fork("done", { at: 8, id: "f" }))).toMatchObject({ outcome: exists, asked: 0 });
    expect(await evaluated(fork(), { text: "Forked." })).toMatchObject({ outcome: { text: "Forked." }, asked: 1 });
    expect(await evaluated(fork())).toMatchObject({ outcome: { text: "Forked." }, asked: 0 });
  });

  it("FRK-1 the steps of a fork are kept together: a store that fails leaves none of them", async () => {
    const inner = memoryStore();
    let left = Infinity;
    const journal = createJournal({
      ...inner,
      async append(frames) {
        if (left-- <= 0) throw new JournalError("There is no room.", { reason: "full" });
        return inner.append(frames);
      },
    });
    const taken = { toolCalls: Array.from({ length: 40 }, (_, n) => ({ name: "note", arguments: { text: `${n}` } })) };
    const world = { done: [] };
    await modelAdapter(scriptedModel([taken, taken, { text: "Done." }])).evaluate(reviewPrompt(world), {
      run: journal.run("r1"),
    });
    const steps = (await journal.describe("r1"))?.steps ?? 0;
    expect((await listed(journal.entries("r1"))).length).toBeGreaterThan(300);
    left = 1;
    const fork = (): JournalRun => journal.fork("r1", { at: steps - 1, id: "f" });
    await rejection(modelAdapter(scriptedModel([{ text: "Lost." }])).evaluate(reviewPrompt(world), { run: fork() }));
    left = Infinity;
    const model = scriptedModel([{ text: "Forked." }]);
    const again: World = { done: [] };
    const { text } = await modelAdapter(model).evaluate(reviewPrompt(again), { run: fork() });
    // No call of the kept steps is run.
    expect([text, model.requests[0]?.messages.length, again.done]).toEqual(["Forked.", 83, []]);
  });

  it("FRK-1 a fork of the same step with another result is another one", async () => {
    const { journal } = await recorded();
    const steps = (await journal.describe("r1"))?.timeline ?? [];
    const at = steps.find(({ kind }) => kind === "call")?.step ?? 0;
    const before = Date.now() + 1;
    await expect.poll(() => Date.now()).toBeGreaterThanOrEqual(before);
    const forked = async (value?: string) => {
      const result = value === undefined ? undefined : toolOk(value);
      const adapter = modelAdapter(scriptedModel([{ text: "Forked." }]));
      const { text } = await adapter.evaluate(reviewPrompt({ done: [] }), {
        run: journal.fork("r1", { at, id: "f", result }),
      });
      return text;
    };
    expect([await forked("a"), await forked("a")]).toEqual(["Forked.", "Forked."]);
    for (const other of ["b", undefined]) {
      expect(await rejection(forked(other))).toMatchObject({ reason: "journal", cause: { reason: "exists" } });
    }
    expect((await journal.describe("f"))?.forkOf).toEqual({ id: "r1", at });
    // Its first entries are as old as those of its origin.
    expect((await journal.describe("f"))?.startedAt.getTime()).toBeGreaterThanOrEqual(before);
    expect((await journal.describe("r1"))?.startedAt.getTime()).toBeLessThan(before);
  });

  it("JRN-11 a list of what changed since a moment has what changed at that moment", async () => {
    const { journal } = await recorded();
    const at = (await journal.describe("r1"))?.updatedAt.getTime() ?? Number.NaN;
    const idsSince = async (ms: number) => (await listed(journal.list({ since: new Date(ms) }))).map(({ id }) => id);
    expect([await idsSince(at), await idsSince(at + 1)]).toEqual([["r1"], []]);
  });

  it("JRN-6 JRN-7 a run that shows a secret of another journal is not copied there", async () => {
    const { journal } = await recorded();
    const other = memoryJournal({ secrets: ["Done."] });
    const refused = journal.copy("r1", other);
    await expect(refused).rejects.toThrow(
      /^Entry \d+ of the run "r1" shows a secret of the journal that it is copied to/,
    );
    await expect(refused).rejects.toMatchObject({ code: "definition" });
    expect(await other.describe("r1")).toBeUndefined();
    await recorded(other, "r2");
    const third = memoryJournal({ secrets: ["Done."] });
    await other.copy("r2", third);
    expect(await listed(third.entries("r2"))).toEqual(await listed(other.entries("r2")));
  });

  it("JRN-7 a run is copied whole, removed, and pruned when it has ended", async () => {
    const { journal } = await recorded();
    await recorded(journal, "r2");
    const other = memoryJournal();
    await journal.copy("r1", other);
    expect(await listed(other.entries("r1"))).toEqual(await listed(journal.entries("r1")));
    await expect(journal.copy("r1", other)).rejects.toMatchObject({ code: "journal", reason: "exists" });
    expect((await replay(reviewPrompt({ done: [] }), other.replay("r1"))).response?.text).toBe("Done.");
    expect(await journal.prune({ keep: 1 })).toBe(1);
    expect((await listed(journal.list())).map(({ id }) => id)).toEqual(["r2"]);
    await journal.remove("r2");
    expect(await journal.describe("r2")).toBeUndefined();
    await journal.close();
    await expect(journal.describe("r2")).rejects.toMatchObject({ reason: "closed" });
  });

  it.each([
    ["memory", () => memoryJournal()],
    ["an SQLite file", async () => sqliteJournal(join(await folder(), "runs.db"))],
    ["a folder", async () => folderJournal(join(await folder(), "runs"))],
  ])(
    "JRN-11 JST-3 in %s, following a run that is removed ends with an error, and not in another run",
    async (_, open) => {
      await using journal = await open();
      for (const isBegunAgain of [false, true]) {
        const asked = Promise.withResolvers<void>();
        const answering = Promise.withResolvers<void>();
        const slow = modelAdapter({
          name: "scripted",
          model: "scripted-model",
          capabilities: { tools: true, nativeOutput: true },
          async generate() {
            asked.resolve();
            await answering.promise;
            return { message: { role: "assistant", text: "Late.", toolCalls: [] }, finishReason: "stop" };
          },
        });
        const going = rejection(slow.evaluate("One?", { run: journal.run("r1") }));
        await asked.promise;
        const seen: JournalEntry[] = [];
        const following = rejection(
          (async () => {
            for await (const entry of journal.entries("r1", { follow: true })) seen.push(entry);
          })(),
        );
        await expect.poll(() => seen.length).toBeGreaterThan(1);
        const [{ evaluationId }] = seen as [JournalEntry];
        await journal.remove("r1");
        answering.resolve();
        await going;
        const second = scriptedModel([{ text: "Two." }]);
        if (isBegunAgain) await modelAdapter(second).evaluate("Two?", { run: journal.run("r1") });
        expect(await following).toMatchObject({ code: "journal", reason: "not_found", run: "r1" });
        expect(new Set(seen.map((entry) => entry.evaluationId))).toEqual(new Set([evaluationId]));
        await journal.remove("r1");
      }
    },
    15_000,
  );

  it("JRN-11 entries that are followed come once and in order, until the run ends", async () => {
    const journal = memoryJournal();
    const { response } = await recorded(journal, "before");
    expect(response.text).toBe("Done.");
    const running = recorded(journal, "r1");
    const followed: number[] = [];
    for await (const { index } of journal.entries("r1", { follow: true })) followed.push(index);
    await running;
    expect(followed).toEqual(followed.map((_, index) => index));
    expect(followed.length).toBe((await listed(journal.entries("r1"))).length);
  });

  it("JRN-6 no entry shows a secret of the adapter or of the journal", async () => {
    const journal = memoryJournal({ secrets: ["hunter2"] });
    const model = scriptedModel([{ text: "It is sk-abcdef123456 and hunter2." }]);
    await modelAdapter(model, { secrets: ["sk-abcdef123456"] }).evaluate("Say sk-abcdef123456, hunter2.", {
      run: journal.run("r1"),
    });
    const text = JSON.stringify(await listed(journal.entries("r1")));
    expect(text).not.toContain("sk-abcdef123456");
    expect(text).not.toContain("hunter2");
  });

  it("JRN-10 a journal in a file has mode 0600, and another process's view of it", async () => {
    const path = join(await folder(), "made", "runs.db");
    const journal = sqliteJournal(path);
    expect(journal.file).toBe(path);
    await recorded(journal);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const second = sqliteJournal(path, { durability: "power" });
    expect((await replay(reviewPrompt({ done: [] }), second.replay("r1"))).response?.text).toBe("Done.");
    await second.close();
    await journal.close();
  });

  it("RSM-4 the session of a run is its own, or one that is as it was", async () => {
    const { journal } = await recorded();
    const adapter = modelAdapter(scriptedModel([]));
    const other = rejection(
      adapter.evaluate(reviewPrompt({ done: [] }), { run: journal.run("r1"), session: createSession({ id: "other" }) }),
    );
    expect(await other).toMatchObject({ code: "option", option: "session" });
    const failing = rejection(adapter.evaluate(reviewPrompt({ done: [] }), { run: {} as never }));
    expect(await failing).toMatchObject({ code: "option", option: "run" });
    expect(() => journal.run("")).toThrow(DefinitionError);
  });

  it("RSM-1 a run that a limit ended goes on with other limits", async () => {
    const journal = memoryJournal();
    const model = scriptedModel([...script]);
    const adapter = modelAdapter(model, { clock: noWait });
    const first = await rejection(
      adapter.evaluate(reviewPrompt({ done: [] }), { run: journal.run("r1"), maxTurns: 1 }),
    );
    expect(first).toMatchObject({ code: "turns" });
    const replayed = await replay(reviewPrompt({ done: [] }), journal.replay("r1"));
    expect(replayed.failure).toMatchObject({ code: "turns", message: (first as Error).message });
    const second = await adapter.evaluate(reviewPrompt({ done: [] }), { run: journal.run("r1") });
    expect([second.text, second.run?.attempt, second.run?.keptSteps]).toEqual(["Done.", 2, 4]);
  });
});
