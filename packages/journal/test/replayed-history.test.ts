// Evaluations that were given a history replay as any other.
import { definePrompt, isEvaluationFailure, type EvaluationFailure, type SessionEvent } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const chat = definePrompt({ key: "chat", params: z.object({ said: z.string() }), text: "{{said}}" });
const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };
const adapterOf = (...steps: readonly ScriptedStep[]) =>
  modelAdapter(scriptedModel(steps), { throttle: { maxAttempts: 1 } });

async function failure(evaluating: Promise<unknown>): Promise<EvaluationFailure> {
  const error: unknown = await evaluating.catch((why: unknown) => why);
  if (!isEvaluationFailure(error)) throw error;
  return error;
}

it("RPL-1 a turn of a conversation replays with the messages of the turns before it", async () => {
  const journal = memoryJournal();
  const adapter = adapterOf({ text: "One." }, { text: "Two." });
  const first = await adapter.evaluate(chat.bind({ said: "a" }));
  const session = createSession();
  const events: SessionEvent[] = [];
  session.on("*", (event) => void events.push(event));
  const options = { session, messages: first.messages, run: journal.run("turn") };
  const second = await adapter.evaluate(chat.bind({ said: "b" }), options);
  for (const tools of ["recorded", "run"] as const) {
    const replayed = await replay(chat, journal.replay("turn", { tools }));
    expect(replayed.events).toEqual(events);
    expect(replayed.response?.messages).toEqual(second.messages);
  }
});

it.each([
  ["a failure", async () => failure(adapterOf(cut).evaluate(chat.bind({ said: "a" })))],
  [
    "an answer, after which the user asks to go on",
    async () => adapterOf({ text: "One." }).evaluate(chat.bind({ said: "a" })),
  ],
])("RPL-1 an evaluation that goes on from %s replays", async (_, before) => {
  const journal = memoryJournal();
  const session = createSession();
  const events: SessionEvent[] = [];
  session.on("*", (event) => void events.push(event));
  const options = { session, continueFrom: await before(), run: journal.run("on") };
  await adapterOf({ text: "Two." }).evaluate(chat.bind({ said: "a" }), options);
  expect((await replay(chat, journal.replay("on"))).events).toEqual(events);
  expect((await replay(chat, journal.replay("on", { tools: "run" }))).events).toEqual(events);
});
