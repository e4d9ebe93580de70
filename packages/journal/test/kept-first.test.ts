import { definePrompt, defineTool, type ModelProvider } from "@proviso/core";
import { createJournal, type Frame, type JournalStore } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

/** A store whose writes take so many turns of the event loop, as a database's do. */
function slowStore(turns: () => number) {
  const frames = new Map<string, Frame[]>();
  const reads: number[] = [];
  const store: JournalStore = {
    name: "slow",
    async append(given) {
      for (let left = turns(); left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
      for (const frame of given) frames.set(frame.run, [...(frames.get(frame.run) ?? []), frame]);
      return given.map(() => "kept" as const);
    },
    async *read(run, from = 0) {
      reads.push(from);
      yield* (frames.get(run) ?? []).filter(({ first, count }) => from < first + count);
    },
    async *list() {
      for (const [run, all] of frames) yield { run, summary: all.at(-1)?.summary ?? "" };
    },
    async remove() {},
    async close() {},
  };
  return { store, reads, kept: (run: string): readonly Frame[] => frames.get(run) ?? [] };
}

it("JRN-4 with many runs at once each handler begins, and each evaluate settles, after the entry that says so is kept", async () => {
  let seed = 1;
  const random = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most;
  const { store, kept } = slowStore(() => 1 + random(5));
  const journal = createJournal(store);
  const early: string[] = [];
  const tool = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ run: z.string() }),
    async execute({ run }, { idempotencyKey }) {
      if (!kept(run).some(({ body }) => body.includes(idempotencyKey))) early.push(`handler of ${run}`);
      for (let left = random(4); left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
      return "paid";
    },
  });
  const prompt = definePrompt({ key: "pay", sections: [{ key: "task", text: "Pay.", tools: [tool] }] }).bind();
  const evaluated = async (run: string): Promise<void> => {
    const pay = { toolCalls: [{ name: "pay", arguments: { run } }] };
    await modelAdapter(scriptedModel([pay, pay, { text: "Done." }])).evaluate(prompt, { run: journal.run(run) });
    const { state } = JSON.parse(kept(run).at(-1)?.summary ?? "{}") as { readonly state?: string };
    if (state !== "executed") early.push(`end of ${run}`);
  };
  await Promise.all(Array.from({ length: 20 }, (_, n) => evaluated(`run-${n}`)));
  expect(early).toEqual([]);
});

it("JRN-11 while nothing comes, following a run reads its last frame and not the whole run", async () => {
  const { store, reads } = slowStore(() => 1);
  const journal = createJournal(store);
  const answering = Promise.withResolvers<void>();
  const provider: ModelProvider = {
    name: "m",
    model: "m",
    capabilities: { tools: true, nativeOutput: true },
    async generate() {
      await answering.promise;
      return { message: { role: "assistant", text: "Late.", toolCalls: [] }, finishReason: "stop" };
    },
  };
  const going = modelAdapter(provider).evaluate("One?", { run: journal.run("r") });
  const kinds: string[] = [];
  const following = (async () => {
    for await (const { kind } of journal.entries("r", { follow: true })) kinds.push(kind);
  })();
  await expect.poll(() => kinds.length).toBeGreaterThan(1);
  const before = reads.length;
  await expect.poll(() => reads.length, { interval: 100 }).toBeGreaterThan(before + 2);
  expect(new Set(reads.slice(before))).toEqual(new Set([kinds.length - 1]));
  answering.resolve();
  await going;
  await following;
  expect(kinds.at(-1)).toBe("ended");
});
