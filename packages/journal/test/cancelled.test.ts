import { definePrompt, defineTool } from "@proviso/core";
import { createJournal } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { folder } from "./support.ts";

const look = (n: number) => ({ toolCalls: [{ name: "look", arguments: { n } }] });

function looking(seen: number[], readOnly: boolean, wait = (): Promise<unknown> => Promise.resolve()) {
  const tool = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({ n: z.number() }),
    readOnly,
    async execute({ n }) {
      seen.push(n);
      await wait();
      return n;
    },
  });
  return definePrompt({ key: "look", sections: [{ key: "task", text: "Look.", tools: [tool] }] }).bind();
}

it.each(["the same", "another"])(
  "FLT-3 an evaluation that %s process cancels at any moment rejects with an AbortedError, or has ended",
  async (where) => {
    const file = join(await folder(), "runs.db");
    const journal = sqliteJournal(file, { flushMs: 0 });
    const other = where === "another" ? sqliteJournal(file) : journal;
    const came = new Set<string>();
    for (let ticks = 0; ticks < 300; ticks += 5) {
      const id = `r${ticks}`;
      const model = scriptedModel([look(1), look(2), { text: "Done." }]);
      // Entries are written without a wait: the handlers of each other run let what cancels come between.
      const wait = ticks % 10 === 0 ? () => new Promise(setImmediate) : undefined;
      const evaluating = modelAdapter(model)
        .evaluate(looking([], false, wait), { run: journal.run(id) })
        .then(
          () => "done",
          (error: Error) => error.name,
        );
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      const cancelled = await other.cancel(id).catch(() => false);
      const state = (await evaluating, (await journal.describe(id))?.state);
      expect([await evaluating, state]).toEqual(cancelled ? ["AbortedError", "cancelled"] : ["done", "executed"]);
      came.add(String(cancelled));
    }
    expect([...came].toSorted()).toEqual(["false", "true"]);
    if (other !== journal) await other.close();
    await journal.close();
  },
);

it("JRN-5 after a write that failed no request is sent and no handler begins, not even one that only reads", async () => {
  const store = memoryStore();
  let failures = 0;
  const journal = createJournal(
    {
      ...store,
      async append(frames) {
        if (seen.length === 0) return store.append(frames);
        failures += 1;
        throw new Error("The disk is full.");
      },
    },
    { flushMs: 0 },
  );
  const seen: number[] = [];
  const wait = (): Promise<void> =>
    new Promise((resolve) => {
      // The handler ends when a write has failed that nobody waits for.
      const timer = setInterval(() => {
        if (failures === 0) return;
        clearInterval(timer);
        setTimeout(resolve, 1);
      }, 1);
    });
  const model = scriptedModel([look(1), look(2), look(3), { text: "Done." }]);
  const error: unknown = await modelAdapter(model)
    .evaluate(looking(seen, true, wait), { run: journal.run("r") })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "run", reason: "journal" });
  expect([seen, model.requests.length, failures]).toEqual([[1], 1, 1]);
});
