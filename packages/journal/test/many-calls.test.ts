import { definePrompt, defineTool, systemClock } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

test("LIM-2 LIM-9 RPL-1 an abort is noticed between the calls of a recorded run, and its replay ends alike", async () => {
  const stop = new AbortController();
  let calls = 0;
  const busy = defineTool({
    name: "busy",
    description: "Is busy.",
    input: z.object({}),
    execute() {
      // It fires in the next turn of the event loop.
      if (++calls === 1) void systemClock.sleep(0).then(() => stop.abort());
      for (const until = systemClock.now() + 5; systemClock.now() < until;);
      return "ok";
    },
  });
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Go.", tools: [busy] }] }).bind();
  const toolCalls = Array.from({ length: 100 }, () => ({ name: "busy" }));
  const adapter = modelAdapter(scriptedModel([{ toolCalls }, { text: "done" }]));
  const journal = memoryJournal();
  const ended = (options: object) => adapter.evaluate(prompt, options).catch((error: { code: string }) => error.code);
  expect(await ended({ run: journal.run("r"), signal: stop.signal })).toBe("aborted");
  expect(calls).toBeLessThan(100);
  for (const tools of ["recorded", "run"] as const) {
    expect(await ended({ run: journal.replay("r", { tools }) })).toBe("aborted");
  }
});
