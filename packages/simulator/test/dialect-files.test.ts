import { startSimulator, type SimulatedMessage } from "@proviso/simulator";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";

const bytes = Buffer.from("not really a picture");
const data = bytes.toString("base64");
const sent = { bytes: bytes.length, hash: createHash("sha256").update(bytes).digest("hex") };

/** What the simulator reads of a body, and its status. */
async function readBy(path: string, body: object): Promise<{ status: number; messages: readonly SimulatedMessage[] }> {
  let messages: readonly SimulatedMessage[] = [];
  await using simulator = await startSimulator({
    rules: [(request) => ((messages = request.messages), { text: "ok" })],
  });
  const response = await fetch(`${new URL(simulator.baseURL).origin}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-api-key": "key-12345678",
      "x-goog-api-key": "key-12345678",
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify(body),
  });
  await response.text();
  return { status: response.status, messages };
}
const anthropic = (content: readonly object[], before: readonly object[] = []) =>
  readBy("/v1/messages", {
    model: "claude-sonnet-4-5",
    max_tokens: 100,
    messages: [...before, { role: "user", content }],
  });
const gemini = (parts: readonly object[], before: readonly object[] = []) =>
  readBy("/v1beta/models/gemini-3-pro-preview:generateContent", { contents: [...before, { role: "user", parts }] });

test("SIM-25 Anthropic's images and documents are files of the message, and the texts around them are one", async () => {
  const { messages } = await anthropic([
    { type: "text", text: "Look: " },
    { type: "image", source: { type: "base64", media_type: "image/png", data } },
    { type: "document", title: "a.pdf", source: { type: "base64", media_type: "application/pdf", data } },
    { type: "document", source: { type: "text", media_type: "text/plain", data: "a note" } },
    { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
    { type: "document", source: { type: "file", file_id: "file_1" } },
    { type: "text", text: "Well?" },
  ]);
  expect(messages[0]?.text).toBe("Look: Well?");
  expect(messages[0]?.files).toEqual([
    { mediaType: "image/png", ...sent },
    { name: "a.pdf", mediaType: "application/pdf", ...sent },
    expect.objectContaining({ mediaType: "text/plain", bytes: 6 }),
    { url: "https://example.com/a.png" },
    { id: "file_1" },
  ]);
});

test("SIM-25 files of Anthropic's tool results are files of the tool's message", async () => {
  const call = { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "chart", input: {} }] };
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
  const content = [{ type: "text", text: "Drawn." }, image];
  const { messages } = await anthropic(
    [{ type: "tool_result", tool_use_id: "toolu_1", content }],
    [{ role: "user", content: "Draw." }, call],
  );
  expect(messages.at(-1)).toMatchObject({ role: "tool", text: "Drawn.", files: [{ mediaType: "image/png", ...sent }] });
});

test.each([
  ["a type that it does not take", { type: "base64", media_type: "image/tiff", data }],
  ["what is no base64", { type: "base64", media_type: "image/png", data: "%%%" }],
  ["no data", { type: "base64", media_type: "image/png" }],
  ["a source of no known type", { type: "disk", path: "/etc/passwd" }],
])("SIM-25 an image of Anthropic's wire with %s is a 400", async (_, source) => {
  expect((await anthropic([{ type: "image", source }])).status).toBe(400);
});

test("SIM-25 Gemini's data and addresses are files of the message, the model's own included", async () => {
  const { messages } = await gemini(
    [
      { text: "Look: " },
      { inlineData: { mimeType: "audio/wav", data } },
      { fileData: { mimeType: "video/mp4", fileUri: "https://files.example/1" } },
      { text: "Well?" },
    ],
    [
      { role: "user", parts: [{ text: "Draw." }] },
      { role: "model", parts: [{ text: "Here: " }, { inlineData: { mimeType: "image/png", data } }] },
    ],
  );
  expect(messages.map(({ role, text, files }) => ({ role, text, files }))).toEqual([
    { role: "user", text: "Draw.", files: undefined },
    { role: "assistant", text: "Here: ", files: [{ mediaType: "image/png", ...sent }] },
    {
      role: "user",
      text: "Look: Well?",
      files: [
        { mediaType: "audio/wav", ...sent },
        { mediaType: "video/mp4", url: "https://files.example/1" },
      ],
    },
  ]);
});

test("SIM-25 files of Gemini's function responses are files of the tool's message", async () => {
  const parts = [{ inlineData: { mimeType: "image/png", data } }];
  const answer = { functionResponse: { name: "chart", response: { content: "Drawn." }, parts } };
  const { messages } = await gemini(
    [answer],
    [
      { role: "user", parts: [{ text: "Draw." }] },
      { role: "model", parts: [{ functionCall: { name: "chart", args: {} } }] },
    ],
  );
  expect(messages.at(-1)).toMatchObject({ role: "tool", text: "Drawn.", files: [{ mediaType: "image/png", ...sent }] });
});

test("SIM-25 data of Gemini's wire that is no base64 is a 400", async () => {
  expect((await gemini([{ inlineData: { mimeType: "image/png", data: "%%%" } }])).status).toBe(400);
});
