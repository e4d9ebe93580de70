import { createSession } from "@proviso/runtime";
import { fakeClock, recordEvents } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { failureOf, hello } from "./support/command.ts";
import { startScriptedCommand } from "./support/scripted-command.ts";

const settings = { apiKey: "sk-process-0123456789", random: () => 0 };

test("CMD-9 one adapter for several evaluations: a failure of one is in no other, and can be gone on with", async () => {
  const script = [{ text: "Hello." }, { status: 400, body: "Out of place." }, { text: "Good day." }];
  const { adapter, requests, close } = await startScriptedCommand(script, settings);
  expect((await adapter.evaluate(hello)).output).toBe("Hello.");
  const error = await failureOf(adapter.evaluate(hello));
  expect(error).toMatchObject({ code: "process", exitCode: 1, providerPayload: { stdout: "" } });
  expect(JSON.stringify(error.providerPayload)).toContain("Out of place.");
  expect((await adapter.evaluate(hello, { messages: error.messages })).output).toBe("Good day.");
  expect(requests().map(({ messages }) => messages.length)).toEqual([1, 1, 2]);
  await close();
});

test("CMD-6 a request that timed out is asked again, with a process of its own", async () => {
  const script = [{ text: "Hello.", fault: "hang" }] as const;
  const clock = fakeClock();
  const { adapter, requests, close } = await startScriptedCommand(script, { ...settings, clock, timeoutMs: 60_000 });
  const session = createSession();
  const events = recordEvents(session);
  const asked = adapter.evaluate(hello, { session });
  await expect.poll(() => requests().length).toBe(1);
  await clock.advance(60_000);
  await expect.poll(() => events.some(({ type }) => type === "provider.throttled")).toBe(true);
  // The wait before the next request is shorter than its timeout.
  await clock.advance(30_000);
  expect((await asked).output).toBe("Hello.");
  expect(events.filter(({ type }) => type === "provider.throttled")).toMatchObject([{ kind: "timeout", attempt: 1 }]);
  expect(requests()).toHaveLength(2);
  await close();
});
