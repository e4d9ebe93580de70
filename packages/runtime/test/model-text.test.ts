import { deadlineIn, definePrompt, defineTool } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "./support.ts";

test("LIM-2 LIM-9 after a schema that took longer than the deadline nothing begins any more", async () => {
  let now = 0;
  // Its timers never fire: a schema that takes long keeps them from that, too.
  const clock = { now: () => now, sleep: () => new Promise<void>(() => {}) };
  const slow = z.object({ a: z.number() }).refine(() => {
    now += 150;
    return false;
  });
  const prompt = definePrompt({ ns: "tests", key: "slow", output: slow, text: "Answer." }).bind({});
  const model = scriptedModel([{ output: { a: 1 } }, { output: { a: 1 } }]);
  const options = { maxRepairs: 1, deadline: deadlineIn(100, clock) };
  const error = await rejection(modelAdapter(model, { clock }).evaluate(prompt, options));
  expect([error["code"], model.callCount]).toEqual(["deadline", 1]);
});

test.each(["readOnly", "uses: []", "neither"])(
  "LIM-2 LIM-9 after the deadline the arguments of no further call are validated, of tools with %s",
  async (kind) => {
    let [now, validated] = [0, 0];
    // Its timers never fire: a schema that takes long keeps them from that, too.
    const clock = { now: () => now, sleep: () => new Promise<void>(() => {}) };
    const input = z.object({ text: z.string() }).refine(() => {
      validated += 1;
      now += 100;
      return true;
    });
    const options = kind === "readOnly" ? { readOnly: true } : kind === "uses: []" ? { uses: [] } : {};
    const tool = defineTool({ name: "note", description: "Notes.", input, ...options, execute: () => "noted" });
    const prompt = definePrompt({ key: "many", sections: [{ key: "task", text: "Note.", tools: [tool] }] }).bind();
    const calls = Array.from({ length: 50 }, () => ({ name: "note", arguments: { text: "a" } }));
    const adapter = modelAdapter(scriptedModel([{ toolCalls: calls }]), { clock });
    const session = createSession();
    const deadline = deadlineIn(250, clock);
    const error = await rejection(adapter.evaluate(prompt, { deadline, session }));
    expect(error["code"]).toBe("deadline");
    expect(validated).toBe(3);
  },
);
