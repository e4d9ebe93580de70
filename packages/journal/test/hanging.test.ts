// A journal whose database hangs, as behind a connection that carries nothing any more.
import { definePrompt, defineTool, deadlineIn, type EvaluateOptions } from "@proviso/core";
import { createJournal, type JournalStore } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { modelAdapter } from "@proviso/runtime";
import { failingModel, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";

/** A store in memory that answers nothing while it hangs. */
function hangingStore() {
  const store = memoryStore();
  let waiting: (() => void)[] = [];
  let hangs = false;
  const free = (): Promise<void> | undefined => (hangs ? new Promise((resolve) => waiting.push(resolve)) : undefined);
  const slow: JournalStore = {
    name: "hangs",
    async append(frames) {
      await free();
      return store.append(frames);
    },
    async *read(run, from) {
      await free();
      yield* store.read(run, from);
    },
    list: () => store.list(),
    remove: (runs) => store.remove(runs),
    close: () => store.close(),
  };
  return {
    store: slow,
    hang: () => void (hangs = true),
    goOn() {
      hangs = false;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
  };
}

const limits: Readonly<Record<string, () => EvaluateOptions>> = {
  DeadlineExceededError: () => ({ deadline: deadlineIn(100) }),
  AbortedError: () => ({ signal: AbortSignal.timeout(100) }),
};
const places = ["when it is read", "before a handler", "at its end"] as const;

const cases = places.flatMap((place) => Object.keys(limits).map((name) => [place, name] as const));

test.each(cases)("LIM-2 a journal that hangs %s holds no evaluation past its limits (%s)", async (place, name) => {
  const { store, hang, goOn } = hangingStore();
  await using journal = createJournal(store);
  let paid = 0;
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => void (paid += 1) });
  const prompt = definePrompt({ key: "pays", sections: [{ key: "task", text: "Pay.", tools: [pay] }] }).bind();
  const calling: ScriptedStep = { toolCalls: [{ name: "pay" }] };
  const evaluate = (options: EvaluateOptions = {}) => {
    const { generate, ...model } = scriptedModel([calling, { text: "Done." }]);
    const provider = {
      ...model,
      generate: (request: Parameters<typeof generate>[0]) => {
        const turn = request.messages.length === 1 ? 0 : 1;
        if (turn === (place === "before a handler" ? 0 : 1) && place !== "when it is read") hang();
        return generate(request);
      },
    };
    return modelAdapter(provider).evaluate(prompt, { run: journal.run("r"), ...options });
  };
  if (place === "when it is read") hang();
  const ending = evaluate(limits[name]?.()).then(
    () => "answered",
    (error: unknown) => error as Error,
  );
  const ended = await Promise.race([ending, sleep(5_000, "late")]);
  // What an evaluation came to before its limit is not known to be kept.
  expect(ended).toMatchObject(place === "at its end" ? { name: "RunError", reason: "journal" } : { name });
  expect(paid).toBe(place === "at its end" ? 1 : 0);
  goOn();
  await expect
    .poll(async () => (await journal.describe("r"))?.state ?? "none")
    .toBe({ "when it is read": "none", "before a handler": "failed", "at its end": "executed" }[place]);
  if (place === "at its end") expect((await evaluate()).text).toBe("Done.");
  expect(paid).toBe(place === "at its end" ? 1 : 0);
});

test("LIM-1 LIM-2 the earlier of two deadlines leaves a journal that hangs behind", async () => {
  const { store, hang, goOn } = hangingStore();
  await using journal = createJournal(store);
  hang();
  const prompt = definePrompt({ key: "says", text: "Say yes." }).bind();
  const ending = modelAdapter(scriptedModel([{ text: "yes" }]))
    .evaluate(prompt, {
      run: journal.run("r"),
      deadline: deadlineIn(60_000),
      budget: { maxTotalTokens: 1_000, deadline: deadlineIn(100) },
    })
    .catch((error: unknown) => error);
  expect(await Promise.race([ending, sleep(5_000, "late")])).toMatchObject({ name: "DeadlineExceededError" });
  goOn();
});

test("LIM-2 a journal that hangs before the first request of a run that goes on is left behind", async () => {
  const { store, hang, goOn } = hangingStore();
  await using journal = createJournal(store);
  const busy = failingModel({ failure: "throttle", kind: "rate_limit", retry: false, message: "busy" });
  let isBroken = false;
  const enabled = (): boolean => {
    if (!isBroken) return true;
    hang();
    throw new Error("It cannot be known.");
  };
  const prompt = definePrompt({ key: "says", sections: [{ key: "task", text: "Say yes.", enabled }] }).bind();
  await modelAdapter(busy)
    .evaluate(prompt, { run: journal.run("r") })
    .catch(() => {});
  expect((await journal.describe("r"))?.state).toBe("failed");
  isBroken = true;
  const ending = modelAdapter(busy)
    .evaluate(prompt, { run: journal.run("r"), deadline: deadlineIn(200) })
    .catch((error: unknown) => error);
  expect(await Promise.race([ending, sleep(5_000, "late")])).toMatchObject({ name: "PromptRenderError" });
  goOn();
});
