import { definePrompt, defineTool, provide, resourceKey, type EvaluationFailure, type Tool } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

/** A resource whose changes cannot be undone, or not be committed. */
class Fragile {
  value = 0;
  readonly fails: "restore" | "release";
  constructor(fails: "restore" | "release") {
    this.fails = fails;
  }
  snapshot(): number {
    return this.value;
  }
  restore(value: number): void {
    if (this.fails === "restore") throw new Error("the disk is gone");
    this.value = value;
  }
  changes(): number {
    return this.value;
  }
  apply(value: number): void {
    this.value = value;
  }
  release(): void {
    if (this.fails === "release") throw new Error("the disk is full");
  }
}
const key = resourceKey<Fragile>("Fragile");
const environment = fakeEnvironment();
const input = z.object({});

/** Changes the resource, and fails where its changes are to be undone. */
const change = (fails: Fragile["fails"]): Tool =>
  defineTool({
    name: "change",
    description: "Changes.",
    input,
    uses: [key],
    execute(_, { resources }) {
      resources.get(key).value += 1;
      if (fails === "restore") throw new Error("it failed");
      return "changed";
    },
  });

/** An evaluation inside the call that changes it, and swallows how that ended. */
const outer = (fails: Fragile["fails"]): Tool =>
  defineTool({
    name: "change",
    description: "Asks for a change.",
    input,
    uses: [key],
    async execute(_, { evaluate }) {
      const model = scriptedModel([{ toolCalls: [{ name: "change" }] }, { text: "Inner." }]);
      const prompt = definePrompt({ key: "inner", sections: [{ key: "t", text: "Do.", tools: [change(fails)] }] });
      await evaluate(prompt.bind(), { adapter: modelAdapter(model, environment) }).catch(() => {});
      return "asked";
    },
  });

describe.each(["restore", "release"] as const)("a run whose %s had failed", (fails) => {
  test.each([
    ["in its own call", change],
    ["in an evaluation inside its call", outer],
  ])("RPL-7 RSM-1 TX-13 %s is replayed to its RestoreError, and gives that outcome again", async (_, toolOf) => {
    const journal = memoryJournal();
    const prompt = definePrompt({ key: "outer", sections: [{ key: "t", text: "Do.", tools: [toolOf(fails)] }] }).bind();
    const resources = [provide(key, new Fragile(fails))];
    const model = scriptedModel([{ toolCalls: [{ name: "change" }] }, { text: "Done." }]);
    const evaluate = () =>
      modelAdapter(model, environment)
        .evaluate(prompt, { resources, run: journal.run("r") })
        .then(
          ({ text }) => text,
          ({ code, message }: EvaluationFailure) => ({ code, message }),
        );
    const failed = await evaluate();
    expect(failed).toMatchObject({ code: "restore" });
    const { failure: replayed } = await replay(prompt, journal.replay("r"));
    expect(replayed).toMatchObject(failed as object);
    expect(await evaluate()).toEqual(failed);
    expect(model.callCount).toBe(2);
  });
});
