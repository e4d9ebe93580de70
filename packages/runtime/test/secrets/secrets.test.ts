import { inspect } from "node:util";
import {
  DefinitionError,
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  type Prompt,
  type PromptResponse,
  type ProviderAdapter,
  type ToolContext,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "../support.ts";

const secret = "sk-very-secret-1234";
const told = defineEvent("told", z.object({ text: z.string() }));
const tellings = defineSlice({
  name: "tellings",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(told, (draft, { text }) => void draft.push(text)),
});
const tell = defineTool({
  name: "tell",
  description: "Tells.",
  input: z.object({ text: z.string(), fail: z.boolean().default(false) }),
  execute({ text, fail }, { session }) {
    session.dispatch(told({ text }));
    if (fail) throw new Error(`failed with ${text}`);
    return { [text]: [text] };
  },
});
const prompt = definePrompt({
  ns: "tests",
  key: "secret",
  params: z.object({ key: z.string() }),
  sections: [{ key: "ask", text: "The key is {{key}}.", tools: [tell], slices: [tellings] }],
}).bind({ key: secret });

const telling = (fail: boolean): ScriptedStep => ({
  text: `I tell ${secret}`,
  toolCalls: [{ name: "tell", arguments: { text: `it is ${secret}!`, fail } }],
});

/** Everything that an evaluation tells of itself, as one text. */
async function everything(steps: readonly ScriptedStep[]): Promise<string> {
  const session = createSession();
  const events = recordEvents(session);
  const logs: unknown[] = [];
  const log = (...parts: unknown[]): void => void logs.push(parts);
  const adapter = modelAdapter(scriptedModel(steps), {
    ...fakeEnvironment(),
    secrets: [secret],
    logger: { debug: log, info: log, warn: log, error: log },
  });
  const error = await adapter.evaluate(prompt, { session }).then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  const shown = error && [
    error.message,
    error.stack,
    Object.entries(error),
    String(error.cause),
    (error.cause as Error)?.stack,
  ];
  return JSON.stringify([events, logs, session.get(tellings), shown ?? "no error"]);
}

test.each([
  ["a good one", [telling(false), { text: `done with ${secret}` }]],
  ["a failed call", [telling(true), { text: "done" }]],
  [
    "a refusal",
    [telling(false), { failure: "provider", reason: "unknown", message: secret, payload: { [secret]: [secret] } }],
  ],
  ["an error of the network", [{ error: new Error(`401 for ${secret}`, { cause: new Error(secret) }) }]],
  ["a bad answer", [telling(false), { text: "" }]],
] as const)("SEC-1 a registered secret is in no event, error, log or state of %s", async (_, steps) => {
  const text = await everything(steps as readonly ScriptedStep[]);
  expect(text).not.toContain(secret);
  expect(text).toContain("[secret]");
});

test("SEC-1 the model still reads it: what is sent is what was bound", async () => {
  const model = scriptedModel([{ text: "done" }]);
  await modelAdapter(model, { secrets: [secret] }).evaluate(prompt);
  expect(model.requests[0]?.messages[0]?.text).toContain(secret);
});

test("SEC-1 of two secrets where one begins with the other, the longer one goes whole", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const adapter = modelAdapter(scriptedModel([{ text: "abc and abcdef" }]), { secrets: ["abc", "abcdef"] });
  await adapter.evaluate(prompt, { session });
  expect(events.find(({ type }) => type === "prompt.executed")).toMatchObject({ text: "[secret] and [secret]" });
});

test("SEC-1 a secret of several lines, with quotes, is in no raw arguments either", async () => {
  const pem = '-----BEGIN KEY-----\nquoted"mark\\slash\n-----END KEY-----\n';
  const session = createSession();
  const events = recordEvents(session);
  const raw = JSON.stringify({ text: `it is ${pem}` });
  const calls = [raw, raw.slice(0, -1), JSON.stringify({ text: raw }), JSON.stringify({ text: "", [pem]: 1 })];
  const model = scriptedModel([
    { toolCalls: calls.map((given) => ({ name: "tell", arguments: given })) },
    { text: pem },
  ]);
  await modelAdapter(model, { secrets: [pem] }).evaluate(prompt, { session });
  expect(events.length).toBeGreaterThan(10);
  expect(JSON.stringify(events)).not.toMatch(/BEGIN KEY|quoted|mark|slash/);
});

test("SEC-1 an empty secret is refused when the adapter is made", () => {
  for (const secrets of [[""], [undefined as never]]) {
    expect(() => modelAdapter(scriptedModel([]), { secrets })).toThrow(DefinitionError);
  }
});

test("ERR-1 an error's cause stays the very object where no secret is in it", async () => {
  const cause = new Error("socket closed");
  const error = await rejection(
    modelAdapter(scriptedModel([{ error: cause }]), { secrets: [secret] }).evaluate(prompt),
  );
  expect(error.cause).toBe(cause);
});

class RequestHeaders {
  readonly authorization = `Bearer ${secret}`;
}

test.each([
  ["in an object of its own", Object.assign(new Error("refused"), { request: { headers: new RequestHeaders() } })],
  ["in a cause that is no error", new Error("refused", { cause: new RequestHeaders() })],
  ["in one of several errors", new AggregateError([new Error(`401 for ${secret}`)], "refused")],
])("SEC-1 an error that carries a secret %s gives way to one that does not", async (_, cause) => {
  const adapter = modelAdapter(scriptedModel([{ error: cause }]), { secrets: [secret] });
  const error = await rejection(adapter.evaluate(prompt));
  expect(error.cause).toMatchObject({ message: "refused" });
  expect(inspect(error.cause, { depth: null })).not.toContain(secret);
});

test.each([
  ["returns", false],
  ["throws", true],
])("SEC-1 evaluations inside each other hide the secrets of all, also what a handler %s of them", async (_, fails) => {
  const keys = ["outer-key-1234567890", "middle-key-1234567890", "inner-key-1234567890"] as const;
  const logs: unknown[] = [];
  const log = (...parts: unknown[]): void => void logs.push(parts);
  const logger = { debug: log, info: log, warn: log, error: log };
  const answer: ScriptedStep = { text: keys.join(" ") };
  const adapterOf = (steps: readonly ScriptedStep[], own: string): ProviderAdapter =>
    modelAdapter(scriptedModel(steps), { ...fakeEnvironment(), logger, secrets: [own] });
  const asking = (evaluate: (context: ToolContext) => Promise<PromptResponse<string>>): Prompt<string> => {
    const ask = defineTool({
      name: "ask",
      description: "Asks.",
      input: z.object({ question: z.string() }),
      async execute(__, context) {
        const { output } = await evaluate(context);
        if (fails) throw new Error(output);
        return output;
      },
    });
    return definePrompt({ key: "asking", sections: [{ key: "ask", text: "Ask.", tools: [ask] }] }).bind();
  };
  const calling = (...known: readonly string[]): ScriptedStep => ({
    toolCalls: [{ name: "ask", arguments: { question: known.join(" ") } }],
  });
  const inner = adapterOf([answer], keys[2]);
  const middle = adapterOf([calling(keys[0], keys[1]), answer], keys[1]);
  const outer = adapterOf([calling(keys[0]), answer], keys[0]);
  const prompt = asking((context) =>
    context.evaluate(
      asking((within) => within.evaluate(`What are ${keys.join(" ")}?`, { adapter: inner })),
      { adapter: middle },
    ),
  );
  const session = createSession();
  const events = recordEvents(session);
  const { output } = await outer.evaluate(prompt, { session });
  expect(output).toBe(keys.join(" "));
  const shown = JSON.stringify([events, logs]);
  expect(events.filter(({ type }) => type === "prompt.executed")).toHaveLength(3);
  for (const key of keys) expect(shown).not.toContain(key);
});

test.each([
  ["PHP's rawurlencode", "pa%2Fss%21wo%2Ard%2899%29%7Cx%5Ey%20z"],
  ["Python's quote", "pa/ss%21wo%2Ard%2899%29%7Cx%5Ey%20z"],
  ["a path of the URL Standard", new URL("http://h/pa/ss!wo*rd(99)|x^y z").href],
  ["a query of the URL Standard", new URL("http://h/?key=pa/ss!wo*rd(99)|x^y z").href],
  ["a fragment of the URL Standard", new URL("http://h/#pa/ss!wo*rd(99)|x^y z").href],
  ["small letters in its escapes", "pa%2fss%21wo%2ard%2899%29%7cx%5ey%20z"],
  ["base64 in an address", encodeURIComponent(Buffer.from("pa/ss!wo*rd(99)|x^y z???>>>").toString("base64"))],
  [
    "base64 in JSON that escapes slashes",
    Buffer.from("pa/ss!wo*rd(99)|x^y z???>>>").toString("base64").replaceAll("/", "\\/"),
  ],
])("SEC-1 a secret is recognised as %s writes it", async (_, shown) => {
  const leak = defineTool({
    name: "leak",
    description: "Leaks.",
    input: z.object({}),
    execute() {
      throw new Error(`GET ${shown} failed`);
    },
  });
  const leaking = definePrompt({ key: "leak", sections: [{ key: "task", text: "Go.", tools: [leak] }] }).bind();
  const secrets = ["pa/ss!wo*rd(99)|x^y z", "pa/ss!wo*rd(99)|x^y z???>>>"];
  const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "leak" }] }, { text: "ok" }]), { secrets });
  const { toolResults } = await adapter.evaluate(leaking);
  expect(toolResults[0]?.result.message).toContain("[secret]");
  expect(toolResults[0]?.result.message).not.toContain(shown.slice(-12));
});

test.each([
  ["Go's encoding/json", "it's&that/4711", String.raw`it's\u0026that/4711`],
  ["PHP's json_encode", "schlüssel/4711", String.raw`schl\u00fcssel\/4711`],
  ["PHP's json_encode with its flags for pages", "it's&that/4711", String.raw`it\u0027s\u0026that\/4711`],
])("SEC-1 a secret in the JSON of %s is recognised", async (_, secret, shown) => {
  const failure = { failure: "provider", reason: "bad_request", message: `no such key {"key":"${shown}"}` } as const;
  const adapter = modelAdapter(scriptedModel([failure]), { secrets: [secret] });
  const error = await rejection(adapter.evaluate("Hi"));
  expect(error.message).toContain('{"key":"[secret]"}');
});
