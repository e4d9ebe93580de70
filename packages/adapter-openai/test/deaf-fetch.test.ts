// A fetch of a user's own that does not look at the signal, and bodies that do not.
import { openaiModel, type OpenAIOptions } from "@proviso/adapter-openai";
import type { ModelRequest } from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import { fakeClock } from "@proviso/runtime/testing";
import OpenAI from "openai";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";

const never = () => new Promise<never>(() => {});

/** Its body begins with a text, and sends more only as `more` wants it to. */
function deafAnswer({ type = "application/json", begin = "", status = 200, headers = {} } = {}) {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const state = { cancelled: 0 };
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
        if (begin !== "") given.enqueue(new TextEncoder().encode(begin));
      },
      pull: never,
      cancel: () => void state.cancelled++,
    },
    { highWaterMark: 0 },
  );
  const response = new Response(body, { status, headers: { "content-type": type, ...headers } });
  return { state, response, more: (text: string) => controller?.enqueue(new TextEncoder().encode(text)) };
}

const ways = ["own fetch", "client"] as const;

function modelOver(way: (typeof ways)[number], fetch: () => Promise<Response>, more: Partial<OpenAIOptions> = {}) {
  const clock = fakeClock();
  const client = () => new OpenAI({ apiKey: "sk-1234567890", baseURL: "https://x.example/v1", fetch });
  const by = way === "client" ? { client: client() } : { apiKey: "sk-1234567890", fetch };
  const model = openaiModel({ model: "m", api: "chat", clock, ...by, ...more } as OpenAIOptions);
  return { model, clock };
}

function requestFor(signal: AbortSignal, onDelta?: (delta: ModelDelta) => void): ModelRequest {
  const messages = [{ role: "user" as const, text: "Hello." }];
  return { messages, tools: [], signal, ...(onDelta === undefined ? {} : { onDelta }) } as unknown as ModelRequest;
}

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] })}\n\n`;

const stream = { type: "text/event-stream", begin: chunk("Once") };
const cases = [
  ["no answer", undefined, false],
  ["a body", {}, false],
  ["a refusal's body", { status: 500 }, false],
  ["JSON in place of a stream", {}, true],
  ["a stream", stream, true],
] as const;

describe.each(ways)("%s", (way) => {
  test.each(cases)("OAI-8 LIM-3 after `timeoutMs` nothing waits for %s", async (_, given, isStream) => {
    const answer = given && deafAnswer(given);
    const { model, clock } = modelOver(way, () => (answer ? Promise.resolve(answer.response) : never()), {
      timeoutMs: 30_000,
    });
    const going = model.generate(requestFor(new AbortController().signal, isStream ? () => {} : undefined));
    await clock.advance(30_000);
    expect(await going).toMatchObject({ failure: "throttle", kind: "timeout" });
    expect(clock.pending).toBe(0);
  });

  test.each(cases)("LIM-3 after an abort nothing waits for %s", async (_, given, isStream) => {
    const answer = given && deafAnswer(given);
    const { model, clock } = modelOver(way, () => (answer ? Promise.resolve(answer.response) : never()));
    const controller = new AbortController();
    const going = model.generate(requestFor(controller.signal, isStream ? () => {} : undefined));
    await clock.advance(1_000);
    controller.abort(new Error("No more."));
    await expect(going).rejects.toThrow("No more.");
    expect(clock.pending).toBe(0);
  });

  test("OAI-10 a stream that stands still for `stallMs` is a timeout, and the whole answer behind its last event", async () => {
    const last = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`;
    for (const [begin, expected] of [
      [chunk("Once"), { failure: "throttle", kind: "timeout" }],
      [chunk("Once") + last, { message: { text: "Once" }, finishReason: "stop" }],
    ] as const) {
      const answer = deafAnswer({ ...stream, begin });
      const { model, clock } = modelOver(way, () => Promise.resolve(answer.response), { stallMs: 10_000 });
      const going = model.generate(requestFor(new AbortController().signal, () => {}));
      await clock.advance(10_000);
      expect(await going).toMatchObject(expected);
      expect(clock.pending).toBe(0);
    }
  });
});

/** The text of a stream of pings, which has no end. It is `isEnded` from its `return` on. */
function pings(canReturn: boolean) {
  const state = { pieces: 0, isEnded: false };
  let send = (): void => {};
  const next = () => {
    state.pieces++;
    return new Promise<IteratorResult<Uint8Array>>((resolve) => {
      send = () => resolve({ done: false, value: new TextEncoder().encode(": ping\n\n") });
    });
  };
  const end = () => {
    state.isEnded = true;
    return Promise.reject(new Error("It has ended already."));
  };
  const body = { [Symbol.asyncIterator]: () => (canReturn ? { next, return: end } : { next }) };
  return { state, body, send: () => send() };
}

test.each<readonly [string, Partial<OpenAIOptions>, number | undefined, number]>([
  ["its own", {}, 45_000, 45_000],
  ["that of the options before its own", { timeoutMs: 20_000 }, 45_000, 20_000],
  ["the usual ten minutes where it has none", {}, undefined, 600_000],
])("OAI-8 a request through a client that does not end it has a time limit: %s", async (_, more, timeout, ms) => {
  const clock = fakeClock();
  const create = () => never();
  const client = { baseURL: "https://x.example/v1", timeout, chat: { completions: { create } } };
  const model = openaiModel({ model: "m", api: "chat", clock, client: client as never, ...more } as OpenAIOptions);
  let ended: unknown;
  void model.generate(requestFor(new AbortController().signal)).then((answer) => (ended = answer));
  await clock.advance(ms - 1);
  expect(ended).toBeUndefined();
  await clock.advance(1);
  expect(ended).toMatchObject({ failure: "throttle", kind: "timeout" });
});

describe("OAI-8 after `timeoutMs`", () => {
  test.each(ways)("an answer of the platform's with its length, over the %s, is cancelled", async (way) => {
    const answer = deafAnswer({ begin: "{", headers: { "content-length": "500" } });
    Object.defineProperty(answer.response, "type", { value: "basic" });
    const { model, clock } = modelOver(way, () => Promise.resolve(answer.response), { timeoutMs: 30_000 });
    const going = model.generate(requestFor(new AbortController().signal));
    await clock.advance(30_000);
    expect(await going).toMatchObject({ failure: "throttle", kind: "timeout" });
    expect(answer.state.cancelled).toBe(1);
  });

  test.each(ways.flatMap((way) => [[way, "a body", false] as const, [way, "a stream", true] as const]))(
    "over the %s, %s that comes later is cancelled",
    async (way, _, isStream) => {
      const late = Promise.withResolvers<Response>();
      const { model, clock } = modelOver(way, () => late.promise, { timeoutMs: 30_000 });
      const going = model.generate(requestFor(new AbortController().signal, isStream ? () => {} : undefined));
      await clock.advance(30_000);
      expect(await going).toMatchObject({ failure: "throttle", kind: "timeout" });
      const answer = deafAnswer(isStream ? stream : {});
      late.resolve(answer.response);
      await setImmediate();
      expect(answer.state.cancelled).toBe(1);
    },
  );

  test.each([
    ["JSON", "that can be ended", true],
    ["JSON", "that cannot be ended", false],
    ["a stream", "that can be ended", true],
    ["a stream", "that cannot be ended", false],
  ])("no more is read of %s %s and has no end", async (what, _, canReturn) => {
    const isStream = what === "a stream";
    const { state, body, send } = pings(canReturn);
    const headers = new Headers({ "content-type": isStream ? "text/event-stream" : "application/json" });
    const response = { ok: true, status: 200, headers, body } as unknown as Response;
    const { model, clock } = modelOver("own fetch", () => Promise.resolve(response), { timeoutMs: 30_000 });
    const going = model.generate(requestFor(new AbortController().signal, isStream ? () => {} : undefined));
    await clock.advance(10_000);
    send();
    await clock.advance(20_000);
    expect(await going).toMatchObject({ failure: "throttle", kind: "timeout" });
    expect(state).toEqual({ pieces: 2, isEnded: canReturn });
    send();
    await setImmediate();
    expect(state.pieces).toBe(2);
    expect(clock.pending).toBe(0);
  });
});

describe("LIM-3 SEC-3 after an abort", () => {
  test.each(cases.slice(1))("%s is cancelled", async (_, given, isStream) => {
    const answer = deafAnswer(given);
    const { model, clock } = modelOver("own fetch", () => Promise.resolve(answer.response));
    const controller = new AbortController();
    const going = model.generate(requestFor(controller.signal, isStream ? () => {} : undefined));
    await clock.advance(1_000);
    controller.abort(new Error("No more."));
    await expect(going).rejects.toThrow("No more.");
    expect(answer.state.cancelled).toBe(1);
  });

  test("the body of an answer that comes later is cancelled", async () => {
    const late = Promise.withResolvers<Response>();
    const { model } = modelOver("own fetch", () => late.promise);
    const controller = new AbortController();
    const going = model.generate(requestFor(controller.signal));
    controller.abort(new Error("No more."));
    await expect(going).rejects.toThrow("No more.");
    const answer = deafAnswer();
    late.resolve(answer.response);
    await setImmediate();
    expect(answer.state.cancelled).toBe(1);
  });

  test("what a body that cannot be cancelled sends is no delta any more", async () => {
    const deltas: string[] = [];
    let send = (_: IteratorResult<Uint8Array>): void => {};
    const next = () => new Promise<IteratorResult<Uint8Array>>((resolve) => (send = resolve));
    const body = { [Symbol.asyncIterator]: () => ({ next }) };
    const response = {
      ok: true,
      status: 200,
      headers: new Headers({ "content-type": "text/event-stream" }),
      body,
    } as unknown as Response;
    const piece = (text: string): void => send({ done: false, value: new TextEncoder().encode(chunk(text)) });
    const { model, clock } = modelOver("own fetch", () => Promise.resolve(response));
    const controller = new AbortController();
    const going = model.generate(
      requestFor(controller.signal, (delta) => void deltas.push(delta.kind === "text" ? delta.text : "")),
    );
    await clock.advance(1);
    piece("Once");
    await clock.advance(1);
    controller.abort(new Error("No more."));
    piece(" upon");
    await expect(going).rejects.toThrow("No more.");
    await setImmediate();
    expect(deltas).toEqual(["Once"]);
    expect(clock.pending).toBe(0);
  });
});
