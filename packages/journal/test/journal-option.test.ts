// The option `journal` of an adapter: what it keeps, and what it leaves alone.
import { definePrompt, defineTool, OptionError } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const call = { toolCalls: [{ id: "c", name: "ask", arguments: {} }] };
const ask = defineTool({
  name: "ask",
  description: "Asks.",
  input: z.object({}),
  execute: async (_input, { evaluate }) => (await evaluate("Inside?")).text,
});
const prompt = definePrompt({ key: "asking", sections: [{ key: "task", text: "Ask.", tools: [ask] }] }).bind();

it("JRN-13 each evaluation is a run of its own, and what a handler evaluates is part of it", async () => {
  const journal = memoryJournal();
  const model = scriptedModel([
    call,
    { text: "Inside." },
    { text: "Done." },
    { text: "Again." },
    { text: "Streamed." },
  ]);
  const adapter = modelAdapter(model, { journal });
  const session = createSession();
  const first = await adapter.evaluate(prompt, { session });
  const second = await adapter.evaluate("Again?", { session });
  const stream = adapter.stream("Stream?");
  for await (const _ of stream) void _;
  const third = await stream.response;
  const runs = await listed(journal.list());
  expect(runs.map(({ id }) => id).toSorted((a, b) => a.localeCompare(b))).toEqual(
    [first, second, third].map(({ run }) => run?.id ?? "").toSorted((a, b) => a.localeCompare(b)),
  );
  expect(runs.every(({ state }) => state === "executed")).toBe(true);
  const described = await journal.describe(first.run?.id ?? "");
  expect(described?.timeline.map((step) => step.kind === "call" && step.nested)).toEqual([false, 1, false]);
});

it("JRN-13 a run of the evaluation's own counts, and an evaluation that has failed can be found", async () => {
  const journal = memoryJournal();
  const other = memoryJournal();
  const refused = { failure: "provider", reason: "bad_request", message: "No." } as const;
  const adapter = modelAdapter(scriptedModel([{ text: "Hi." }, refused]), { journal });
  const { run } = await adapter.evaluate("Hi?", { run: other.run("mine") });
  expect(run?.id).toBe("mine");
  expect(await listed(journal.list())).toEqual([]);
  await expect(adapter.evaluate("Hi?")).rejects.toMatchObject({ code: "provider" });
  expect(await listed(journal.list())).toMatchObject([{ state: "failed" }]);
  await journal.close();
  await expect(adapter.evaluate("Hi?")).rejects.toMatchObject({ code: "run", reason: "journal" });
});

it("JRN-13 a chain keeps what its first adapter keeps", async () => {
  const journal = memoryJournal();
  const first = modelAdapter(scriptedModel([{ failure: "provider", reason: "not_found", message: "Gone." }]), {
    journal,
  });
  const second = modelAdapter({ ...scriptedModel([{ text: "Hi." }]), name: "second" });
  const { text, run } = await fallback([first, second]).evaluate("Hi?");
  expect([text, (await listed(journal.list())).map(({ id }) => id)]).toEqual(["Hi.", [run?.id]]);
});

it("JRN-13 what is no journal, or makes no run, is refused", async () => {
  for (const journal of [null, {}, "runs.db", { run: true }]) {
    expect(() => modelAdapter(scriptedModel([]), { journal: journal as never })).toThrow("The option journal");
  }
  const broken = [
    () => ({ id: "x" }),
    () => {
      throw new Error("No runs today.");
    },
  ];
  for (const run of broken) {
    const adapter = modelAdapter(scriptedModel([]), { journal: { run } as never });
    await expect(adapter.evaluate("Hi?")).rejects.toBeInstanceOf(OptionError);
  }
});
