import { definePrompt, defineTool, RunError, type JournalRun, type ModelRequest } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

function prompt(text: string, done: string[], more: { readonly key?: string; readonly description?: string } = {}) {
  const { key = "task", description = "Writes." } = more;
  const write = defineTool({
    name: "write",
    description,
    input: z.object({ path: z.string() }),
    execute({ path }) {
      done.push(path);
      return `${path} is written`;
    },
  });
  return definePrompt({ ns: "test", key, sections: [{ key: "s", text, tools: [write] }] }).bind();
}

const call = (path: string): ScriptedStep => ({ toolCalls: [{ id: path, name: "write", arguments: { path } }] });
const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };
const throttle = { maxAttempts: 1 };

/** A run that a network's failure has ended after its first call. */
async function interrupted() {
  const journal = memoryJournal();
  const done: string[] = [];
  const adapter = modelAdapter(scriptedModel([call("a"), cut]), { throttle });
  await expect(adapter.evaluate(prompt("Write.", done), { run: journal.run("r") })).rejects.toThrow();
  expect(done).toEqual(["a"]);
  return { journal, done };
}

const shown = ({ messages }: ModelRequest) => messages.map(({ role, text }) => `${role}: ${text}`);

describe("a run whose prompt has changed", () => {
  it("RSM-3 is refused with both texts before anything is sent", async () => {
    const { journal, done } = await interrupted();
    const model = scriptedModel([]);
    const error = await modelAdapter(model)
      .evaluate(prompt("Write two files.", done), { run: journal.run("r") })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RunError);
    expect((error as RunError).divergence).toMatchObject({ recorded: "Write.", now: "Write two files." });
    expect(model.requests).toEqual([]);
  });

  it("RSM-3 goes on where it is adopted: its steps stand, and what comes after them is today's", async () => {
    const { journal, done } = await interrupted();
    const model = scriptedModel([call("b"), { text: "Done." }]);
    const changed = prompt("Write two files.", done, { description: "Writes a file." });
    const { text, run } = await modelAdapter(model).evaluate(changed, { run: journal.run("r", { onChange: "adopt" }) });
    expect([text, run?.keptSteps, done]).toEqual(["Done.", 2, ["a", "b"]]);
    const [first] = model.requests;
    expect(first && shown(first)).toEqual(["user: Write two files.", "assistant: ", "tool: a is written"]);
    expect(first?.tools.map(({ description }) => description)).toEqual(["Writes a file."]);
  });

  it("RSM-3 RPL-7 is known to be adopted: it goes on again, and replays, with the prompt that it was adopted with", async () => {
    const { journal, done } = await interrupted();
    const changed = prompt("Write two files.", done);
    const again = modelAdapter(scriptedModel([call("b"), cut]), { throttle });
    await expect(again.evaluate(changed, { run: journal.run("r", { onChange: "adopt" }) })).rejects.toThrow();
    const last = modelAdapter(scriptedModel([{ text: "Done." }]));
    expect((await last.evaluate(changed, { run: journal.run("r") })).run?.keptSteps).toBe(4);
    expect(done).toEqual(["a", "b"]);

    const kinds: string[] = [];
    for await (const { kind } of journal.entries("r")) kinds.push(kind);
    expect(kinds.filter((kind) => kind === "adopted")).toHaveLength(1);

    const { response, events } = await replay(changed, journal.replay("r"));
    expect(response?.text).toBe("Done.");
    expect(events.filter(({ type }) => type === "tool.invoked")).toHaveLength(2);
    await expect(replay(prompt("Write.", done), journal.replay("r"))).rejects.toMatchObject({ reason: "diverged" });
    const other = modelAdapter(scriptedModel([]));
    await expect(other.evaluate(prompt("Write.", done), { run: journal.run("r") })).rejects.toMatchObject({
      reason: "diverged",
    });
  });

  it("RSM-3 of which nothing has changed is not marked as adopted", async () => {
    const { journal, done } = await interrupted();
    const same = prompt("Write.", done);
    await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(same, {
      run: journal.run("r", { onChange: "adopt" }),
    });
    const kinds: string[] = [];
    for await (const { kind } of journal.entries("r")) kinds.push(kind);
    expect(kinds).toContain("resumed");
    expect(kinds).not.toContain("adopted");
  });

  it.each([
    ["a text", "I am {{name}}."],
    ["no text", "I am someone."],
  ])("RSM-3 RPL-1 FRK-1 other params, which %s has, are those of the record: it replays with them", async (_, text) => {
    const journal = memoryJournal();
    const look = defineTool({ name: "look", description: "L.", input: z.object({}), readOnly: true, execute: () => 1 });
    const params = z.object({ name: z.string() });
    const ask = definePrompt({ key: "ask", params, sections: [{ key: "s", text, tools: [look] }] });
    const evaluate = async (name: string, run: JournalRun, ...steps: readonly ScriptedStep[]) =>
      modelAdapter(scriptedModel(steps), { throttle }).evaluate(ask.bind({ name }), { run });
    const looks = { toolCalls: [{ name: "look", arguments: {} }] };
    await expect(evaluate("Ada", journal.run("r"), looks, cut)).rejects.toThrow();
    await evaluate("Bob", journal.fork("r", { at: 2, id: "f" }), { text: "Bob's." });
    await evaluate("Eve", journal.fork("f", { at: 2, id: "g" }), { text: "Eve's." });
    await evaluate("Ada", journal.fork("f", { at: 2, id: "h" }), { text: "Ada's." });
    await evaluate("Carl", journal.run("r", { onChange: "adopt" }), { text: "Carl's." });
    for (const [id, name] of Object.entries({ f: "Bob", g: "Eve", h: "Ada", r: "Carl" })) {
      expect((await journal.describe(id))?.params).toEqual({ name });
      expect((await replay(ask, journal.replay(id))).response?.text).toBe(`${name}'s.`);
    }
    // A fork with the params of before is not marked.
    expect((await listed(journal.entries("h"))).map(({ kind }) => kind)).not.toContain("adopted");
  });

  it("RSM-3 another prompt is refused, whatever the option", async () => {
    const { journal, done } = await interrupted();
    const other = prompt("Write.", done, { key: "other" });
    const run = journal.run("r", { onChange: "adopt" });
    await expect(modelAdapter(scriptedModel([])).evaluate(other, { run })).rejects.toMatchObject({
      reason: "diverged",
      divergence: { path: "prompt" },
    });
  });

  it("RSM-3 another adapter gets no items that only the first one understands", async () => {
    const journal = memoryJournal();
    const done: string[] = [];
    const first = {
      ...scriptedModel([]),
      name: "first",
      generate: async (request: ModelRequest) => {
        if (request.messages.some(({ role }) => role === "tool")) throw new Error("The line is cut.");
        const answer = await scriptedModel([call("a")]).generate(request);
        if (answer.failure !== undefined) return answer;
        return { ...answer, message: { ...answer.message, providerItems: [{ id: "rs_1" }] } };
      },
    };
    const same = prompt("Write.", done);
    await expect(modelAdapter(first).evaluate(same, { run: journal.run("r"), deadline: undefined })).rejects.toThrow();
    const second = scriptedModel([{ text: "Done." }]);
    await modelAdapter(second).evaluate(same, { run: journal.fork("r", { at: 2, id: "f" }) });
    const assistant = second.requests[0]?.messages.find(({ role }) => role === "assistant");
    expect(assistant).toBeDefined();
    expect(assistant).not.toHaveProperty("providerItems");
  });

  it("FRK-1 RPL-7 a fork with another prompt replays with that", async () => {
    const { journal, done } = await interrupted();
    const changed = prompt("Write two files.", done);
    const run = journal.fork("r", { at: 2, id: "f" });
    await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(changed, { run });
    const { response } = await replay(changed, journal.replay("f"));
    expect(response?.text).toBe("Done.");
  });
});
