// Handlers of recorded evaluations that still run when the transaction around them is undone.
import { definePrompt, defineTool, provide, resourceKey, type Snapshotable } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { sqliteJournal } from "@proviso/journal/node";
import { createSession, modelAdapter, openResources, transaction } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { folder } from "./support.ts";

class Box implements Snapshotable<string> {
  value = "before";
  snapshot(): string {
    return this.value;
  }
  restore(snapshot: string): void {
    this.value = snapshot;
  }
}
const BoxKey = resourceKey<Box>("Box");

test.each([
  ["throws", "memory"],
  ["throws", "sqlite"],
  ["rolls back", "memory"],
  ["rolls back", "sqlite"],
] as const)(
  "TX-9 in a recorded evaluation a handler that does not heed its signal is undone too: the body %s, the journal is in %s",
  async (ending, kind) => {
    await using journal = kind === "memory" ? memoryJournal() : sqliteJournal(join(await folder(), "runs.sqlite"));
    const box = new Box();
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const write = defineTool({
      name: "write",
      description: "Writes.",
      input: z.object({}),
      uses: [BoxKey],
      async execute(_, { resources }) {
        const own = resources.get(BoxKey);
        begun.resolve();
        await gate.promise;
        own.value = "late";
        done.resolve();
      },
    });
    const prompt = definePrompt({ key: "write", sections: [{ key: "task", text: "Write.", tools: [write] }] }).bind();
    const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "write" }] }, { text: "Done." }]));
    const session = createSession();
    await using resources = await openResources([provide(BoxKey, box)]);
    const ended = transaction({ session, resources }, async (rollback) => {
      adapter.evaluate(prompt, { session, resources, run: journal.run("r") }).catch(() => {});
      await begun.promise;
      if (ending === "throws") throw new Error("The body fails.");
      await rollback();
      return `rolled back to ${box.value}`;
    }).catch((error: unknown) => (error as Error).message);
    await begun.promise;
    for (let turns = 0; turns < 10; turns++) await turn();
    gate.resolve();
    expect(await ended).toBe(ending === "throws" ? "The body fails." : "rolled back to before");
    await done.promise;
    expect(box.value).toBe("before");
  },
);
