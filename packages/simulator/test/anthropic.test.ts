import { startSimulator, type Simulator, type SimulatorOptions } from "@proviso/simulator";
import { describe, expect, test } from "vitest";

type Body = { readonly [key: string]: unknown };
interface Answer {
  readonly status: number;
  readonly body: Body;
  readonly headers: Headers;
}

const hello = [{ role: "user", content: "Hello" }];
const lookUp = { name: "look_up", description: "Looks up.", input_schema: { type: "object", properties: {} } };

async function ask(simulator: Simulator, body: object, headers: object = {}): Promise<Answer> {
  const response = await fetch(`${simulator.baseURL}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "key", "anthropic-version": "2023-06-01", ...headers },
    body: JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 100, messages: hello, ...body }),
  });
  return { status: response.status, body: (await response.json()) as Body, headers: response.headers };
}

async function asked(options: SimulatorOptions, ...bodies: readonly object[]): Promise<readonly Answer[]> {
  await using simulator = await startSimulator(options);
  const answers: Answer[] = [];
  for (const body of bodies) answers.push(await ask(simulator, body));
  return answers;
}

async function refusal(body: object): Promise<unknown> {
  await using simulator = await startSimulator({ rules: [] });
  const { status, body: answer } = await ask(simulator, body);
  expect(status).toBe(400);
  expect(answer).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
  return (answer["error"] as { readonly message: string }).message;
}

describe("SIM-19 Anthropic's Messages", () => {
  test("SIM-19 a text, thoughts and calls are blocks, with the reason for the end", async () => {
    const steps = [
      { text: "Hello." },
      { reasoning: "Hm.", text: "I look.", toolCalls: [{ name: "look_up", arguments: { word: "a" }, id: "toolu_1" }] },
    ];
    const [text, calls] = await asked({ steps }, {}, { tools: [lookUp] });
    expect(text?.body).toMatchObject({
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5",
      content: [{ type: "text", text: "Hello." }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { output_tokens: 2, cache_read_input_tokens: 0, service_tier: "standard" },
    });
    expect(text?.headers.get("request-id")).toMatch(/^req_/);
    expect(calls?.body).toMatchObject({
      content: [
        { type: "thinking", thinking: "Hm.", signature: expect.stringMatching(/^\S{40,}$/) },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "toolu_1", name: "look_up", input: { word: "a" } },
      ],
      stop_reason: "tool_use",
      usage: { output_tokens_details: { thinking_tokens: 1 } },
    });
  });

  test("SIM-19 it stops at its limit, at a sequence, and where it declines", async () => {
    const steps = [
      { text: "x".repeat(1_000) },
      { text: "one two three" },
      { refusal: "I cannot." },
      { text: "Some", finishReason: "content_filter" },
    ] as const;
    const answers = await asked({ steps }, { max_tokens: 10 }, { stop_sequences: ["three", " two"] }, {}, {});
    const ends = answers.map(({ body }) => [body["content"], body["stop_reason"], body["stop_sequence"]]);
    const block = (text: string) => [{ type: "text", text }];
    expect(ends).toEqual([
      [block("x".repeat(40)), "max_tokens", null],
      [block("one"), "stop_sequence", " two"],
      [block("I cannot."), "refusal", null],
      [block("Some"), "refusal", null],
    ]);
  });

  test("SIM-19 a structured answer is text of the schema's format, or goes into the tool that is forced", async () => {
    const steps = [{ output: { a: 1 } }, { output: { a: 1 } }];
    const schema = { type: "object", properties: { a: { type: "number" } }, additionalProperties: false };
    const format = { output_config: { format: { type: "json_schema", schema } } };
    const tool = { tools: [lookUp], tool_choice: { type: "tool", name: "look_up" } };
    const [text, call] = await asked({ steps }, format, tool);
    expect(text?.body["content"]).toEqual([{ type: "text", text: '{"a":1}' }]);
    expect(call?.body["content"]).toMatchObject([{ type: "tool_use", name: "look_up", input: { a: 1 } }]);
  });

  test("SIM-19 a stream says the same in events of its own", async () => {
    await using simulator = await startSimulator({
      steps: [{ reasoning: "Hm.", text: "Hello you.", toolCalls: [{ name: "look_up", arguments: '{ "a":1}' }] }],
      chunkCharacters: 5,
    });
    const response = await fetch(`${simulator.baseURL}/messages`, {
      method: "POST",
      headers: { "x-api-key": "key", "anthropic-version": "2023-06-01" },
      body: JSON.stringify({ model: "m", max_tokens: 100, messages: hello, tools: [lookUp], stream: true }),
    });
    const events = (await response.text())
      .split("\n\n")
      .filter((event) => event !== "")
      .map((event) => event.split("\n"))
      .map(([name, data]) => [name?.slice(7), JSON.parse(data?.slice(6) ?? "null") as Body] as const);
    expect(events.every(([name, data]) => name === data["type"])).toBe(true);
    const kinds = events.map(([name]) => name);
    expect(kinds[0]).toBe("message_start");
    expect(kinds.slice(-2)).toEqual(["message_delta", "message_stop"]);
    const deltas = events.flatMap(([, { delta }]) => (delta === undefined ? [] : [delta as Body]));
    const joined = (key: string) => deltas.map((delta) => (delta[key] ?? "") as string).join("");
    expect([joined("thinking"), joined("text"), joined("partial_json")]).toEqual(["Hm.", "Hello you.", '{ "a":1}']);
    expect(deltas.at(-1)).toEqual({ stop_reason: "tool_use", stop_sequence: null });
    expect(events.at(-2)?.[1]["usage"]).toMatchObject({ output_tokens: expect.any(Number) as number });
  });
});

describe("SIM-20 what Anthropic's service refuses", () => {
  const use = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look_up", input: {} }] };
  const result = (id: string) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "x" }] });
  const mark = { type: "ephemeral" };
  test.each([
    [{ max_tokens: undefined }, "max_tokens: Field required"],
    [{ seed: 1 }, "seed: Extra inputs are not permitted"],
    [{ temperature: 2 }, "temperature: Input should be less than or equal to 1"],
    [{ messages: [] }, "messages: at least one message is required"],
    [{ messages: [{ role: "user", content: [{ type: "text", text: "" }] }] }, "text content blocks must be non-empty"],
    [
      { messages: [{ role: "user", content: [{ type: "text", text: "\n" }] }] },
      "messages: text content blocks must contain non-whitespace text",
    ],
    [{ system: [{ type: "text", text: " " }] }, "system: text content blocks must contain non-whitespace text"],
    [{ messages: [...hello, use] }, "`tool_use` ids were found without `tool_result` blocks immediately after: t1."],
    [{ messages: [...hello, use, ...hello] }, "`tool_use` ids were found without"],
    [{ messages: [...hello, use, result("t2")] }, "`tool_use` ids were found without"],
    [{ messages: [result("t1")] }, "unexpected `tool_use_id` found in `tool_result` blocks: t1."],
    [{ messages: [...hello, use, result("t1"), use, result("t1")] }, "`tool_use` ids must be unique"],
    [{ tools: [lookUp], tool_choice: { type: "tool", name: "no" } }, "Tool 'no' not found in provided tools"],
    [{ tools: [lookUp, lookUp] }, "Tool names must be unique."],
    [{ thinking: { type: "enabled", budget_tokens: 2_000 } }, "`max_tokens` must be greater than"],
    [
      { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 2_000, temperature: 0 },
      "`temperature` may only be set to 1 when thinking is enabled.",
    ],
    [
      {
        thinking: { type: "enabled", budget_tokens: 1_024 },
        max_tokens: 2_000,
        messages: [...hello, use, result("t1")],
      },
      "Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    ],
    [
      { messages: [...hello, { role: "assistant", content: [{ type: "thinking", thinking: "x", signature: "y" }] }] },
      "messages.1.content.0: Invalid `signature` in `thinking` block",
    ],
    [
      { output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
      "'additionalProperties' must be explicitly set to false",
    ],
    [
      { system: Array.from({ length: 5 }, () => ({ type: "text", text: "x", cache_control: mark })) },
      "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ],
    [
      {
        system: [{ type: "text", text: "x", cache_control: mark }],
        messages: [{ role: "user", content: [{ type: "text", text: "y", cache_control: { ...mark, ttl: "1h" } }] }],
      },
      "must not come after a ttl='5m'",
    ],
    [{ container: "c" }, "The simulator does not support 'container'. (simulator_not_supported)"],
  ])("SIM-20 %j", async (body, message) => {
    expect(await refusal(body)).toContain(message);
  });

  test("SIM-20 thoughts are taken back as they came", async () => {
    const steps = [{ reasoning: "Hm.", toolCalls: [{ name: "look_up", id: "t1" }] }, { text: "Done." }];
    await using simulator = await startSimulator({ steps });
    const thinking = { type: "enabled", budget_tokens: 1_024 };
    const first = await ask(simulator, { tools: [lookUp], thinking, max_tokens: 2_000 });
    const messages = [...hello, { role: "assistant", content: first.body["content"] }, result("t1")];
    const second = await ask(simulator, { tools: [lookUp], thinking, max_tokens: 2_000, messages });
    expect(second.body["content"]).toEqual([{ type: "text", text: "Done." }]);
  });

  test("SIM-20 of calls that are not over the first begins with a thought, and the others need none", async () => {
    const steps = [
      { reasoning: "Hm.", toolCalls: [{ name: "look_up", id: "t1" }] },
      { toolCalls: [{ name: "look_up", id: "t2" }] },
      { text: "Done." },
    ];
    await using simulator = await startSimulator({ steps });
    const given = { tools: [lookUp], thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 2_000 };
    const first = await ask(simulator, given);
    const begun = [...hello, { role: "assistant", content: first.body["content"] }, result("t1")];
    const second = await ask(simulator, { ...given, messages: begun });
    const calls = [...begun, { role: "assistant", content: second.body["content"] }, result("t2")];
    expect((await ask(simulator, { ...given, messages: calls })).body["content"]).toMatchObject([{ text: "Done." }]);
    // The turn with the thought is not sent back.
    const cut = await ask(simulator, { ...given, messages: [...hello, ...calls.slice(hello.length + 2)] });
    expect(JSON.stringify(cut.body)).toContain("Expected `thinking` or `redacted_thinking`, but found `tool_use`.");
  });
});

describe("SIM-21 errors in Anthropic's shape", () => {
  test("SIM-21 keys, versions, paths, faults and exhausted scripts", async () => {
    await using simulator = await startSimulator({
      apiKey: "right",
      steps: [
        { text: "a", fault: "status_529" },
        { text: "b", fault: "context_length" },
      ],
    });
    const key = { "x-api-key": "right" };
    const seen = [
      await ask(simulator, {}),
      await ask(simulator, {}, { "x-api-key": "" }),
      await ask(simulator, {}, key),
      await ask(simulator, {}, key),
      await ask(simulator, {}, key),
    ].map(({ status, body }) => [status, (body["error"] as Body | undefined)?.["type"] ?? "answered"]);
    expect(seen).toEqual([
      [401, "authentication_error"],
      [401, "authentication_error"],
      [529, "overloaded_error"],
      [200, "answered"],
      [400, "invalid_request_error"],
    ]);
    const withoutVersion = await fetch(`${simulator.baseURL}/messages`, { method: "POST", headers: key, body: "{}" });
    expect(await withoutVersion.text()).toContain("anthropic-version: header is required");
    const used = await ask(simulator, {}, key);
    const more = await ask(simulator, {}, key);
    expect(used.body["content"]).toEqual([{ type: "text", text: "b" }]);
    expect(JSON.stringify(more.body)).toContain("(simulator_script_exhausted)");
    const list = await fetch(`${simulator.baseURL}/messages/batches`, { method: "POST", headers: key });
    expect(await list.json()).toMatchObject({ type: "error", error: { type: "not_found_error" } });
  });

  test("SIM-21 SIM-16 limits in the service's headers, and a 429 with retry-after", async () => {
    const clock = { now: () => Date.parse("2026-11-23T10:00:00Z"), sleep: async () => {} };
    const rateLimit = { requestsPerMinute: 1, tokensPerMinute: 10_000 };
    const [first, second] = await asked({ rules: [], clock, rateLimit }, {}, {});
    expect(first?.headers.get("anthropic-ratelimit-requests-limit")).toBe("1");
    expect(first?.headers.get("anthropic-ratelimit-requests-remaining")).toBe("0");
    expect(first?.headers.get("anthropic-ratelimit-requests-reset")).toBe("2026-11-23T10:01:00Z");
    expect(first?.headers.get("anthropic-ratelimit-tokens-limit")).toBe("10000");
    expect(first?.headers.get("x-ratelimit-limit-requests")).toBeNull();
    expect([second?.status, second?.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(second?.body).toMatchObject({ type: "error", error: { type: "rate_limit_error" } });
  });
});

describe("SIM-22 Anthropic's prompt cache", () => {
  const long = "x".repeat(8_000);
  const marked = (ttl?: "5m" | "1h") => ({
    system: [{ type: "text", text: long, cache_control: { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) } }],
  });
  const usageOf = ({ body }: Answer) => body["usage"] as Record<string, unknown>;

  test("SIM-22 a marked beginning is written once and read until its lifetime ends", async () => {
    let now = 0;
    const clock = { now: () => now, sleep: async () => {} };
    await using simulator = await startSimulator({ rules: [], clock });
    const turn = async (afterMs: number, body: object) => {
      now += afterMs;
      const usage = usageOf(await ask(simulator, body));
      return [usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]];
    };
    const [written] = await turn(0, marked());
    expect(written).toBeGreaterThan(2_000);
    expect(await turn(299_000, marked())).toEqual([0, written]);
    expect(await turn(299_000, marked())).toEqual([0, written]);
    expect(await turn(301_000, marked())).toEqual([written, 0]);
    expect(await turn(0, { system: [{ type: "text", text: `${long}!` }] })).toEqual([0, 0]);
  });

  test("SIM-22 a beginning is looked for twenty blocks back from a mark, and not further", async () => {
    const begun = { type: "text", text: long, cache_control: { type: "ephemeral" } };
    const after = (blocks: number) => ({
      system: [
        { type: "text", text: long },
        ...Array.from({ length: blocks }, (_, n) => ({ type: "text", text: `block ${n}` })),
        { type: "text", text: "end", cache_control: { type: "ephemeral" } },
      ],
    });
    for (const [blocks, isRead] of [
      [19, true],
      [20, false],
    ] as const) {
      const [first, second] = await asked({ rules: [] }, { system: [begun] }, after(blocks));
      const written = usageOf(first as Answer)["cache_creation_input_tokens"];
      expect(usageOf(second as Answer)["cache_read_input_tokens"]).toBe(isRead ? written : 0);
    }
  });

  test("SIM-22 a mark of an hour is read an hour later, and a beginning of less than 1,024 tokens is not kept", async () => {
    let now = 0;
    const clock = { now: () => now, sleep: async () => {} };
    await using simulator = await startSimulator({ rules: [], clock });
    const written = usageOf(await ask(simulator, marked("1h")))["cache_creation_input_tokens"];
    now += 3_600_000;
    expect(usageOf(await ask(simulator, marked("1h")))["cache_read_input_tokens"]).toBe(written);
    now += 3_600_001;
    expect(usageOf(await ask(simulator, marked("1h")))["cache_read_input_tokens"]).toBe(0);
    for (const [tokens, isKept] of [
      [1_023, false],
      [1_024, true],
    ] as const) {
      // Four characters of a block's JSON are a token.
      const text = "y".repeat(4 * tokens - JSON.stringify({ type: "text", text: "" }).length);
      const usage = usageOf(
        await ask(simulator, { system: [{ type: "text", text, cache_control: { type: "ephemeral" } }] }),
      );
      expect(usage["cache_creation_input_tokens"]).toBe(isKept ? tokens : 0);
    }
  });

  test("SIM-22 the tokens that are written are counted by their lifetime, and all of them add up", async () => {
    const [first, second, plain] = await asked(
      { rules: [] },
      marked("1h"),
      {
        ...marked("1h"),
        messages: [{ role: "user", content: [{ type: "text", text: long, cache_control: { type: "ephemeral" } }] }],
      },
      { system: "short" },
    );
    const [one, two] = [usageOf(first as Answer), usageOf(second as Answer)];
    expect(one["cache_creation"]).toEqual({
      ephemeral_5m_input_tokens: 0,
      ephemeral_1h_input_tokens: one["cache_creation_input_tokens"],
    });
    expect(two["cache_read_input_tokens"]).toBe(one["cache_creation_input_tokens"]);
    expect(two["cache_creation"]).toEqual({
      ephemeral_5m_input_tokens: two["cache_creation_input_tokens"],
      ephemeral_1h_input_tokens: 0,
    });
    expect(two["cache_creation_input_tokens"]).toBeGreaterThan(2_000);
    expect(two["input_tokens"]).toBe(0);
    expect(usageOf(plain as Answer)).toMatchObject({ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 });
  });
});
