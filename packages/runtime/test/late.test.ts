import {
  allow,
  deadlineIn,
  definePolicy,
  definePrompt,
  defineTool,
  provideFactory,
  resourceKey,
  type Tool,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { promptWith, rejection } from "./support.ts";

/** Counts how often its handler began. */
function send(more: Partial<Tool> = {}): { readonly tool: Tool; begun: number } {
  const counting = { tool: undefined as unknown as Tool, begun: 0 };
  counting.tool = {
    ...defineTool({ name: "send", description: "Sends.", input: z.object({}), execute: () => (counting.begun += 1) }),
    ...more,
  };
  return counting;
}
const sending = () => scriptedModel([{ toolCalls: [{ name: "send" }] }, { text: "done" }]);

test("LIM-2 a handler does not begin after the deadline, though its policy allows it then", async () => {
  const environment = fakeEnvironment();
  const sends = send();
  const slow = definePolicy({
    name: "slow",
    async check() {
      await environment.clock.sleep(500);
      return allow();
    },
  });
  const evaluating = modelAdapter(sending(), environment).evaluate(promptWith(sends.tool), {
    policies: [slow],
    deadline: deadlineIn(100, environment.clock),
  });
  const rejected = rejection(evaluating);
  await environment.clock.advance(100);
  expect((await rejected).code).toBe("deadline");
  await environment.clock.advance(1_000);
  expect(sends.begun).toBe(0);
});

test("TX-3 a handler does not begin after its tool's own time, though its policy allows it then", async () => {
  const environment = fakeEnvironment();
  const sends = send({ timeoutMs: 100 });
  const slow = definePolicy({
    name: "slow",
    async check() {
      await environment.clock.sleep(500);
      return allow();
    },
  });
  const evaluating = modelAdapter(sending(), environment).evaluate(promptWith(sends.tool), { policies: [slow] });
  await environment.clock.advance(100);
  await evaluating;
  await environment.clock.advance(1_000);
  expect(sends.begun).toBe(0);
});

test.each(["tool.requested", "provider.requested"] as const)(
  "LIM-2 nothing begins after a listener of %s has aborted",
  async (type) => {
    const session = createSession();
    const controller = new AbortController();
    session.on(type, () => controller.abort());
    const sends = send();
    const model = sending();
    const evaluating = modelAdapter(model, fakeEnvironment()).evaluate(promptWith(sends.tool), {
      session,
      signal: controller.signal,
    });
    expect((await rejection(evaluating)).code).toBe("aborted");
    expect(sends.begun).toBe(0);
    expect(model.requests).toHaveLength(type === "tool.requested" ? 1 : 0);
  },
);

test("LIM-2 a section that opens waits for its resources no longer than the deadline", async () => {
  const environment = fakeEnvironment();
  const hanging = provideFactory(resourceKey<object>("Hanging"), () => new Promise<object>(() => {}), { eager: true });
  const prompt = definePrompt({
    ns: "tests",
    key: "opening",
    sections: [
      { key: "guide", text: "Work." },
      {
        key: "more",
        title: "More",
        text: "More.",
        summary: "more",
        visibility: "summary",
        tools: [send().tool],
        resources: [hanging],
      },
    ],
  }).bind();
  const opening = { name: "open_sections", arguments: { keys: ["more"], reason: "needed" } };
  const evaluating = modelAdapter(scriptedModel([{ toolCalls: [opening] }, { text: "done" }]), environment).evaluate(
    prompt,
    { deadline: deadlineIn(1_000, environment.clock) },
  );
  const rejected = rejection(evaluating);
  await environment.clock.advance(1_000);
  await environment.clock.advance(100);
  expect((await rejected).code).toBe("deadline");
});
