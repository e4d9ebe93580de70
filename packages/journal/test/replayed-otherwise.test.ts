import { deadlineIn, definePrompt } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";

/** Whether the prompt can be rendered. */
let isWhole = true;
const prompt = definePrompt({
  key: "asked",
  params: z.object({ city: z.string() }),
  sections: [
    {
      key: "question",
      text: "Where is {{city}}?",
      enabled() {
        if (isWhole) return true;
        throw new Error("It cannot be known.");
      },
    },
  ],
});

beforeEach(() => {
  isWhole = true;
});

async function recorded() {
  const journal = memoryJournal();
  const adapter = modelAdapter(scriptedModel([{ text: "There." }]));
  await adapter.evaluate(prompt.bind({ city: "Rome" }), { run: journal.run("one"), deadline: deadlineIn(60_000) });
  return journal;
}

describe("RPL-1 what was not recorded is thrown, and no failure of the record", () => {
  test("RPL-1 a prompt that cannot be rendered any more", async () => {
    const journal = await recorded();
    isWhole = false;
    await expect(replay(prompt, journal.replay("one"))).rejects.toMatchObject({
      code: "render",
      message: expect.stringContaining("It cannot be known."),
    });
  });

  test("RPL-1 an option that evaluate does not have", async () => {
    const journal = await recorded();
    const options = { slices: [] } as object;
    await expect(replay(prompt, journal.replay("one"), options)).rejects.toMatchObject({
      code: "option",
      message: expect.stringContaining("evaluate has no option slices."),
    });
  });
});
