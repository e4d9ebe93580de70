import { modelAdapter, type Logger } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { call, promptWith, rejection, writes, writing } from "./support.ts";

type Level = keyof Logger;
interface Entry {
  readonly level: Level;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

function recordingLogger(): Logger & { readonly entries: Entry[] } {
  const entries: Entry[] = [];
  const log = (level: Level) => (fields: object, message: string) =>
    void entries.push({ level, message, fields: { ...fields } });
  return { entries, debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
}

test("EVT-4 an evaluation logs its steps as structured records, each with the prompt and the evaluation", async () => {
  const logger = recordingLogger();
  const environment = fakeEnvironment();
  const model = scriptedModel([
    { failure: "throttle", kind: "rate_limit", message: "slow down", retryAfterMs: 10 },
    { toolCalls: [call("write", "{"), writing("x", "throw"), call("nope")] },
    { text: "done" },
  ]);
  const evaluating = modelAdapter(model, { ...environment, logger }).evaluate(promptWith(writes));
  await environment.clock.advance(1_000);
  const { evaluationId } = await evaluating;
  expect(logger.entries.map(({ level, message }) => `${level} ${message}`)).toEqual([
    "debug prompt.render.start",
    "debug prompt.render.complete",
    "debug prompt.call.start",
    "warn prompt.throttled",
    "warn tool.rejected",
    "warn tool.failed",
    "warn tool.rejected",
    "debug prompt.call.complete",
  ]);
  for (const { fields } of logger.entries) expect(fields).toMatchObject({ promptName: "tests/prompt", evaluationId });
  expect(logger.entries[3]?.fields).toMatchObject({ attempt: 1, kind: "rate_limit", retryAfterMs: 10 });
  expect(logger.entries[5]?.fields).toMatchObject({ tool: "write", callId: expect.any(String) });
});

test("EVT-4 a failed evaluation is logged at error level with its code and phase", async () => {
  const logger = recordingLogger();
  const model = scriptedModel([{ failure: "provider", reason: "api_key", message: "no" }]);
  await rejection(modelAdapter(model, { logger }).evaluate(promptWith()));
  expect(logger.entries.at(-1)).toMatchObject({
    level: "error",
    message: "prompt.error",
    fields: { code: "provider", phase: "request" },
  });
});

test("EVT-4 console is a logger, and one that throws changes nothing", async () => {
  const broken = (): never => {
    throw new Error("disk full");
  };
  const loggers: readonly Logger[] = [console, { debug: broken, info: broken, warn: broken, error: broken }];
  const { debug } = console;
  console.debug = () => {};
  try {
    for (const logger of loggers) {
      const { output } = await modelAdapter(scriptedModel([{ text: "done" }]), { logger }).evaluate(promptWith());
      expect(output).toBe("done");
    }
  } finally {
    console.debug = debug;
  }
});

test("SEC-3 EVT-4 a logger whose promise rejects changes nothing, and nothing is left unhandled", async () => {
  const rejections: unknown[] = [];
  const hear = (reason: unknown): void => void rejections.push(reason);
  const fails = async (): Promise<void> => {
    throw new Error("disk full");
  };
  const thenable = (): object => ({
    then: (_: unknown, reject: (error: Error) => void) => reject(new Error("disk full")),
  });
  process.on("unhandledRejection", hear);
  try {
    for (const log of [fails, thenable]) {
      const logger = { debug: log, info: log, warn: log, error: log } as unknown as Logger;
      const { output } = await modelAdapter(scriptedModel([{ text: "done" }]), { logger }).evaluate(promptWith());
      expect(output).toBe("done");
    }
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", hear);
  }
  expect(rejections).toEqual([]);
});
