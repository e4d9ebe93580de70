// Runs that a limit, a pace or a budget ended before or beside a request replay as they were.
import { deadlineIn, definePrompt, defineTool, trackBudget, type EvaluateOptions } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { paced } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const prompt = definePrompt({ key: "say", text: "Say yes." }).bind();
const usage = { inputTokens: 10, outputTokens: 10 };

it.each(["an abort", "a deadline"])("RPL-1 RPL-7 %s while a request waits for room replays", async (what) => {
  await using journal = memoryJournal();
  const environment = fakeEnvironment();
  const { clock } = environment;
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const { generate, ...model } = scriptedModel([{ text: "yes", usage }]);
  const slow = modelAdapter(
    {
      ...model,
      async generate(request) {
        await clock.sleep(1_000, request.signal);
        return generate(request);
      },
    },
    environment,
  );
  const first = slow.evaluate(prompt, { budget });
  const controller = new AbortController();
  const limit: EvaluateOptions =
    what === "an abort" ? { signal: controller.signal } : { deadline: deadlineIn(500, clock) };
  const waiting = slow.evaluate(prompt, { budget, run: journal.run("r"), ...limit }).catch((error: unknown) => error);
  await clock.advance(500);
  controller.abort();
  const error = (await waiting) as Error;
  expect(error.name).toBe(what === "an abort" ? "AbortedError" : "DeadlineExceededError");
  await clock.advance(1_000);
  await first;
  const { failure } = await replay(prompt, journal.replay("r"));
  expect(failure).toMatchObject({ name: error.name, message: error.message });
});

it("RPL-1 PAC-2 a request that its pace refused replays, and goes on", async () => {
  await using journal = memoryJournal();
  const environment = fakeEnvironment();
  const { clock } = environment;
  const model = scriptedModel([{ text: "yes" }, { text: "yes" }]);
  const adapter = paced(modelAdapter(model, environment), { requestsPerMinute: 1, clock });
  await adapter.evaluate(prompt);
  const refusing = adapter.evaluate(prompt, { run: journal.run("r"), deadline: deadlineIn(300, clock) });
  const error = (await refusing.catch((thrown: unknown) => thrown)) as Error;
  expect(error).toMatchObject({ name: "ThrottleError", message: expect.stringContaining("was not sent") as string });
  const { failure } = await replay(prompt, journal.replay("r"));
  expect(failure).toMatchObject({ name: "ThrottleError", message: error.message });
  await clock.advance(120_000);
  expect((await adapter.evaluate(prompt, { run: journal.run("r") })).text).toBe("yes");
  expect((await replay(prompt, journal.replay("r"))).response?.text).toBe("yes");
});

it.each([false, true])(
  "RPL-1 RPL-7 an evaluation inside a call that the budget cut short replays, caught: %s",
  async (isCaught) => {
    await using journal = memoryJournal();
    const { capabilities, ...scripted } = scriptedModel([{ text: "yes ".repeat(400), usage }]);
    const inner = modelAdapter({ ...scripted, capabilities: { ...capabilities, outputLimit: { least: 1 } } });
    const think = defineTool({
      name: "think",
      description: "Thinks.",
      input: z.object({}),
      readOnly: true,
      async execute(_, { evaluate }) {
        try {
          return (await evaluate("Think.", { adapter: inner })).text;
        } catch (error) {
          if (isCaught) return "caught";
          throw error;
        }
      },
    });
    const thinking = definePrompt({ key: "think", sections: [{ key: "a", text: "Do.", tools: [think] }] }).bind();
    const outer = modelAdapter(
      scriptedModel([
        { toolCalls: [{ name: "think" }], usage },
        { text: "done", usage },
      ]),
    );
    const budget = trackBudget({ maxTotalTokens: 200 });
    const outcome = await outer.evaluate(thinking, { budget, run: journal.run("r") }).then(
      ({ text }) => text,
      (error: unknown) => (error as Error).message,
    );
    for (const tools of ["recorded", "run"] as const) {
      const { response, failure } = await replay(thinking, journal.replay("r", { tools }));
      expect(response?.text ?? failure?.message).toBe(outcome);
    }
  },
);
