import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  linkedFile,
  toolOk,
  uploadedFile,
  type ModelResponse,
} from "@proviso/core";
import { isFrameworkEventType } from "@proviso/core/internal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../support.ts";
import { printed, recordingLogger } from "./support.ts";

const queried = defineEvent("postgres.queried", z.object({ postgres: z.string() }));
const postgres = defineTool({
  name: "postgres",
  description: "Asks a database.",
  input: z.object({ sql: z.string() }),
  execute({ sql }, { session }) {
    session.dispatch(queried({ postgres: sql }));
    if (sql === "fail") throw new Error("postgres is away");
    return { rows: [`postgres:${sql}`] };
  },
});
const calls = defineSlice({
  name: "calls",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(postgres, (draft, { name, result }) => void draft.push(`${name} ${result.success}`));
    on(queried, (draft, { type, postgres: sql }) => void draft.push(`${type} ${sql}`));
  },
});
const prompt = definePrompt({
  ns: "postgres",
  key: "executed",
  sections: [{ key: "rendered", text: "Ask postgres.", tools: [postgres], slices: [calls] }],
}).bind();
const calling = (sql: string): ScriptedStep => ({
  toolCalls: [{ name: "postgres", arguments: { sql }, id: "call-postgres" }],
});

/** Fields of events that hold texts and data. */
const values = new Set(["params", "result", "output", "arguments", "reason", "text", "message", "postgres"]);
/** Words that the framework uses itself, and names and ids of this prompt. */
const words = [
  "postgres",
  ..."executed tool invoked requested text type name params result value success rawArguments callId".split(" "),
  ..."assistant role error provider unknown request stop promptName evaluationId sk-call message".split(" "),
];

test("SEC-4 with a tool's name as a secret its events keep it: slices and listeners go on to receive its calls", async () => {
  const session = createSession();
  const heard: string[] = [];
  session.on(postgres, ({ name }) => void heard.push(name));
  const model = scriptedModel([calling("select postgres"), { text: "postgres has it" }]);
  await modelAdapter(model, { secrets: ["postgres"] }).evaluate(prompt, { session });
  expect(heard).toEqual(["postgres"]);
  expect(session.get(calls)).toEqual(["postgres.queried select [secret]", "postgres true"]);
});

test("SEC-4 a secret that is a word of ours changes no type, name, id or key of ours, only texts", async () => {
  const run = async (secrets: readonly string[]) => {
    const session = createSession({ id: "session" });
    const events = recordEvents(session);
    const logger = recordingLogger();
    const environment = fakeEnvironment();
    const model = scriptedModel([
      calling("select"),
      calling("fail"),
      { toolCalls: [{ name: "postgres", arguments: "{", id: "call-postgres" }] },
      { failure: "provider", reason: "unknown", message: "no" },
    ]);
    const adapter = modelAdapter(model, { ...environment, logger, secrets });
    const error = await rejection(adapter.evaluate(prompt, { session }));
    return { events, error, logs: logger.records as readonly Record<string, unknown>[] };
  };
  const plain = await run([]);
  const redacted = await run(words);
  const shapeOf = (value: object) => Object.keys(value);
  const structure = ({ events, error, logs }: typeof plain) => ({
    events: events.map((event) => {
      const { params, result } = event as unknown as Record<string, object | undefined>;
      const rejected = params !== undefined && "rawArguments" in params ? shapeOf(params) : [];
      const kept = Object.entries(event).filter(([key]) => !values.has(key));
      return { kept, keys: shapeOf(event), rejected, result: result && shapeOf(result) };
    }),
    error: [error["code"], error["phase"], error["reason"], error["promptName"]],
    messages: (error["messages"] as readonly Record<string, unknown>[]).map(({ role, callId, name, toolCalls }) => {
      const ids = (toolCalls as readonly Record<string, unknown>[] | undefined)?.map((call) => [
        call["id"],
        call["name"],
      ]);
      return { role, callId, name, ids };
    }),
    logs: logs.map(({ error: _, err: _err, stack: _stack, ...fields }) => fields),
  });
  expect(structure(redacted)).toEqual(structure(plain));
  expect(redacted.events.filter(({ type }) => isFrameworkEventType(type)).length).toBeGreaterThan(10);
  expect(printed(redacted.events)).toContain("[secret]:select");
});

test("SEC-4 messages of an error can be given to the next evaluation, whatever word is a secret", async () => {
  const model = scriptedModel([
    calling("select"),
    { failure: "provider", reason: "unknown", message: "no" },
    { text: "done" },
  ]);
  const adapter = modelAdapter(model, { secrets: words });
  const error = await rejection(adapter.evaluate(prompt));
  expect(error).toMatchObject({
    code: "provider",
    messages: [{ role: "user" }, { role: "assistant" }, { role: "tool" }],
  });
  const { text } = await adapter.evaluate(prompt, { messages: error["messages"] as never });
  expect(text).toBe("done");
});

test("SEC-4 the name of a tool that a model invents is a text: a secret in it is hidden", async () => {
  const key = "sk-invented-0123";
  const session = createSession();
  const events = recordEvents(session);
  const logger = recordingLogger();
  const model = scriptedModel([
    { toolCalls: [{ name: key, arguments: {} }] },
    { failure: "provider", reason: "unknown", message: "no" },
  ]);
  const error = await rejection(modelAdapter(model, { logger, secrets: [key] }).evaluate(prompt, { session }));
  expect(events.find(({ type }) => type === "tool.invoked")).toMatchObject({ name: "[secret]" });
  for (const shown of [events, logger.records, error]) expect(printed(shown)).not.toContain(key);
});

test("SEC-1 TOOL-16 what a tool threw is shown to listeners and the log without a secret", async () => {
  const key = "sk-thrown-0123456789";
  const session = createSession();
  const logger = recordingLogger();
  const causes: unknown[] = [];
  session.on("tool.invoked", ({ cause }) => void causes.push(cause));
  const failing = defineTool({
    name: "fail",
    description: "Fails.",
    input: z.object({}),
    execute() {
      throw new Error(`401 for ${key}`, { cause: new Error(key) });
    },
  });
  const own = definePrompt({ key: "p", sections: [{ key: "a", text: "Fail.", tools: [failing] }] }).bind();
  const model = scriptedModel([{ toolCalls: [{ name: "fail" }] }, { text: "done" }]);
  const { toolResults } = await modelAdapter(model, { logger, secrets: [key] }).evaluate(own, { session });
  expect(causes[0]).toBeInstanceOf(Error);
  expect((causes[0] as Error).stack).toContain("structure.test.ts");
  for (const shown of [causes, toolResults[0]?.cause, logger.records]) expect(printed(shown)).not.toContain(key);
});

test("SEC-1 the model, the tier and the files that a wire or a tool names show no secret", async () => {
  const secret = "sk-live-1234567890";
  const tool = defineTool({
    name: "draw",
    description: "Draws.",
    input: z.object({}),
    execute: () =>
      toolOk("done", {
        files: [
          linkedFile(`https://h.example/a.png?key=${secret}`, { mediaType: "image/png", name: `${secret}.png` }),
          uploadedFile({ openai: secret }, { mediaType: "image/png", name: "b.png" }),
        ],
      }),
  });
  const asking = definePrompt({ key: "p", sections: [{ key: "s", text: "Draw.", tools: [tool] }] }).bind();
  const session = createSession();
  const events = recordEvents(session);
  const model = scriptedModel([{ toolCalls: [{ name: "draw" }] }, { text: "done" }]);
  const provider: typeof model = {
    ...model,
    generate: async (request) => ({
      ...((await model.generate(request)) as ModelResponse),
      model: `m-${secret}`,
      serviceTier: secret,
    }),
  };
  await modelAdapter(provider, { ...fakeEnvironment(), secrets: [secret] }).evaluate(asking, { session });
  const shown = events.filter(({ type }) => type === "provider.responded" || type === "tool.invoked");
  expect(shown).toMatchObject([
    { model: "m-[secret]", serviceTier: "[secret]" },
    {
      result: {
        files: [{ url: "https://h.example/a.png?key=[secret]", name: "[secret].png" }, { ids: { openai: "[secret]" } }],
      },
    },
    {},
  ]);
  expect(printed(shown)).not.toContain(secret);
});
