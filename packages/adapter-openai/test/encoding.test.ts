import type { JsonSchema, Message } from "@proviso/core";
import type { ToolSpec } from "@proviso/core/provider";
import { openaiModel } from "@proviso/adapter-openai";
import { answerOf, lookUp, requestOf } from "@proviso/fault-matrix/requests";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import fc from "fast-check";
import { OpenAI } from "openai";
import { afterEach, expect, test, vi } from "vitest";
import type { CheckedOptions } from "../src/options.ts";
import { chatFormat } from "../src/to-chat.ts";
import { responsesFormat } from "../src/to-responses.ts";
import { fixture } from "./support/fixture.ts";
import { asSent } from "./support/bodies.ts";
import { anyCharacter } from "../../core/test/support/any-character.ts";

const formats = [
  { api: "responses", format: responsesFormat() },
  { api: "chat", format: chatFormat() },
] as const;

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom("", '"', "\\", "\u2028", "\ud800"),
);
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constantFrom("system" as const, "user" as const), text }),
  fc.record({
    role: fc.constant("assistant" as const),
    text,
    toolCalls: fc.array(fc.record({ id: text, name: text, arguments: text }), { maxLength: 3 }),
  }),
  fc.record({ role: fc.constant("tool" as const), callId: text, name: text, text, isError: fc.boolean() }),
);
const schema: fc.Arbitrary<JsonSchema> = fc.constantFrom(lookUp.inputSchema, { type: "object" }, { type: "object" });
const tool: fc.Arbitrary<ToolSpec> = fc.record({ name: text, description: text, inputSchema: schema });
const settings = fc.record(
  {
    temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
    store: fc.boolean(),
    extraBody: fc.dictionary(
      fc.constantFrom("input", "messages", "tools", "metadata", "model"),
      fc.oneof(fc.jsonValue(), fc.constant(undefined)),
    ),
  },
  { requiredKeys: [] },
);

test.each(formats)("OAI-4 the JSON of $api says what the object says, request after request", ({ api, format }) => {
  const turns = fc.array(fc.array(message, { maxLength: 4 }), { minLength: 1, maxLength: 5 });
  const output = fc.option(fc.record({ name: text, schema }), { nil: undefined });
  fc.assert(
    fc.property(
      turns,
      fc.array(tool, { maxLength: 3 }),
      output,
      settings,
      fc.boolean(),
      (grown, tools, form, set, fork) => {
        const options = { ...set, model: "m", api } as CheckedOptions;
        const check = (messages: readonly Message[]): void => {
          const request = requestOf({ messages, tools, output: form, toolChoice: "auto" });
          expect(JSON.parse(format.json(options, request))).toEqual(asSent(format.object(options, request)));
        };
        const messages: Message[] = [];
        for (const added of grown) {
          messages.push(...added);
          check(messages);
          // Asked again; and another end of the same beginning.
          check([...messages]);
          if (fork) check([...messages.slice(0, -1), { role: "user", text: "Or else?" }]);
        }
      },
    ),
    { seed: 20_261_121 },
  );
});

test.each(formats)("OAI-4 a list that is changed in place is written anew: $api", ({ api, format }) => {
  const messages: Message[] = [
    { role: "user", text: "a" },
    { role: "user", text: "b" },
  ];
  const options = { model: "m", api } as const;
  format.json(options, requestOf({ messages }));
  messages[1] = { role: "user", text: "c" };
  expect(format.json(options, requestOf({ messages }))).toContain('"content":"c"');
  expect(format.json(options, requestOf({ messages }))).not.toContain('"content":"b"');
});

test("OAI-4 each message is written as JSON once, and the schema of a tool too", () => {
  const format = responsesFormat();
  let written = 0;
  const item = { type: "message", toJSON: () => ({ type: "message", at: ++written }) };
  const providerItems = { api: "openai.responses", items: [item] };
  const messages: Message[] = [
    { role: "user", text: "Hello" },
    { role: "assistant", text: "Hi.", toolCalls: [], providerItems },
  ];
  let schemas = 0;
  const inputSchema = { type: "object", toJSON: () => ({ type: "object", at: ++schemas }) };
  for (let turn = 0; turn < 5; turn++) {
    messages.push({ role: "user", text: `Turn ${turn}` });
    const tools = [{ name: "look_up", description: "Looks up.", inputSchema }];
    format.json({ model: "m", api: "responses" }, requestOf({ messages: [...messages], tools }));
    // Another conversation that begins alike.
    format.json({ model: "m", api: "responses" }, requestOf({ messages: messages.slice(1), tools }));
  }
  expect({ written, schemas }).toEqual({ written: 1, schemas: 1 });
});

test.each(formats)(
  "OAI-4 over api $api the adapter, a client of the SDK and a stand-in send that JSON, as JSON",
  async ({ api, format }) => {
    await using server = await startServer(answering(200, fixture(`${api}-text`)));
    const { baseURL } = server;
    const request = requestOf({ tools: [lookUp], messages: [{ role: "user", text: "Größe \ud83d\ude00 \ud800" }] });
    const made = { model: "m", apiKey: "sk-test-12345678", api, baseURL, headers: { "x-team": "a" } };
    const given = new OpenAI({ apiKey: "sk-test-12345678", baseURL });
    const wrapped = { responses: given.responses, chat: given.chat };
    for (const options of [made, { model: "m", api, client: given }, { model: "m", api, client: wrapped }]) {
      answerOf(await openaiModel(options).generate(request));
    }
    const sent = asSent(format.object({ model: "m", api }, request));
    expect(server.requests.map(({ body }) => body)).toEqual([sent, sent, sent]);
    for (const { headers } of server.requests) {
      expect(headers["content-type"]).toBe("application/json");
      expect(headers["authorization"]).toBe("Bearer sk-test-12345678");
    }
    expect(server.requests[0]?.headers["x-team"]).toBe("a");
  },
);

afterEach(() => {
  vi.restoreAllMocks();
});

test.each(formats)(
  "OAI-2 what was put around a client of the SDK is asked, with an object: $api",
  async ({ api, format }) => {
    await using server = await startServer(answering(200, fixture(`${api}-text`)));
    const asked: unknown[] = [];
    const around = <This, Result>(create: (this: This, body: never, options: never) => Result) =>
      function traced(this: This, body: never, options: never): Result {
        asked.push(body);
        return create.call(this, body, options);
      };
    const connection = { apiKey: "sk-test-12345678", baseURL: server.baseURL };

    const client = new OpenAI(connection);
    client.responses.create = around(client.responses.create) as never;
    client.chat.completions.create = around(client.chat.completions.create) as never;
    answerOf(await openaiModel({ model: "m", api, client }).generate(requestOf()));

    class Own extends OpenAI {}
    const own = new Own(connection);
    // A spy reads along.
    const create = vi.spyOn(api === "responses" ? own.responses : own.chat.completions, "create");
    answerOf(await openaiModel({ model: "m", api, client: own }).generate(requestOf()));
    expect(create).toHaveBeenCalledOnce();

    const prototype = api === "responses" ? OpenAI.Responses.prototype : OpenAI.Chat.Completions.prototype;
    const wrapper = around(prototype.create as never);
    vi.spyOn(prototype, "create").mockImplementation(Object.assign(wrapper, { __wrapped: true }) as never);
    Object.assign(prototype.create, { __wrapped: true });
    answerOf(await openaiModel({ model: "m", api, client: new OpenAI(connection) }).generate(requestOf()));

    expect(asked).toEqual([0, 1].map(() => format.object({ model: "m", api }, requestOf())));
  },
);
