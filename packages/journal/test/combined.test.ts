// A run beside what else an evaluation may have: several models, a shortened history, streams, limits, secrets.
import { deadlineIn, definePrompt, defineSection, defineTool, Filesystem, provide, trackBudget } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeClock, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const rejection = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const prompt = (execute: (input: unknown, context: never) => unknown = () => "x".repeat(400)) =>
  definePrompt({
    key: "combined",
    params: z.object({}),
    sections: [
      defineSection({
        key: "task",
        text: "Look around.",
        tools: [defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: execute as never })],
      }),
    ],
  }).bind({});

const look = (id: string): ScriptedStep => ({ toolCalls: [{ id, name: "look" }] });

it("RPL-1 RTE-1 an evaluation that went on with another model replays", async () => {
  const journal = memoryJournal();
  const first = scriptedModel([look("c1"), { failure: "throttle", kind: "server_error", message: "Down." }]);
  const second = scriptedModel([{ text: "Done." }]);
  const adapter = fallback([modelAdapter(first, { throttle: { maxAttempts: 1 } }), modelAdapter(second)]);
  const response = await adapter.evaluate(prompt(), { run: journal.run("r") });
  expect(response.text).toBe("Done.");
  const replayed = await replay(prompt(), journal.replay("r"));
  expect(replayed.response?.messages).toEqual(response.messages);
  const again = await adapter.evaluate(prompt(), { run: journal.run("r") });
  expect(again.text).toBe("Done.");
});

it("RSM-1 CTX-1 a history that was summarised is summarised again from the record", async () => {
  const journal = memoryJournal();
  const answer = (({
    messages,
  }: {
    readonly messages: readonly { readonly role: string; readonly text: string }[];
  }): ScriptedStep => {
    if (messages.some(({ text }) => text.startsWith("You summarise"))) return { text: "Some looking was done." };
    const asked = messages.filter(({ role }) => role === "assistant").length;
    return asked >= 6 || messages.some(({ text }) => text.includes("Some looking was done."))
      ? { text: "Done." }
      : look(`c${asked}`);
  }) as never;
  const model = scriptedModel(Array.from({ length: 30 }, () => answer));
  const options = { context: { window: 700, summary: { maxTokens: 50 } } as never };
  const adapter = modelAdapter(model);
  const first = await adapter.evaluate(prompt(), { ...options, run: journal.run("r") });
  const asked = model.callCount;
  const compacted = (await listed(journal.entries("r"))).filter(
    (entry) => entry.kind === "event" && entry.event.type === "history.compacted",
  );
  expect(compacted.length).toBeGreaterThan(0);
  const again = await adapter.evaluate(prompt(), { ...options, run: journal.run("r") });
  expect(again.text).toBe(first.text);
  expect(again.messages).toEqual(first.messages);
  expect(model.callCount).toBe(asked);
});

it("RPL-8 a replay streams what was streamed, delta by delta", async () => {
  const journal = memoryJournal();
  const adapter = modelAdapter(
    scriptedModel([look("c1"), { text: "A text of some words.", reasoning: "Let me see." }]),
  );
  const read = async () => {
    const events: string[] = [];
    for await (const event of adapter.stream(prompt(), { run: journal.run("r") })) events.push(JSON.stringify(event));
    return events;
  };
  const first = await read();
  expect(first.some((event) => event.includes("text.delta"))).toBe(true);
  const replayed: string[] = [];
  for await (const event of adapter.stream(prompt(), { run: journal.replay("r") }))
    replayed.push(JSON.stringify(event));
  expect(replayed).toEqual(first);
});

it.each(["deadline", "aborted", "budget"])(
  "RPL-7 RSM-1 an evaluation that ended by %s replays to the same error, and goes on",
  async (code) => {
    const journal = memoryJournal();
    const clock = fakeClock();
    const aborting = new AbortController();
    let slow = code !== "budget";
    const execute = async (_input: unknown, { signal }: { readonly signal: AbortSignal }) => {
      if (!slow) return "seen";
      const stopped = new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(new Error("Stopped.")), { once: true }),
      );
      if (code === "aborted") aborting.abort();
      else void clock.advance(30);
      await stopped;
      return "never";
    };
    const run = (model = scriptedModel([look("c1"), look("c2"), { text: "Done." }])) => modelAdapter(model, { clock });
    const limit = {
      deadline: { deadline: deadlineIn(30, clock) },
      aborted: { signal: aborting.signal },
      budget: { budget: { maxTotalTokens: 16 } },
    }[code];
    const failed = await rejection(run().evaluate(prompt(execute as never), { run: journal.run("r"), ...limit }));
    expect(failed).toMatchObject({ code });
    const replayed = await replay(prompt(execute as never), journal.replay("r"));
    expect(replayed.failure).toMatchObject({ code, message: (failed as Error).message });
    slow = false;
    const model =
      code === "budget" ? scriptedModel([look("c2"), { text: "Done." }]) : scriptedModel([{ text: "Done." }]);
    const second = await run(model).evaluate(prompt(execute as never), { run: journal.run("r") });
    expect([second.text, second.run?.attempt]).toEqual(["Done.", 2]);
  },
);

it("RSM-6 recorded usage counts for the evaluation's own budget, and not again for a shared tracker", async () => {
  const journal = memoryJournal();
  const adapter = modelAdapter(scriptedModel([look("c1"), { text: "Done." }]));
  const tracker = trackBudget({ maxTotalTokens: 10_000 });
  const first = await adapter.evaluate(prompt(), { run: journal.run("r"), budget: tracker });
  const spent = tracker.consumed.totalTokens;
  expect(spent).toBe(first.usage.totalTokens);
  const again = await adapter.evaluate(prompt(), { run: journal.run("r"), budget: tracker });
  expect(again.usage).toEqual(first.usage);
  expect(tracker.consumed.totalTokens).toBe(spent);
});

it("RSM-7 a run inside a call and a cancelled run are refused with what to do", async () => {
  const journal = memoryJournal();
  const inside = prompt((async (
    _input: unknown,
    { evaluate }: { evaluate(text: string, options: object): Promise<unknown> },
  ) => evaluate("Hello.", { run: journal.run("inside") })) as never);
  const adapter = modelAdapter(scriptedModel([look("c1"), { text: "Done." }]));
  const { toolResults } = await adapter.evaluate(inside, { run: journal.run("b") });
  expect(toolResults[0]?.result.message).toContain("leave out the option run");
  await rejection(
    modelAdapter(scriptedModel([])).evaluate("Hello.", { run: journal.run("c"), signal: AbortSignal.abort() }),
  );
  const open = await rejection(
    adapter.evaluate("Hello.", { run: journal.run("d"), maxTurns: 1, deadline: deadlineIn(0) }),
  );
  expect(open).toMatchObject({ code: "deadline" });
});

it("JRN-6 what a call changed is not kept where it shows a secret, and the run cannot go on from there", async () => {
  const journal = memoryJournal();
  const write = (async (
    _input: unknown,
    { resources }: { readonly resources: { get(key: typeof Filesystem): Filesystem } },
  ) => resources.get(Filesystem).write("key.txt", "sk-abcdef123456")) as never;
  const adapter = modelAdapter(scriptedModel([look("c1"), { text: "Done." }]), { secrets: ["sk-abcdef123456"] });
  await adapter.evaluate(prompt(write), {
    run: journal.run("r"),
    resources: [provide(Filesystem, memoryFilesystem())],
  });
  const entries = await listed(journal.entries("r"));
  expect(JSON.stringify(entries)).not.toContain("sk-abcdef123456");
  expect(entries.some((entry) => entry.kind === "changed" && entry.changes === undefined)).toBe(true);
});
