import { RunError, type ModelProvider } from "@proviso/core";
import { textPrompt } from "@proviso/core/internal";
import { createJournal, memoryJournal } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { heard, notes, reviewPrompt, script, type World } from "./runs-support.ts";
import { listed } from "./support.ts";

/** Seeded ids and randomness over real time. */
function environment(seed = 1) {
  const { random, newId } = fakeEnvironment(seed);
  return { random, newId };
}

async function recorded(journal = memoryJournal()) {
  const world: World = { done: [] };
  const model = scriptedModel([...script]);
  const adapter = modelAdapter(model, environment());
  const session = createSession({ id: "s1" });
  const events = heard(session);
  const prompt = reviewPrompt(world);
  const response = await adapter.evaluate(prompt, { session, run: journal.run("r1") });
  return { journal, world, model, adapter, session, events, prompt, response };
}

describe("a run of a journal", () => {
  it("JRN-1 is recorded, described and listed", async () => {
    const { journal, response } = await recorded();
    expect(response.run).toEqual({ id: "r1", attempt: 1, keptSteps: 0 });
    const described = await journal.describe("r1");
    expect(described?.state).toBe("executed");
    expect(
      described?.timeline.map((step) =>
        step.kind === "call" ? `${step.name} ${step.effect} ${step.nested}` : step.text,
      ),
    ).toEqual([
      "First.",
      "note committed 0",
      "fail undone 0",
      "nothing not-started 0",
      "",
      "look committed 1",
      "look committed 1",
      "note committed 0",
      "Done.",
    ]);
    expect((await listed(journal.list())).map(({ id, steps, state }) => [id, steps, state])).toEqual([
      ["r1", 9, "executed"],
    ]);
  });

  it("RPL-1 RPL-2 a replay gives the same events, session state and response without a model", async () => {
    const { journal, events, session, prompt, response, world } = await recorded();
    const replayed = await replay(reviewPrompt({ done: [] }), journal.replay("r1"));
    expect(replayed.events.map((event) => JSON.stringify(event))).toEqual(events.map((event) => JSON.stringify(event)));
    expect(JSON.stringify(replayed.session)).toBe(JSON.stringify(session));
    const { run: _then, providerPayload: _payload, ...then } = response;
    const { run: _now, providerPayload: _other, ...now } = replayed.response as typeof response;
    expect(JSON.stringify(now)).toBe(JSON.stringify(then));
    expect(world.done).toHaveLength(2);
    void prompt;
  });

  it("RSM-1 a run that has ended gives its answer again without a request", async () => {
    const { journal, adapter, prompt, response, model, world } = await recorded();
    const asked = model.callCount;
    const again = await adapter.evaluate(prompt, { run: journal.run("r1") });
    expect(again.output).toBe(response.output);
    expect(JSON.stringify(again.messages)).toBe(JSON.stringify(response.messages));
    expect(model.callCount).toBe(asked);
    expect(world.done).toHaveLength(2);
  });

  it("RPL-4 a prompt that was changed diverges at step 0 with both texts", async () => {
    const { journal } = await recorded();
    const failing = replay(reviewPrompt({ done: [] }, "Review {{file}} well."), journal.replay("r1"));
    const error = await failing.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RunError);
    expect((error as RunError).reason).toBe("diverged");
    expect((error as RunError).message).toMatch(
      /diverges at step 0: .* was .*Review a.ts\..* and is .*Review a.ts well\./u,
    );
  });

  it("RSM-2 EFF-1 a run that ended anywhere goes on, and each recorded step is done once", async () => {
    const whole = await recorded();
    const entries = await listed(whole.journal.entries("r1"));
    const full = JSON.stringify(whole.session);
    const fullNotes = whole.session.get(notes);
    void full;
    for (let cut = 1; cut < entries.length; cut++) {
      const store = memoryStore();
      const kept = entries.slice(0, cut);
      const { bodyOf, frameSum } = await import("@proviso/journal/internal");
      const body = bodyOf(1, kept);
      await store.append([
        {
          run: "r1",
          first: 0,
          count: cut,
          writer: "gone",
          body,
          sum: frameSum({ run: "r1", first: 0, body }),
          summary: "{}",
        },
      ]);
      const journal = createJournal(store);
      const world: World = { done: [] };
      const steps = entries
        .slice(0, cut)
        .filter((entry) => entry.kind === "answered" && entry.answer.failure === undefined);
      const own = steps.filter(({ evaluationId }) => evaluationId === entries[0]?.evaluationId).length;
      // The model answers what is not recorded.
      const answer = (({
        messages,
      }: {
        readonly messages: readonly { readonly role: string; readonly text: string }[];
      }) => {
        const last = messages.at(-1)?.text ?? "";
        if (last.startsWith("Look at")) return { text: `Seen ${last}` };
        const turn = messages.filter(({ role }) => role === "assistant").length;
        return [script[0], script[2], script[5]][turn];
      }) as never;
      const model = scriptedModel(Array.from({ length: 20 }, () => answer));
      const adapter = modelAdapter(model, environment(cut + 1));
      const response = await adapter.evaluate(reviewPrompt(world), { run: journal.run("r1", { takeOver: true }) });
      expect(response.text, `cut at ${cut}, ${own} answers kept`).toBe("Done.");
      expect(response.run?.attempt).toBe(2);
      const after = await journal.session("r1", { slices: [notes] });
      const unknown = await journal.describe("r1");
      const isUnknown = unknown?.timeline.some(
        (step) => step.kind === "call" && step.result?.message.startsWith("It is not known") === true,
      );
      if (isUnknown !== true) expect(after.get(notes).toSorted(), `cut at ${cut}`).toEqual(fullNotes.toSorted());
      // What was resumed replays as what stands.
      const replayed = await replay(reviewPrompt({ done: [] }), journal.replay("r1"));
      expect(replayed.response?.text, `cut at ${cut}`).toBe("Done.");
      expect(replayed.session.get(notes)).toEqual(after.get(notes));
    }
  });

  it("RPL-7 an answer that comes after a limit, or after the end, is in no record", async () => {
    const journal = memoryJournal();
    let answer: (() => void) | undefined;
    const stopping = new AbortController();
    const model = scriptedModel([]);
    const late: ModelProvider = {
      ...model,
      // It does not look at the signal.
      generate: () =>
        new Promise((resolve) => {
          const message = { role: "assistant", text: "Late.", toolCalls: [] } as const;
          answer = () => resolve({ message, finishReason: "stop" });
          stopping.abort(new Error("Enough."));
          setTimeout(() => answer?.(), 1);
        }),
    };
    const failing = modelAdapter(late).evaluate("Hello.", { run: journal.run("r1"), signal: stopping.signal });
    const message = await failing.catch((error: Error) => error.message);
    await new Promise((resolve) => void setTimeout(resolve, 10));
    const kinds = (await listed(journal.entries("r1"))).map(({ kind }) => kind);
    expect(kinds).not.toContain("answered");
    expect(kinds.at(-1)).toBe("ended");
    expect((await replay(textPrompt("Hello."), journal.replay("r1"))).failure?.message).toBe(message);
  });
});
