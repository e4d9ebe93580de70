import { definePrompt } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const ask = definePrompt({ key: "ask", text: "Count." }).bind();
const steps = [{ text: "One, ", finishReason: "paused" }, { text: "two." }] as const;

test("LOOP-10 RPL-1 a paused answer is recorded as a turn, and replayed as one", async () => {
  const journal = memoryJournal();
  await modelAdapter(scriptedModel(steps)).evaluate(ask, { run: journal.run("count") });
  const { response } = await replay(ask, journal.replay("count"));
  expect(response).toMatchObject({ output: "One, two.", turns: 2, finishReason: "stop" });
});
