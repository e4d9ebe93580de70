// One call may dispatch very much: what a replay does for each of its events does not grow with those before it.
import { definePrompt, defineSlice, defineTool } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, inject, it } from "vitest";
import { z } from "zod";
import { noted } from "./runs-support.ts";

const tally = defineSlice({ name: "tally", initial: 0, reducers: ({ on }) => on(noted, (count: number) => count + 1) });
const note = defineTool({
  name: "note",
  description: "Takes notes.",
  input: z.object({ count: z.number() }),
  transactional: true,
  execute({ count }, { session }) {
    for (let n = 0; n < count; n++) session.dispatch(noted({ text: `note ${n}` }));
    return count;
  },
});
const prompt = definePrompt({
  ns: "test",
  key: "many",
  slices: [tally],
  sections: [{ key: "task", text: "Take notes.", tools: [note] }],
}).bind();

it("RPL-3 a replay that runs a call again takes as long for each of its events as without the others", async () => {
  const cpuOf = async (count: number): Promise<number> => {
    const journal = memoryJournal();
    const model = scriptedModel([{ toolCalls: [{ name: "note", arguments: { count } }] }, { text: "Done." }]);
    await modelAdapter(model).evaluate(prompt, { run: journal.run("r") });
    const before = process.cpuUsage();
    const { events } = await replay(prompt, journal.replay("r", { tools: "run" }));
    const { user, system } = process.cpuUsage(before);
    expect(events.length).toBeGreaterThan(count);
    return user + system;
  };
  const count = inject("exhaustive") ? 8_000 : 2_000;
  await cpuOf(count);
  const few = Math.max(await cpuOf(count), await cpuOf(count));
  const many = Math.min(await cpuOf(8 * count), await cpuOf(8 * count));
  // Eight times as long for eight times as many, and room for a busy machine; copies of what came before made it 25 times.
  expect(many).toBeLessThan(20 * few);
});
