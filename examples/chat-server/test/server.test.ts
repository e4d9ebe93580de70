import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { answerIn, folder, start, userAt } from "./support.ts";

vi.setConfig({ testTimeout: 300_000 });

test("CHT-1 an answer comes while it is made, then what was saved", async () => {
  const { url, simulator } = await start(join(await folder(), "c.db"));
  const ada = await userAt(url);
  const response = await ada.say("one", "I like tea.");
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const events = [...(await ada.turn("two", "Hello!"))];
  await response.text();
  expect(events.filter(({ name }) => name === "text").length).toBeGreaterThan(3);
  expect(answerIn(events)).toBe("Hello! Tell me something about yourself.");
  expect(events.slice(-2)).toEqual([
    { name: "done", data: answerIn(events) },
    {
      name: "saved",
      data: {
        messages: [
          { role: "user", text: "Hello!" },
          { role: "assistant", text: answerIn(events) },
        ],
        facts: [],
      },
    },
  ]);
  expect(simulator.requests.every(({ status }) => status === 200)).toBe(true);
});

test("CHT-1 a tool's name is sent, not what it was given or answered; messages and facts go on together", async () => {
  const { url } = await start(join(await folder(), "c.db"));
  const ada = await userAt(url);
  const events = await ada.turn("one", "I like tea.");
  expect(events.find(({ name }) => name === "tool")).toEqual({ name: "tool", data: { name: "remember", ok: true } });
  const last = await ada.turn("one", "What do you know about me?");
  expect(answerIn(last)).toBe("I know this about you: The user likes tea.");
  expect(await (await ada.request("/conversations/one")).json()).toEqual({
    messages: [
      { role: "user", text: "I like tea." },
      { role: "assistant", text: "Good to know: The user likes tea. I will keep it in mind." },
      { role: "user", text: "What do you know about me?" },
      { role: "assistant", text: "I know this about you: The user likes tea." },
    ],
    facts: ["The user likes tea."],
  });
});

test("CHT-1 a turn that fails is reported by its code alone, and nothing of it is saved", async () => {
  const refuse = { status: 400, body: { error: { message: "the prompt quotes the user", code: "bad" } } };
  const { url, errors } = await start(join(await folder(), "c.db"), [
    ({ messages }) => (messages.some(({ text }) => text === "fail") ? refuse : undefined),
  ]);
  const ada = await userAt(url);
  await ada.turn("one", "I like tea.");
  const text = await (await ada.say("one", "fail")).text();
  expect(text).toContain('event: failed\ndata: {"code":"provider"}');
  expect(text).not.toMatch(/quotes|saved/);
  expect(errors).toMatchObject([{ code: "provider" }]);
  const { messages } = (await (await ada.request("/conversations/one")).json()) as { messages: unknown[] };
  expect(messages).toHaveLength(2);
});

test("CHT-2 several users at once: none reads, goes on with or deletes the conversation of another", async () => {
  const { url } = await start(join(await folder(), "c.db"));
  const users = await Promise.all(Array.from({ length: 5 }, () => userAt(url)));
  expect(new Set(users.map(({ cookie }) => cookie)).size).toBe(5);
  await Promise.all(users.map((user, n) => user.turn("mine", `I like number ${n}.`)));
  const known = await Promise.all(users.map((user) => user.turn("mine", "What do you know?")));
  expect(known.map(answerIn)).toEqual(users.map((_, n) => `I know this about you: The user likes number ${n}.`));
  const [ada, bob] = users as [(typeof users)[0], (typeof users)[0]];
  const id = ada.cookie.replace("user=", "");
  for (const path of [`/conversations/..%2f${id}%2fmine`, `/conversations/${id}/mine`, `/conversations/../${id}/mine`])
    expect((await bob.request(path)).status).toBe(404);
  expect(await (await bob.request("/conversations/mine", { method: "DELETE" })).json()).toEqual({ deleted: true });
  expect(await (await bob.request("/conversations")).json()).toEqual([]);
  expect(await (await ada.request("/conversations")).json()).toMatchObject([{ id: "mine" }]);
});

test("CHT-3 a browser that leaves ends the evaluation, and nothing of the turn is saved", async () => {
  const { url, simulator, errors, store } = await start(join(await folder(), "c.db"), [
    ({ messages }) => (messages.at(-1)?.text === "Slowly" ? { text: "word ".repeat(2_000), eventMs: 200 } : undefined),
  ]);
  const ada = await userAt(url);
  await ada.turn("one", "Hello!");
  const leaving = new AbortController();
  const response = await ada.say("one", "Slowly", { signal: leaving.signal });
  const reader = response.body?.getReader();
  await reader?.read();
  leaving.abort();
  // The whole answer takes more than six minutes.
  await expect.poll(() => simulator.requests.at(-1)?.aborted, { timeout: 120_000, interval: 5 }).toBe(true);
  // The conversation is free again, and as it was.
  const again = await ada.turn("one", "Hello!");
  expect(again.at(-1)).toMatchObject({ name: "saved", data: { messages: { length: 4 } } });
  expect(errors).toEqual([]);
  expect((await store.list()).map(({ revision }) => revision)).toEqual([2]);
});

test("CHT-4 two windows of one conversation follow each other, and other conversations do not wait", async () => {
  const { url } = await start(join(await folder(), "c.db"));
  const ada = await userAt(url);
  await Promise.all([ada.turn("one", "I like tea."), ada.turn("one", "I like rain."), ada.turn("two", "Hello!")]);
  const { facts, messages } = (await (await ada.request("/conversations/one")).json()) as {
    facts: string[];
    messages: unknown[];
  };
  expect(facts.toSorted()).toEqual(["The user likes rain.", "The user likes tea."]);
  expect(messages).toHaveLength(4);
});

test("CHT-4 after a restart a conversation goes on", async () => {
  const file = join(await folder(), "c.db");
  const first = await start(file);
  const { cookie, turn } = await userAt(first.url);
  await turn("one", "I live in a lighthouse.");
  first.stop();
  const second = await start(file);
  const ada = await userAt(second.url, cookie);
  expect(answerIn(await ada.turn("one", "What do you remember?"))).toBe(
    "I know this about you: The user lives in a lighthouse.",
  );
});

test("CHT-5 what the page would not send is refused before a model is asked", async () => {
  const { url, simulator, store } = await start(join(await folder(), "c.db"));
  const ada = await userAt(url);
  const json = { "content-type": "application/json" };
  const post = (body: string, headers: Record<string, string> = json) =>
    ada.request("/conversations/one", { method: "POST", headers, body });
  expect((await post('{"said":"Hi."}', { "content-type": "text/plain" })).status).toBe(415);
  for (const body of ["", "{", "null", "[]", "{}", '{"said":7}', '{"said":"  "}']) {
    const response = await post(body);
    expect([body, response.status]).toEqual([body, 400]);
    expect(await response.json()).toHaveProperty("error");
  }
  expect((await post(JSON.stringify({ said: "x".repeat(4_001) }))).status).toBe(413);
  expect((await post(JSON.stringify({ said: "x".repeat(200_000) }))).status).toBe(413);
  for (const path of ["/conversations/a%00b", "/conversations/", "/../server.ts", "/page/page.js", "/constructor"])
    expect([path, (await ada.request(path)).status]).toEqual([path, 404]);
  expect((await ada.request("/conversations/one", { method: "PUT" })).status).toBe(405);
  expect(simulator.requests).toEqual([]);
  expect(await store.list()).toEqual([]);
});

test("CHT-5 the page loads scripts and styles from here alone", async () => {
  const { url } = await start(join(await folder(), "c.db"));
  for (const [path, type] of [
    ["/", "text/html"],
    ["/page.js", "text/javascript"],
    ["/page.css", "text/css"],
  ] as const) {
    const response = await fetch(url + path);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain(type);
    expect(response.headers.get("content-security-policy")).toBe("default-src 'self'; frame-ancestors 'none'");
    expect(response.headers.get("set-cookie")).toMatch(/^user=[\w-]{36}; HttpOnly; SameSite=Strict/);
    expect(await response.text()).not.toMatch(/innerHTML|https?:\/\//);
  }
});
