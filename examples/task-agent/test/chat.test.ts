import { DefinitionError, systemClock, type Clock } from "@proviso/core";
import { sqliteResource, SqliteDatabase } from "@proviso/node";
import { openResources } from "@proviso/runtime";
import { fakeClock } from "@proviso/runtime/testing";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openChat, type Chat } from "../chat.ts";
import { configFrom, gemini } from "../config.ts";
import { schema, tally } from "../tasks.ts";
import { closed, declarations } from "./declarations.ts";
import { calls, refuses, says, silence, startGemini, type Reply } from "./gemini.ts";

const key = "key-of-the-test-12345";

interface Talk {
  readonly chat: Chat;
  readonly service: Awaited<ReturnType<typeof startGemini>>;
  readonly logged: readonly (readonly [string, object])[];
  readonly path: string;
}

async function temporaryFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "proviso-tasks-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "tasks.db");
}

/** A chat with Gemini's own wire, answered in this order; between two attempts hardly anything is waited for. */
async function talk(...replies: readonly Reply[]): Promise<Talk> {
  return talkBy({ clock: systemClock, random: () => 0 }, replies);
}

async function talkBy(
  environment: { readonly clock: Clock; readonly random: () => number },
  replies: readonly Reply[],
) {
  const service = await startGemini(...replies);
  onTestFinished(() => service[Symbol.asyncDispose]());
  const adapter = gemini(configFrom({ GEMINI_API_KEY: key, GEMINI_BASE_URL: service.baseURL }), environment);
  const logged: [string, object][] = [];
  const path = await temporaryFile();
  const logger = { error: (fields: object, name: string) => void logged.push([name, fields]) };
  const chat = await openChat(path, adapter, { clock: environment.clock, logger });
  onTestFinished(() => chat[Symbol.asyncDispose]());
  return { chat, service, logged, path };
}

async function tasksIn(path: string): Promise<readonly unknown[]> {
  await using resources = await openResources([sqliteResource(path, { migrate: schema })]);
  return resources.get(SqliteDatabase).all("SELECT * FROM tasks");
}

test("AGT-1 AGT-4 Gemini is sent the document's tools and defaults", async () => {
  const { chat, service, path } = await talk(calls("add_task", { description: "buy milk" }), says([{ text: "Done." }]));
  expect(await chat.say("buy milk")).toEqual({ kind: "answered", text: "Done." });
  expect(await tasksIn(path)).toEqual([{ id: 1, description: "buy milk", status: "pending" }]);
  const [first, second] = service.requests;
  expect(first).toMatchObject({
    path: "/models/gemini-2.0-flash:generateContent",
    key,
    body: { generationConfig: { temperature: 0, maxOutputTokens: 1024 } },
  });
  const declared = first?.body.tools[0]?.functionDeclarations ?? [];
  const asWritten = declared.map(({ parametersJsonSchema: parameters, ...rest }) => ({ ...rest, parameters }));
  expect(asWritten).toEqual(closed(declarations));
  const roles = second?.body.contents.map(({ role, parts }) => [role, Object.keys(parts[0] ?? {}).at(0)]);
  expect(roles).toEqual([
    ["user", "text"],
    ["model", "functionCall"],
    ["user", "functionResponse"],
  ]);
});

test.each([
  [{ GEMINI_API_KEY: "first-line\nsecond-line" }, "GEMINI_API_KEY"],
  [{ GEMINI_API_KEY: "my key" }, "GEMINI_API_KEY"],
  [{ GEMINI_API_KEY: "clé" }, "GEMINI_API_KEY"],
  [{ GEMINI_API_KEY: "key-of-the-test", GEMINI_BASE_URL: "localhost" }, "GEMINI_BASE_URL"],
  [{ GEMINI_API_KEY: "key-of-the-test", GEMINI_BASE_URL: "file:///tmp" }, "GEMINI_BASE_URL"],
])(
  "AGT-4 an option that no request could be sent with is reported at the start, with its name and without the key: %o",
  (environment, name) => {
    expect(() => configFrom(environment)).toThrow(DefinitionError);
    expect(() => configFrom(environment)).toThrow(name);
    expect(() => configFrom(environment)).not.toThrow(environment.GEMINI_API_KEY);
  },
);

test("AGT-4 configuration: model, key, nothing else", () => {
  const defaults = { temperature: 0, maxOutputTokens: 1024, timeoutMs: 30_000, maxRetries: 1, baseURL: undefined };
  expect(configFrom({ GEMINI_API_KEY: "k" })).toEqual({ ...defaults, apiKey: "k", model: "gemini-2.0-flash" });
  const other = configFrom({ GEMINI_API_KEY: " k ", GEMINI_MODEL: "gemini-3" });
  expect(other).toEqual({ ...defaults, apiKey: "k", model: "gemini-3" });
  for (const environment of [{}, { GEMINI_API_KEY: "" }, { GEMINI_API_KEY: " " }, { GEMINI_API_KEY: undefined }]) {
    expect(() => configFrom(environment)).toThrow(DefinitionError);
    expect(() => configFrom(environment)).toThrow(/^GEMINI_API_KEY is not set\..*$/);
  }
});

const fallback = { kind: "fallback", text: "The model gives no answer now. Your tasks are saved; please try again." };

test.each([
  ["500 twice", [refuses(500, "INTERNAL"), refuses(500, "INTERNAL")], "server_error"],
  ["503 twice", [refuses(503, "UNAVAILABLE"), refuses(503, "UNAVAILABLE")], "server_error"],
  ["400", [refuses(400, "INVALID_ARGUMENT")], "bad_request_error"],
  ["403", [refuses(403, "PERMISSION_DENIED")], "api_key_error"],
  ["404", [refuses(404, "NOT_FOUND")], "not_found_error"],
])(
  "AGT-5 a failure of the API (%s) is logged and answered by the fallback, and the conversation goes on",
  async (_, replies, reason) => {
    const { chat, service, logged } = await talk(...replies, says([{ text: "I am back." }]));
    expect(await chat.say("list")).toEqual(fallback);
    expect(logged).toEqual([["chat.fallback", expect.objectContaining({ reason })]]);
    expect(JSON.stringify(logged)).not.toContain(key);
    expect(service.requests).toHaveLength(replies.length);
    expect(await chat.say("again")).toEqual({ kind: "answered", text: "I am back." });
    // The model reads what the user was told.
    const texts = service.requests.at(-1)?.body.contents.map(({ parts }) => parts[0]?.["text"]);
    expect(texts).toEqual(["list", fallback.text, "again"]);
  },
);

test("AGT-5 what was done before the failure stays, with the messages about it", async () => {
  const failing = [refuses(500, "INTERNAL"), refuses(500, "INTERNAL")];
  const { chat, path } = await talk(calls("add_task", { description: "buy milk" }), ...failing);
  expect(await chat.say("buy milk")).toEqual(fallback);
  expect(await tasksIn(path)).toHaveLength(1);
  expect(chat.session.get(tally).added).toBe(1);
  expect(chat.remembered).toBe(4);
});

test("AGT-5 a timeout of 30 s is asked once more, then the fallback comes", async () => {
  const clock = fakeClock();
  const { chat, service, logged } = await talkBy({ clock, random: () => 0 }, [silence, silence]);
  let answer: unknown;
  const answering = chat.say("list").then((given) => (answer = given));
  await expect.poll(() => service.requests.length).toBe(1);
  await clock.advance(29_999);
  expect(service.requests).toHaveLength(1);
  await clock.advance(1);
  await expect.poll(() => service.requests.length).toBe(2);
  await clock.advance(29_999);
  expect(answer).toBeUndefined();
  await clock.advance(1);
  await answering;
  expect(answer).toEqual(fallback);
  expect(logged).toEqual([["chat.fallback", expect.objectContaining({ reason: "timeout_error" })]]);
});

test("AGT-5 a timeout whose second request is answered is not seen", async () => {
  const clock = fakeClock();
  const { chat, service, logged } = await talkBy({ clock, random: () => 0 }, [silence, says([{ text: "Here." }])]);
  const answering = chat.say("list");
  await expect.poll(() => service.requests.length).toBe(1);
  await clock.advance(30_000);
  expect(await answering).toEqual({ kind: "answered", text: "Here." });
  expect(logged).toEqual([]);
});

test.each([
  ["asked to wait a minute", [refuses(429, "RESOURCE_EXHAUSTED", { "retry-after": "60" })], 60_000],
  ["twice", [refuses(429, "RESOURCE_EXHAUSTED"), refuses(429, "RESOURCE_EXHAUSTED")], undefined],
])("AGT-6 a rate limit (%s) is answered by REFUSAL:RATE_LIMITED", async (_, replies, retryAfterMs) => {
  const { chat, service, logged } = await talk(...replies);
  expect(await chat.say("list")).toEqual({ kind: "refused", text: "REFUSAL:RATE_LIMITED" });
  expect(service.requests).toHaveLength(replies.length);
  const [[name, fields] = []] = logged;
  expect([name, fields]).toEqual([
    "chat.refused",
    expect.objectContaining({ reason: "rate_limit_error", retryAfterMs }),
  ]);
});

test.each([
  ["no JSON", { status: 200, body: "<html>Welcome</html>" }],
  ["another shape", { status: 200, body: { candidates: "none" } }],
  ["an empty answer", says([])],
  ["a cut answer", says([{ text: "There are" }], "MAX_TOKENS")],
  ["a malformed call", says([], "MALFORMED_FUNCTION_CALL")],
] as const)("AGT-7 %s is logged and answered by an error text", async (_, reply) => {
  const { chat, logged } = await talk(reply, reply, says([{ text: "Yes." }]));
  const answer = { kind: "error", text: "The model's answer could not be read. Please say it in other words." };
  expect(await chat.say("list")).toEqual(answer);
  expect(logged).toHaveLength(1);
  expect(logged[0]?.[0]).toBe("chat.error");
});

test("AGT-8 an unknown tool is ignored, the model reads which tools there are, and the turn goes on", async () => {
  const { chat, service, path } = await talk(
    calls("archive_task", { task_id: "1" }),
    calls("add_task", { description: "x", priority: 3 }),
    calls("add_task", { description: "x" }),
    says([{ text: "Done." }]),
  );
  expect(await chat.say("archive it")).toEqual({ kind: "answered", text: "Done." });
  const told = service.requests.map(({ body }) => JSON.stringify(body.contents.at(-1)));
  expect(told[1]).toContain('There is no tool \\"archive_task\\". The tools are: add_task, list_tasks');
  expect(told[2]).toContain("priority");
  expect(await tasksIn(path)).toHaveLength(1);
});

test("AGT-9 a chat opened again goes on with messages and session, also after a failed turn", async () => {
  const { chat, path } = await talk(
    calls("add_task", { description: "x" }),
    says([{ text: "Done." }]),
    refuses(400, "NO"),
  );
  await chat.say("add x");
  await chat.say("list");
  await chat[Symbol.asyncDispose]();
  const service = await startGemini(says([{ text: "As I said." }]));
  onTestFinished(() => service[Symbol.asyncDispose]());
  const adapter = gemini(configFrom({ GEMINI_API_KEY: key, GEMINI_BASE_URL: service.baseURL }));
  await using again = await openChat(path, adapter);
  expect(again.remembered).toBe(6);
  expect(again.session.get(tally)).toEqual({ added: 1, updated: 0, completed: 0, deleted: 0 });
  await again.say("and?");
  const parts = service.requests[0]?.body.contents.map(({ role, parts: [part = {}] }) => [
    role,
    part["text"] ?? Object.keys(part)[0],
  ]);
  expect(parts).toEqual([
    ["user", "add x"],
    ["model", "functionCall"],
    ["user", "functionResponse"],
    ["model", "Done."],
    ["user", "list"],
    ["model", fallback.text],
    ["user", "and?"],
  ]);
});

test("AGT-9 a conversation of several million characters is gone on with", async () => {
  const { chat, path } = await talk(says([{ text: "That is long." }]));
  await chat.say("x".repeat(3_000_000));
  await chat[Symbol.asyncDispose]();
  await using again = await openChat(path, gemini(configFrom({ GEMINI_API_KEY: key })));
  expect(again.remembered).toBe(2);
});
test("AGT-9 a conversation that cannot be saved is remembered, and saved with the next turn", async () => {
  const { chat, path, logged } = await talk(says([{ text: "One." }]), says([{ text: "Two." }]));
  using other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  expect((await chat.say("one")).text).toBe("One.");
  expect(logged).toEqual([["chat.not_saved", { error: expect.stringContaining("locked by another connection") }]]);
  other.exec("ROLLBACK");
  await chat.say("two");
  expect(String(other.prepare("SELECT messages FROM conversation").get()?.["messages"])).toContain("One.");
});

test("AGT-9 while another process reads the file the tasks are listed, and none is added", async () => {
  const { chat, service, path } = await talk(
    calls("list_tasks", {}),
    calls("add_task", { description: "x" }),
    says([{ text: "I cannot." }]),
  );
  using other = new DatabaseSync(path);
  other.exec("BEGIN");
  other.prepare("SELECT * FROM tasks").all();
  expect((await chat.say("list, then add x")).text).toBe("I cannot.");
  const told = service.requests.map(({ body }) => JSON.stringify(body.contents.at(-1)));
  expect(told[1]).toContain('\\"tasks\\":[]');
  expect(told[2]).toContain("locked by another connection");
  other.exec("ROLLBACK");
  expect(await tasksIn(path)).toEqual([]);
  expect(chat.session.get(tally).added).toBe(0);
});

test.each([
  ["no JSON", "{", "{}"],
  ["no messages", '[{"role":"user"}]', "{}"],
  ["no list", "{}", "{}"],
  ["no session", "[]", '{"version":99}'],
])("AGT-9 a damaged conversation (%s) is reported, and left alone", async (_, messages, session) => {
  const path = await temporaryFile();
  const adapter = gemini(configFrom({ GEMINI_API_KEY: key }));
  await (await openChat(path, adapter))[Symbol.asyncDispose]();
  using other = new DatabaseSync(path);
  other.prepare("INSERT INTO conversation VALUES (1, ?, ?)").run(messages, session);
  await expect(openChat(path, adapter)).rejects.toThrow(DefinitionError);
  expect(other.prepare("SELECT messages, session FROM conversation").get()).toEqual({ messages, session });
});

test("AGT-9 a file of another kind is reported", async () => {
  const path = await temporaryFile();
  await writeFile(path, "A letter. ".repeat(200));
  const adapter = gemini(configFrom({ GEMINI_API_KEY: key }));
  await expect(openChat(path, adapter)).rejects.toMatchObject({ code: "sqlite", reason: "not_a_database" });
});
