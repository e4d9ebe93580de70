import { errorStep, startSimulator, type Simulator, type SimulatorOptions } from "@proviso/simulator";
import { describe, expect, test } from "vitest";

type Body = { readonly [key: string]: unknown };
interface Answer {
  readonly status: number;
  readonly body: Body;
  readonly headers: Headers;
}

const hello = { role: "user", parts: [{ text: "Hello" }] };
const lookUp = [{ functionDeclarations: [{ name: "look_up", parametersJsonSchema: { type: "object" } }] }];
const model = "models/gemini-2.5-flash";

function urlOf({ port }: Simulator, method: string): string {
  return `http://127.0.0.1:${port}/v1beta/${model}:${method}`;
}

async function ask(simulator: Simulator, body: object, headers: object = { "x-goog-api-key": "key" }): Promise<Answer> {
  const response = await fetch(urlOf(simulator, "generateContent"), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ contents: [hello], ...body }),
  });
  return { status: response.status, body: (await response.json()) as Body, headers: response.headers };
}

async function asked(options: SimulatorOptions, ...bodies: readonly object[]): Promise<readonly Answer[]> {
  await using simulator = await startSimulator(options);
  const answers: Answer[] = [];
  for (const body of bodies) answers.push(await ask(simulator, body));
  return answers;
}

const candidateOf = (answer: Answer | undefined) => (answer?.body["candidates"] as readonly Body[] | undefined)?.[0];

describe("SIM-23 Gemini's generateContent", () => {
  test("SIM-23 a text, thoughts and calls are parts, with the reason for the end", async () => {
    const steps = [
      { text: "Hello." },
      { reasoning: "Hm.", toolCalls: [{ name: "look_up", arguments: { word: "a" }, id: "c1" }, { name: "look_up" }] },
    ];
    const [text, calls] = await asked({ steps }, {}, { tools: lookUp });
    expect(text?.body).toMatchObject({
      candidates: [{ content: { role: "model", parts: [{ text: "Hello." }] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { candidatesTokenCount: 2, promptTokensDetails: [{ modality: "TEXT" }] },
      modelVersion: "gemini-2.5-flash",
    });
    expect(text?.body["usageMetadata"]).not.toHaveProperty("cachedContentTokenCount");
    expect(candidateOf(calls)).toMatchObject({
      content: {
        parts: [
          { text: "Hm.", thought: true },
          {
            functionCall: { id: "c1", name: "look_up", args: { word: "a" } },
            thoughtSignature: expect.any(String) as string,
          },
          { functionCall: { name: "look_up", args: {} } },
        ],
      },
      finishReason: "STOP",
    });
    expect(calls?.body["usageMetadata"]).toMatchObject({ thoughtsTokenCount: 1 });
  });

  test("SIM-23 a structured answer goes into the function that has to be called", async () => {
    const step = { output: { a: 1 } };
    const json = { name: "json", parametersJsonSchema: { type: "object" } };
    const tools = [{ functionDeclarations: [...lookUp[0]!.functionDeclarations, json] }];
    const calling = (mode: string, more: object = {}) => ({
      tools,
      toolConfig: { functionCallingConfig: { mode, ...more } },
    });
    const both = { functionDeclarations: [json, { ...json, name: "json_1" }] };
    const [any, besideOwn, allowed, auto] = await asked(
      { steps: [step, step, step, step] },
      calling("ANY"),
      { ...calling("ANY"), tools: [both] },
      calling("ANY", { allowedFunctionNames: ["look_up"] }),
      calling("AUTO"),
    );
    const called = (name: string) => ({ content: { parts: [{ functionCall: { name, args: { a: 1 } } }] } });
    expect(candidateOf(any)).toMatchObject(called("json"));
    expect(candidateOf(besideOwn)).toMatchObject(called("json_1"));
    expect(candidateOf(allowed)).toMatchObject(called("look_up"));
    expect(candidateOf(auto)).toMatchObject({ content: { parts: [{ text: '{"a":1}' }] } });
  });

  test("SIM-23 its reasons for an end that is none", async () => {
    const steps = [
      { text: "x".repeat(1_000) },
      { text: "one two" },
      { text: "Some", finishReason: "content_filter" },
      { finishReason: "content_filter" },
      { refusal: "I cannot." },
      { toolCalls: [{ name: "look_up", arguments: "{bad" }] },
    ] as const;
    const answers = await asked(
      { steps },
      { generationConfig: { maxOutputTokens: 10 } },
      { generationConfig: { stopSequences: [" two"] } },
      {},
      {},
      {},
      { tools: lookUp },
    );
    expect(answers.map((answer) => candidateOf(answer)?.["finishReason"])).toEqual([
      "MAX_TOKENS",
      "STOP",
      "SAFETY",
      undefined,
      "PROHIBITED_CONTENT",
      "MALFORMED_FUNCTION_CALL",
    ]);
    expect(candidateOf(answers[0])).toMatchObject({ content: { parts: [{ text: "x".repeat(40) }] } });
    expect(candidateOf(answers[1])).toMatchObject({ content: { parts: [{ text: "one" }] } });
    expect(answers[3]?.body["promptFeedback"]).toEqual({ blockReason: "PROHIBITED_CONTENT" });
  });

  test("SIM-23 a stream's events are answers, and the last has the reason", async () => {
    await using simulator = await startSimulator({ steps: [{ text: "Hello you." }], chunkCharacters: 5 });
    const response = await fetch(`${urlOf(simulator, "streamGenerateContent")}?alt=sse&key=k`, {
      method: "POST",
      body: JSON.stringify({ contents: [hello] }),
    });
    const events = (await response.text())
      .split("\n\n")
      .filter((event) => event !== "")
      .map((event) => JSON.parse(event.slice(6)) as Body);
    const candidates = events.map(({ candidates }) => (candidates as readonly Body[])[0] ?? {});
    const texts = candidates.map(({ content }) => (content as { parts: { text: string }[] }).parts[0]?.text);
    expect(texts).toEqual(["Hello", " you."]);
    expect(candidates.map(({ finishReason }) => finishReason)).toEqual([undefined, "STOP"]);
    expect(events[0]?.["usageMetadata"]).not.toHaveProperty("candidatesTokenCount");
    const bare = await fetch(urlOf(simulator, "streamGenerateContent"), {
      method: "POST",
      headers: { "x-goog-api-key": "k" },
      body: JSON.stringify({ contents: [hello] }),
    });
    expect(await bare.text()).toContain("streamGenerateContent without alt=sse");
  });

  test("SIM-23 rules read both forms of an answer to a call, by its id or its place", async () => {
    const seen: unknown[] = [];
    await using simulator = await startSimulator({
      rules: [
        (request) => {
          seen.push(request.system, request.stream, request.toolResults());
          return { text: "Done." };
        },
      ],
    });
    const parts = [
      { functionCall: { id: "a", name: "look_up", args: { n: 1 } } },
      { functionCall: { name: "look_up", args: { n: 2 } } },
    ];
    const answers = [
      { functionResponse: { id: "a", name: "look_up", response: { name: "look_up", content: "one" } } },
      { functionResponse: { name: "look_up", response: { output: "two" } } },
    ];
    const contents = [hello, { role: "model", parts }, { role: "user", parts: answers }];
    await ask(simulator, { contents, tools: lookUp, systemInstruction: { parts: [{ text: "Be brief." }] } });
    expect(seen).toMatchObject([
      "Be brief.",
      false,
      [
        { callId: "a", name: "look_up", arguments: { n: 1 }, text: "one" },
        { name: "look_up", arguments: { n: 2 }, text: "two" },
      ],
    ]);
  });
});

describe("SIM-24 what Gemini's service refuses", () => {
  const call = { role: "model", parts: [{ functionCall: { name: "look_up", args: {} } }] };
  const answer = { role: "user", parts: [{ functionResponse: { name: "look_up", response: {} } }] };
  test.each([
    [{ contents: undefined }, "contents is not specified"],
    [{ temperature: 1 }, 'Unknown name "temperature": Cannot find field.'],
    [{ generationConfig: { max_tokens: 1 } }, "Unknown name \"max_tokens\" at 'generation_config'"],
    [{ generationConfig: { temperature: 3 } }, "temperature value of 3 but the supported range is from 0 to 2"],
    [{ generationConfig: { responseJsonSchema: {} } }, "requires response_mime_type to be application/json"],
    [{ generationConfig: { candidateCount: 2 } }, "(simulator_not_supported)"],
    [{ contents: [{ role: "assistant", parts: [{ text: "a" }] }] }, "Please use a valid role: user, model."],
    [{ contents: [{ role: "user", parts: [] }] }, "contents.parts must not be empty"],
    [{ contents: [{ role: "user", parts: [{ thought: true }] }] }, "must have one initialized field"],
    [{ contents: [hello, call] }, "the number of function response parts is equal"],
    [{ contents: [hello, call, hello] }, "the number of function response parts is equal"],
    [{ contents: [hello, answer] }, "function response turn comes immediately after a function call turn"],
    [{ contents: [call, answer] }, "function call turn comes immediately after a user turn"],
    [{ tools: [{ functionDeclarations: [{ name: "1 a" }] }] }, "Invalid function name."],
    [{ toolConfig: { functionCallingConfig: { mode: "ANY" } } }, "without function_declarations"],
    [{ tools: [{ codeExecution: {} }] }, "(simulator_not_supported)"],
  ])("SIM-24 %j", async (body, message) => {
    const [refused] = await asked({ rules: [] }, body);
    expect([refused?.status, refused?.body]).toMatchObject([400, { error: { code: 400, status: "INVALID_ARGUMENT" } }]);
    expect(JSON.stringify(refused?.body)).toContain(JSON.stringify(message).slice(1, -1));
  });
});

describe("SIM-21 errors in Gemini's shape", () => {
  test("SIM-21 a key that is missing or wrong, a quota of the day, and what a program writes", async () => {
    await using simulator = await startSimulator({
      apiKey: "right",
      rules: [({ api }) => errorStep(api, { status: 429, message: "Enough.", code: "insufficient_quota" })],
    });
    const none = await ask(simulator, {}, {});
    expect([none.status, none.body]).toMatchObject([403, { error: { status: "PERMISSION_DENIED" } }]);
    const wrong = await ask(simulator, {});
    expect(wrong.body).toMatchObject({
      error: { code: 400, status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] },
    });
    const spent = await ask(simulator, {}, { "x-goog-api-key": "right" });
    expect(spent.body).toMatchObject({ error: { code: 429, status: "RESOURCE_EXHAUSTED" } });
    expect(JSON.stringify(spent.body)).toContain("GenerateRequestsPerDay");
  });

  test("SIM-21 SIM-16 a limit stands in the body alone, with how long to wait", async () => {
    const clock = { now: () => 0, sleep: async () => {} };
    const [first, second] = await asked({ rules: [], clock, rateLimit: { requestsPerMinute: 1 } }, {}, {});
    expect([...(first?.headers.keys() ?? [])].filter((name) => name.includes("ratelimit"))).toEqual([]);
    expect([second?.status, second?.headers.get("retry-after")]).toEqual([429, null]);
    expect(JSON.stringify(second?.body)).toContain('"retryDelay":"60s"');
  });
});

test("SIM-22 Gemini reads what was sent before from its cache, unasked and from 1,024 tokens on", async () => {
  const long = { systemInstruction: { parts: [{ text: "x".repeat(8_000) }] } };
  const more = { ...long, contents: [hello, { role: "model", parts: [{ text: "Hi." }] }, hello] };
  const short = { systemInstruction: { parts: [{ text: "x" }] } };
  const answers = await asked({ rules: [] }, long, more, short, short);
  const cached = answers.map(({ body }) => (body["usageMetadata"] as Body)["cachedContentTokenCount"]);
  expect(cached).toEqual([undefined, expect.any(Number), undefined, undefined]);
  expect(cached[1]).toBeGreaterThan(2_000);
});
