import { deadlineIn, definePrompt } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "./support.ts";

test("LIM-2 LIM-9 after a schema that took longer than the deadline nothing begins any more", async () => {
  const slow = z.object({ a: z.number() }).refine(() => {
    const until = performance.now() + 150;
    while (performance.now() < until);
    return false;
  });
  const prompt = definePrompt({ ns: "tests", key: "slow", output: slow, text: "Answer." }).bind({});
  const model = scriptedModel([{ output: { a: 1 } }, { output: { a: 1 } }]);
  const options = { maxRepairs: 1, deadline: deadlineIn(100) };
  const error = await rejection(modelAdapter(model).evaluate(prompt, options));
  expect([error["code"], model.callCount]).toEqual(["deadline", 1]);
});
