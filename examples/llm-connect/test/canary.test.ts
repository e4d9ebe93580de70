import { inspect } from "node:util";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { openai } from "@proviso/adapter-openai";
import { commandLine } from "@proviso/adapter-process";
import { defineEvent, definePrompt, defineSlice, defineTool, type Prompt, type ProviderAdapter } from "@proviso/core";
import { createSession, type AdapterOptions } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import { startSimulator, type SimulatorStep } from "@proviso/simulator";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";

vi.setConfig({ testTimeout: 300_000 });
afterEach(() => vi.unstubAllEnvs());

/** With what JSON, addresses and base64 write in ways of their own. */
const canary = 'cnry/9f+Q=7"zebra and two more';
const keyed = "cnry/9f+Q=7-header-0123";
/** Without the letters at the ends, which base64 mixes with their neighbours. */
const shortened = (text: string): string => text.slice(6, -3);
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Ways in which a text may write it. */
function written(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const texts = [
    secret,
    json,
    JSON.stringify(json).slice(1, -1),
    encodeURIComponent(secret),
    encodeURI(secret),
    new URLSearchParams({ "": secret }).toString().slice(1),
    base64(secret),
    base64(`u:${secret}`),
    base64(`us:${secret}`),
    Buffer.from(secret).toString("base64url"),
  ];
  return [...new Set(texts)];
}
const allWritten = [...written(canary), ...written(keyed)];
/** What may be in no text at all. */
const forbidden = allWritten.map(shortened);

const noted = defineEvent("noted", z.object({ text: z.string(), more: z.any() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly unknown[],
  reducers: ({ on }) => on(noted, (draft, { text, more }) => void draft.push({ text, more })),
});
const note = defineTool({
  name: "note",
  description: "Keeps a note.",
  input: z.object({ text: z.string(), fail: z.boolean().default(false) }),
  execute({ text, fail }, { session }) {
    session.dispatch(noted({ text, more: { [text]: new Map([[text, new Set(allWritten)]]) } }));
    if (fail) throw new Error(`not ${text}`, { cause: new Headers({ authorization: encodeURIComponent(text) }) });
    return { [text]: [text] };
  },
});
const params = z.object({ key: z.string() });
const sections = [{ key: "ask", text: "The key is {{key}}.", tools: [note], slices: [notes] }] as const;
const talk: Prompt<unknown> = definePrompt({ key: "canary", params, sections }).bind({ key: canary });
const structured: Prompt<unknown> = definePrompt({
  key: "canary",
  params,
  sections,
  output: z.object({ text: z.string() }),
}).bind({ key: canary });

const said = `It is ${allWritten.join(" or ")}.`;
const call = (text: string, fail = false): SimulatorStep => ({
  text: said,
  toolCalls: [{ name: "note", arguments: { text, fail } }],
  chunkCharacters: 3,
});
const refusing = (status: number): SimulatorStep => ({
  status,
  headers: { "x-echo": encodeURIComponent(canary) },
  body: { error: { message: said, type: canary, code: null, param: { [canary]: allWritten } } },
});

/** What the service does, by name. */
const scenarios: readonly (readonly [string, readonly SimulatorStep[], Prompt<unknown>])[] = [
  ["answers", [call(canary), call(keyed, true), { text: said, chunkCharacters: 3 }], talk],
  ["answers in a schema", [call(canary), { output: { text: said }, chunkCharacters: 3 }], structured],
  ["answers in no schema", [{ output: { wrong: said }, chunkCharacters: 3 }], structured],
  ["calls what is no tool", [{ toolCalls: [{ name: "cnry", arguments: `{"a":"${said}` }] }, { text: said }], talk],
  ["refuses the key", [refusing(401)], talk],
  ["refuses the request", [refusing(400)], talk],
  ["is overloaded", [refusing(503)], talk],
  ["sends what is no JSON", [{ status: 200, body: `<html>${said}</html>` }], talk],
  ["refuses to answer", [{ refusal: said }], talk],
];

const options = (more: object) =>
  ({ throttle: { maxAttempts: 1 }, secrets: [canary], ...more }) satisfies AdapterOptions;
const headers = { "x-gateway-key": keyed };

const services: readonly (readonly [string, (baseURL: string, more: object) => ProviderAdapter])[] = [
  ...(["responses", "chat"] as const).map(
    (api) =>
      [
        `openai, ${api}`,
        (baseURL: string, more: object) =>
          openai({ model: "m", api, apiKey: `${keyed}\n`, baseURL, headers, ...options(more) }),
      ] as const,
  ),
  [
    "aiSdk",
    (baseURL, more) =>
      aiSdk({ model: createOpenAICompatible({ name: "here", apiKey: "x", baseURL })("m"), headers, ...options(more) }),
  ],
  ["litellm", (baseURL, more) => litellm({ model: "m", apiKey: keyed, baseURL, headers, ...options(more) })],
];

/** Fails where any text that a value shows, however it is looked at, holds the canary. */
function assertSilent(what: string, value: unknown): void {
  const texts = [inspect(value, { depth: null, maxStringLength: null, maxArrayLength: null }), String(value)];
  texts.push(JSON.stringify(value) ?? "");
  for (const text of texts) {
    for (const each of forbidden) {
      const at = text.indexOf(each);
      if (at !== -1) throw new Error(`${what} shows the canary: …${text.slice(Math.max(0, at - 80), at + 40)}…`);
    }
  }
}

/** Everything that an evaluation shows, in one call and streamed. The answer itself is the caller's, as it came. */
async function assertNothingShown(
  adapterWith: (more: object) => ProviderAdapter,
  prompt: Prompt<unknown>,
): Promise<string> {
  const logs: unknown[] = [];
  const log = (...record: readonly unknown[]): void => void logs.push(record);
  const adapter = adapterWith({ logger: { debug: log, info: log, warn: log, error: log } });
  const session = createSession();
  const events = recordEvents(session);
  const error = await adapter.evaluate(prompt, { session }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const parts: unknown[] = [];
  let told = "";
  const stream = adapter.stream(prompt, { session: createSession() });
  const failed = await (async () => {
    for await (const event of stream) {
      parts.push(event);
      if (event.type === "text.delta") told += event.text;
    }
  })().catch((thrown: unknown) => thrown);
  const shown = { events, logs, error, state: session.get(notes), saved: saved(session), parts, told, failed };
  for (const [what, value] of Object.entries(shown)) assertSilent(what, value);
  expect(events.length + parts.length).toBeGreaterThan(3);
  return inspect(shown, { depth: null });
}

/** A Map in a slice is no JSON. */
function saved(session: ReturnType<typeof createSession>): unknown {
  try {
    return session.toJSON();
  } catch (error) {
    return error;
  }
}

describe.each(services)("%s", (_, adapterAt) => {
  test.each(scenarios)(
    "SEC-1 a canary is in nothing that is shown when the service %s",
    async (_name, steps, prompt) => {
      await using simulator = await startSimulator({ steps: [...steps, ...steps] });
      const shown = await assertNothingShown((more) => adapterAt(simulator.baseURL, more), prompt);
      expect(shown).toContain("[secret]");
    },
  );
});

/** Prints what it was given: a variable, an argument. */
const program = `
  const prompt = require("node:fs").readFileSync(0, "utf8");
  const said = process.env.CNRY_TOKEN + " or " + process.env.CNRY_ADDRESS + " or " + process.argv.slice(1).join(" or ") + " or " + prompt;
  const answers = {
    text: () => process.stdout.write(said),
    json: () => process.stdout.write(JSON.stringify({ text: said })),
    call: () => prompt.includes("<tool-result")
      ? process.stdout.write(said)
      : process.stdout.write(JSON.stringify({ toolCalls: [{ name: "note", arguments: { text: process.env.CNRY_TOKEN } }] })),
    exit: () => { process.stderr.write(said); process.exit(3); },
    garbage: () => process.stdout.write('{"text": "' + said),
  };
  answers[process.argv[1]]();
`;

describe("commandLine", () => {
  const adapterDoing =
    (what: string, command = process.execPath) =>
    (more: object) =>
      commandLine({
        command,
        args: ["-e", program, what, `--api-key=${keyed}`],
        env: ["CNRY_TOKEN", "CNRY_ADDRESS"],
        throttle: { maxAttempts: 1 },
        secrets: [canary],
        ...more,
      });

  test.each(["text", "json", "call", "exit", "garbage"])(
    "SEC-1 a canary is in nothing that is shown when the command does: %s",
    async (what) => {
      vi.stubEnv("CNRY_TOKEN", `${keyed}\n`);
      vi.stubEnv("CNRY_ADDRESS", `postgres://user:${encodeURIComponent(keyed)}@host/db`);
      const shown = await assertNothingShown(adapterDoing(what), what === "call" ? talk : plain);
      expect(shown).toContain("[secret]");
    },
  );

  test("SEC-1 a canary is in nothing that is shown when the command cannot be started", async () => {
    await assertNothingShown(adapterDoing("text", "/no/such/command"), plain);
  });
});

const plain: Prompt<unknown> = definePrompt({ key: "canary", params, text: "The key is {{key}}." }).bind({
  key: canary,
});
