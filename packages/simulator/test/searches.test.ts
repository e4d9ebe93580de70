import { startSimulator, type AnswerStep, type Simulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { errorOf, responses, type Answer } from "./support.ts";

const step: AnswerStep = {
  text: "It is 24.",
  searches: [{ query: "node", results: [{ url: "https://nodejs.org", title: "Node.js" }] }],
};
const anthropic = (turns: readonly object[], tools: readonly object[]) => ({
  model: "m",
  max_tokens: 100,
  messages: turns,
  tools,
});
async function messages(simulator: Simulator, body: object): Promise<Answer> {
  const response = await fetch(`${simulator.baseURL}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "key", "anthropic-version": "2023-06-01" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Answer["body"], headers: response.headers };
}
const search = { type: "web_search_20250305", name: "web_search" };

test("SIM-26 Responses: the search is an item before the message, which cites what was found", async () => {
  await using simulator = await startSimulator({ steps: [step, step, step] });
  const tools = [{ type: "web_search" }];
  const { body } = await responses(simulator, { input: "Which?", tools });
  const output = body["output"] as readonly { readonly [key: string]: unknown }[];
  expect(output).toMatchObject([
    { type: "web_search_call", status: "completed", action: { query: "node" } },
    { content: [{ annotations: [{ type: "url_citation", url: "https://nodejs.org", start_index: 0, end_index: 9 }] }] },
  ]);
  const asked = { role: "user", content: "Which?" };
  expect((await responses(simulator, { input: [asked, output[0], asked], tools })).status).toBe(200);
  const other = { ...output[0], id: "fc_1" };
  expect(errorOf(await responses(simulator, { input: [asked, other], tools })).message).toContain("begins with 'ws'");
});

test("SIM-26 Anthropic: a search goes back as it came, with its result and its seal", async () => {
  await using simulator = await startSimulator({ steps: [step, step] });
  const asked = { role: "user", content: "Which?" };
  const { body } = await messages(simulator, anthropic([asked], [search]));
  const content = body["content"] as readonly { readonly [key: string]: unknown }[];
  expect(content).toMatchObject([
    { type: "server_tool_use", input: { query: "node" } },
    { type: "web_search_tool_result", content: [{ url: "https://nodejs.org" }] },
    { type: "text", citations: [{ title: "Node.js" }] },
  ]);
  expect(body["usage"]).toMatchObject({ server_tool_use: { web_search_requests: 1 } });
  const again = (blocks: readonly unknown[]) =>
    messages(simulator, anthropic([asked, { role: "assistant", content: blocks }, asked], [search]));
  expect((await again(content)).status).toBe(200);
  expect(errorOf(await again([content[0], content[2]])).message).toContain("without a corresponding");
  expect(errorOf(await again([content[1], content[2]])).message).toContain("unexpected `tool_use_id`");
  const forged = {
    ...content[1],
    content: [{ type: "web_search_result", url: "https://x.example", title: "x", encrypted_content: "x" }],
  };
  expect(errorOf(await again([content[0], forged, content[2]])).message).toContain("Invalid `encrypted_content`");
  const odd = anthropic([asked], [{ ...search, name: "find" }]);
  expect((await messages(simulator, odd)).status).toBe(400);
});

test("SIM-26 Gemini: a candidate says what it rests on, in bytes of its text", async () => {
  await using simulator = await startSimulator({ steps: [{ ...step, text: "✓ 24" }] });
  const contents = [{ role: "user", parts: [{ text: "Which?" }] }];
  const path = "beta/models/m:generateContent";
  const url = simulator.baseURL.replace(/\/v1$/, "/v1") + path;
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-goog-api-key": "key" },
    body: JSON.stringify({ contents, tools: [{ googleSearch: {} }] }),
  });
  expect(await response.json()).toMatchObject({
    candidates: [
      {
        groundingMetadata: {
          webSearchQueries: ["node"],
          groundingChunks: [{ web: { uri: "https://nodejs.org", title: "Node.js" } }],
          groundingSupports: [{ segment: { startIndex: 0, endIndex: 6, text: "✓ 24" }, groundingChunkIndices: [0] }],
        },
      },
    ],
  });
});

test("SIM-26 a step that searches where no search is offered is the script's mistake", async () => {
  await using simulator = await startSimulator({ steps: [step] });
  const answer = await responses(simulator, { input: "Which?" });
  expect(answer.status).toBe(500);
  expect(errorOf(answer).message).toContain("offers no search");
});

test.each([
  [{ searches: {} }, "must be a list"],
  [{ searches: [{ query: 1, results: [] }] }, "query must be a text"],
  [{ searches: [{ query: "q", results: [{ url: "u" }] }] }, "must have a url and a title"],
  [{ searches: [{ query: "q", found: [] }] }, 'there is no "found"'],
])("SIM-17 SIM-26 %j is refused at the start", async (given, why) => {
  await expect(startSimulator({ steps: [given as never] })).rejects.toThrow(why);
});
