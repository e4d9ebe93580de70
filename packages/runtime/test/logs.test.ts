import { deadlineAt, definePrompt, type EvaluateOptions, type Prompt } from "@proviso/core";
import { createSession, modelAdapter, type Logger, type LogLevel } from "@proviso/runtime";
import { fakeClock, fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection, writes, writing } from "./support.ts";

type Level = LogLevel;
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
    "debug prompt.call.complete",
    "warn prompt.throttled",
    "debug prompt.call.start",
    "debug prompt.call.complete",
    "warn tool.rejected",
    "warn tool.failed",
    "warn tool.rejected",
    "debug prompt.call.start",
    "debug prompt.call.complete",
  ]);
  for (const { fields } of logger.entries) expect(fields).toMatchObject({ promptName: "tests/prompt", evaluationId });
  const calls = logger.entries.filter(({ message }) => message.startsWith("prompt.call."));
  expect(calls.map(({ fields: { turn, attempt } }) => [turn, attempt])).toEqual([
    [1, 1],
    [1, 1],
    [1, 2],
    [1, 2],
    [2, 1],
    [2, 1],
  ]);
  expect(calls[1]?.fields).toMatchObject({ error: "slow down", durationMs: expect.any(Number) });
  expect(calls[5]?.fields).toMatchObject({ usage: { estimated: false }, durationMs: expect.any(Number) });
  expect(logger.entries[4]?.fields).toMatchObject({ attempt: 1, kind: "rate_limit", retryAfterMs: 10 });
  expect(logger.entries[8]?.fields).toMatchObject({ tool: "write", callId: expect.any(String) });
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

test("EVT-4 every error that evaluate rejects with is one prompt.error in the log", async () => {
  const clock = fakeClock();
  const session = createSession();
  session.on("prompt.executed", () => {
    throw new Error("not today");
  });
  const unbindable = definePrompt({
    key: "odd",
    params: z.object({ x: z.any() }),
    text: "{{x}}" as string,
  }).bind({ x: {} });
  const cases: readonly (readonly [code: string, phase: string, Prompt, EvaluateOptions])[] = [
    ["deadline", "render", promptWith(), { deadline: deadlineAt(new Date(clock.now() - 1), clock) }],
    ["option", "render", promptWith(), { maxTurns: 0 }],
    ["render", "render", unbindable, {}],
    ["option", "render", undefined as never, {}],
    ["listener", "response", promptWith(), { session }],
    ["turns", "request", promptWith(writes), { maxTurns: 1 }],
  ];
  for (const [code, phase, prompt, options] of cases) {
    const logger = recordingLogger();
    const steps = code === "turns" ? [{ toolCalls: [writing("x")] }] : [{ text: "done" }];
    const error = await rejection(modelAdapter(scriptedModel(steps), { clock, logger }).evaluate(prompt, options));
    const promptName = prompt?.template.name ?? "(no prompt)";
    const errors = logger.entries.filter(({ message }) => message === "prompt.error");
    expect(errors, code).toMatchObject([{ level: "error", fields: { promptName, code, phase, error: error.message } }]);
  }
});

test("SEC-1 EVT-4 what is logged of an evaluation that could not begin shows no secret", async () => {
  const logger = recordingLogger();
  const adapter = modelAdapter(scriptedModel([]), { logger, secrets: ["sk-secret-1"] });
  await rejection(adapter.evaluate(promptWith(), { toolChoice: { tool: "sk-secret-1" } }));
  expect(logger.entries.at(-1)?.message).toBe("prompt.error");
  expect(JSON.stringify(logger.entries)).not.toContain("sk-secret-1");
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

test("LOG-1 each record of an evaluation names session, evaluation and prompt, and those of a request turn and attempt", async () => {
  const logger = recordingLogger();
  const environment = fakeEnvironment();
  const session = createSession();
  const model = scriptedModel([
    { failure: "throttle", kind: "rate_limit", message: "slow down", retryAfterMs: 10 },
    { toolCalls: [call("write", "{"), writing("x", "throw"), call("nope")] },
    { text: "done" },
  ]);
  const evaluating = modelAdapter(model, { ...environment, logger }).evaluate(promptWith(writes), { session });
  await environment.clock.advance(1_000);
  const { evaluationId } = await evaluating;
  expect(logger.entries).toHaveLength(12);
  for (const { fields } of logger.entries) {
    expect(fields).toMatchObject({ sessionId: session.id, evaluationId, promptName: "tests/prompt" });
  }
  for (const { message, fields } of logger.entries) {
    if (/^prompt\.(call|throttled)/.test(message)) {
      expect(fields, message).toMatchObject({ turn: expect.any(Number), attempt: expect.any(Number) });
    }
    if (message.startsWith("tool.")) {
      expect(fields, message).toMatchObject({ tool: expect.any(String), callId: expect.any(String) });
    }
  }
});

test("LOG-2 no record is made of a level that is off, and a logger that throws when asked changes nothing", async () => {
  const steps = [{ toolCalls: [writing("x", "throw")] }, { text: "done" }];
  const kept = async (isLevelEnabled: (level: LogLevel) => boolean): Promise<readonly string[]> => {
    const recording = recordingLogger();
    // As pino's: it needs its own object.
    const logger = {
      ...recording,
      isOn: isLevelEnabled,
      isLevelEnabled(level: LogLevel) {
        return this.isOn(level);
      },
    };
    const { output } = await modelAdapter(scriptedModel(steps), { logger }).evaluate(promptWith(writes));
    expect(output).toBe("done");
    return recording.entries.map(({ level }) => level);
  };
  expect(new Set(await kept(() => true))).toEqual(new Set(["debug", "warn"]));
  expect(new Set(await kept((level) => level !== "debug"))).toEqual(new Set(["warn"]));
  expect(await kept(() => false)).toEqual([]);
  const broken = (): never => {
    throw new Error("no levels");
  };
  expect(await kept(broken)).toEqual([]);
});
