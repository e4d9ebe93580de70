import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { Blobs, parseMessages, provide, type Message, type ProviderAdapter } from "@proviso/core";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { memoryBlobs } from "@proviso/runtime";
import { testImage } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { captured } from "./support/captured.ts";

const apiKey = "key-12345678";
const google = (baseURL: string): ProviderAdapter =>
  aiSdk({ model: createGoogle({ baseURL, apiKey })("gemini-3.8-flash-image") });
const anthropic = (baseURL: string): ProviderAdapter =>
  aiSdk({ model: createAnthropic({ baseURL, apiKey })("claude-sonnet-4-5") });

const base64 = Buffer.from(await testImage({ width: 30, height: 20 }).bytes()).toString("base64");
const thoughtSignature = "c2lnbmVk";

/** An answer of Gemini's that has these parts. */
function gemini(parts: readonly object[]) {
  const candidates = [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }];
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 9, totalTokenCount: 14 };
  return answering(200, JSON.stringify({ candidates, usageMetadata, modelVersion: "gemini-3.8-flash-image" }));
}

const drawn = [
  { text: "Thinking of lines.", thought: true },
  { text: "Here: " },
  { inlineData: { mimeType: "image/png", data: base64 }, thoughtSignature },
  { text: " Do you like it?" },
];
const resources = [provide(Blobs, memoryBlobs())];

/** The messages of a conversation in which Gemini made a picture. */
async function afterDrawing(): Promise<readonly Message[]> {
  await using server = await startServer(gemini(drawn));
  const { messages, files } = await google(server.baseURL).evaluate("Draw a house.", { resources });
  expect(files).toHaveLength(1);
  return messages;
}

/** What a model is sent of the answer with the picture. */
async function sentBy(
  make: (baseURL: string) => ProviderAdapter,
  messages: readonly Message[],
  fixture = "gemini-text.json",
): Promise<unknown> {
  await using server = await startServer(captured(fixture));
  await make(server.baseURL).evaluate("With a door.", { messages, resources });
  const body = server.requests[0]?.body as { contents?: readonly unknown[]; messages?: readonly unknown[] };
  return (body.contents ?? body.messages)?.[1];
}

const asDrawn = {
  role: "model",
  parts: [
    expect.objectContaining({ text: "Thinking of lines.", thought: true }),
    { text: "Here: " },
    { inlineData: { mimeType: "image/png", data: base64 }, thoughtSignature },
    { text: " Do you like it?" },
  ],
};

test("FILE-11 RSN-3 a picture that Gemini made goes back to it as a file, in its place and with its signature", async () => {
  expect(await sentBy(google, await afterDrawing())).toEqual(asDrawn);
});

test("FILE-1 FILE-11 the messages do not hold its bytes, and it goes back from the store after they were saved", async () => {
  const saved = JSON.stringify(await afterDrawing());
  expect(saved).not.toContain(base64.slice(40, 120));
  expect(await sentBy(google, parseMessages(JSON.parse(saved)))).toEqual(asDrawn);
});

test("FILE-11 another provider gets its label in the text", async () => {
  const sent = await sentBy(anthropic, await afterDrawing(), "anthropic-text.json");
  expect(sent).toEqual({
    role: "assistant",
    content: [{ type: "text", text: "Here: [image image-1.png] Do you like it?" }],
  });
});

test("FILE-11 FILE-12 an item that names a file that is not there is passed over for the text with its labels", async () => {
  const changed = JSON.stringify(await afterDrawing()).replace('"index":0', '"index":7');
  expect(await sentBy(google, parseMessages(JSON.parse(changed)))).toEqual({
    role: "model",
    parts: [{ text: "Here: [image image-1.png] Do you like it?" }],
  });
});
