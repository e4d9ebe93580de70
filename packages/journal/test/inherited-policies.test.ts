import {
  allow,
  definePolicy,
  definePrompt,
  defineTool,
  deny,
  RunError,
  suspend,
  type PolicyDecision,
} from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { memoryJournal, type Journal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const input = z.object({});

/** What is evaluated: a tool that delegates to a prompt, whose tool an evaluation's policy watches. */
function world(decide: () => PolicyDecision, delegateIs: { readonly idempotent?: boolean } = { idempotent: true }) {
  const ran: string[] = [];
  let asked = 0;
  const refund = defineTool({ name: "refund", description: "Refunds.", input, execute: () => void ran.push("refund") });
  const policy = definePolicy({
    name: "guard",
    tools: [refund],
    check() {
      asked += 1;
      return decide();
    },
  });
  const inner = definePrompt({ key: "inner", sections: [{ key: "task", text: "Refund.", tools: [refund] }] });
  const delegate = defineTool({
    name: "delegate",
    description: "Delegates.",
    input,
    ...delegateIs,
    async execute(_, { evaluate }) {
      const { toolResults } = await evaluate(inner.bind());
      return toolResults.map(({ result }) => result.message).join();
    },
  });
  const prompt = definePrompt({ key: "outer", sections: [{ key: "task", text: "Go.", tools: [delegate] }] }).bind();
  const evaluate = (journal: Journal, steps: readonly ScriptedStep[]) =>
    modelAdapter(scriptedModel(steps)).evaluate(prompt, { policies: [policy], run: journal.run("r") });
  return { prompt, policies: [policy], ran, asks: () => asked, evaluate };
}

const delegating: ScriptedStep = { toolCalls: [{ id: "d", name: "delegate", arguments: {} }] };
const refunding: ScriptedStep = { toolCalls: [{ id: "r", name: "refund", arguments: {} }] };
const whole = [delegating, refunding, { text: "Inner." }, { text: "Done." }];

describe("a policy of the evaluation that suspends inside a call", () => {
  it.each([
    ["allowed", allow(), ["refund"]],
    ["denied", deny("No."), []],
  ] as const)("SUS-4 TOOL-20 waits for a decision, and goes on once it is %s", async (_, decision, ran) => {
    const journal = memoryJournal();
    const first = world(() => suspend("May it?"));
    const error: unknown = await first.evaluate(journal, whole.slice(0, 2)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "suspended", pending: { tool: "refund", question: "May it?" } });
    expect([first.ran, first.asks()]).toEqual([[], 1]);
    await journal.resolve((error as RunError).pending?.token ?? "", decision);

    const later = world(() => suspend("May it?"));
    const { text } = await later.evaluate(journal, whole.slice(2));
    expect([text, later.ran, later.asks()]).toEqual(["Done.", ran, 0]);

    const silent = world(() => deny("A replay asks nobody."));
    const { response } = await replay(silent.prompt, journal.replay("r"), { policies: silent.policies });
    expect([response?.text, silent.asks(), silent.ran]).toEqual(["Done.", 0, []]);
  });

  it("SUS-4 TOOL-20 is denied where the tool around may not be run again", async () => {
    const journal = memoryJournal();
    const only = world(() => suspend("May it?"), {});
    const { toolResults } = await only.evaluate(journal, whole);
    expect(toolResults[0]?.result).toMatchObject({ value: expect.stringMatching(/^Not run: .*May it\?$/u) });
    expect(only.ran).toEqual([]);
  });
});

it("RPL-3 TOOL-20 a replay that runs handlers asks it inside again, and finds a difference where it decides otherwise", async () => {
  const journal = memoryJournal();
  await world(() => allow()).evaluate(journal, whole);
  const same = world(() => allow());
  const again = await replay(same.prompt, journal.replay("r", { tools: "run" }), { policies: same.policies });
  expect([again.response?.text, same.asks(), same.ran]).toEqual(["Done.", 1, ["refund"]]);
  const other = world(() => deny("No."));
  await expect(
    replay(other.prompt, journal.replay("r", { tools: "run" }), { policies: other.policies }),
  ).rejects.toMatchObject({ reason: "diverged" });
});
