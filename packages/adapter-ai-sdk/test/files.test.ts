import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { definePrompt, linkedFile, uploadedFile, type FileRef, type ProviderAdapter } from "@proviso/core";
import { startServer } from "@proviso/fault-matrix/loopback-server";
import { testImage } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { captured } from "./support/captured.ts";
import { mockModel } from "./support/mock-model.ts";

const apiKey = "key-12345678";
const see = definePrompt({
  key: "see",
  params: z.object({ file: z.custom<File | FileRef>(() => true) }),
  text: "What is {{file}}?",
});
const picture = testImage({ name: "photo.png" });
const heic = new File(["\0\0\0\u0018ftypheic\0\0\0\0"], "photo.heic", { type: "image/heic" });
const pdf = new File(["%PDF-1.7 and more"], "paper.pdf", { type: "application/pdf" });
const sound = new File(["RIFF....WAVEfmt "], "voice.wav", { type: "audio/wav" });
const text = new File(["a note"], "note.txt", { type: "text/plain" });
const link = linkedFile("https://example.com/a.png", { mediaType: "image/png" });
const linkedPdf = linkedFile("https://example.com/a.pdf", { mediaType: "application/pdf" });
const ids = { anthropic: "file_1", google: "https://files.example/file_1", openai: "file_1" };
const upload = uploadedFile(ids, { mediaType: "application/pdf", name: "paper.pdf" });
const given = { picture, heic, pdf, sound, text, link, linkedPdf, upload };

const wires: Readonly<Record<string, (baseURL: string) => ProviderAdapter>> = {
  anthropic: (baseURL) => aiSdk({ model: createAnthropic({ baseURL, apiKey })("claude-sonnet-4-5") }),
  gemini: (baseURL) => aiSdk({ model: createGoogle({ baseURL, apiKey })("gemini-2.5-flash") }),
  responses: (baseURL) => aiSdk({ model: createOpenAI({ baseURL, apiKey }).responses("gpt-5.4") }),
  chat: (baseURL) => aiSdk({ model: createOpenAI({ baseURL, apiKey }).chat("gpt-5.4") }),
  compatible: (baseURL) => aiSdk({ model: createOpenAICompatible({ name: "here", baseURL, apiKey })("some") }),
  litellm: (baseURL) => litellm({ model: "some", baseURL, apiKey }),
};
const answers: Readonly<Record<string, string>> = {
  anthropic: "anthropic-text.json",
  gemini: "gemini-text.json",
  responses: "responses-text.json",
};

/** What a wire sends of a file: "as it is" where its bytes, address or id are in the body; "text" where its text is. */
async function sentAs(wire: string, file: File | FileRef): Promise<"as it is" | "text" | "refused"> {
  const chat = JSON.stringify({
    id: "a",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
  });
  const fixture = answers[wire];
  await using server = await startServer(
    fixture === undefined
      ? (response) => response.writeHead(200, { "content-type": "application/json" }).end(chat)
      : captured(fixture),
  );
  const adapter = wires[wire]?.(server.baseURL) as ProviderAdapter;
  try {
    await adapter.evaluate(see.bind({ file }));
  } catch (error) {
    expect(error).toMatchObject({ code: "provider", reason: "bad_request" });
    expect(server.requests).toEqual([]);
    return "refused";
  }
  const body = JSON.stringify(server.requests[0]?.body);
  expect(body).toContain(file.name);
  if (!(file instanceof File)) {
    expect(body).toContain(file.kind === "link" ? file.url : "file_1");
    return "as it is";
  }
  const bytes = Buffer.from(await file.arrayBuffer());
  if (body.includes(bytes.toString("base64"))) return "as it is";
  expect(body).toContain(bytes.toString());
  return "text";
}

const table: Readonly<Record<string, Readonly<Record<keyof typeof given, "as it is" | "text" | "refused">>>> = {
  anthropic: row("as it is", { heic: "refused", sound: "refused", text: "text" }),
  gemini: row("as it is"),
  responses: row("as it is", { heic: "refused", sound: "refused", text: "text" }),
  chat: row("as it is", { heic: "refused", text: "text", linkedPdf: "refused" }),
  compatible: row("as it is", { heic: "refused", text: "text", linkedPdf: "refused", upload: "refused" }),
  litellm: row("as it is", { heic: "refused", text: "text", linkedPdf: "refused", upload: "refused" }),
};

function row<T>(usual: T, others: Partial<Record<keyof typeof given, T>> = {}): Record<keyof typeof given, T> {
  const all = Object.keys(given).map((name) => [name, usual]);
  return { ...(Object.fromEntries(all) as Record<keyof typeof given, T>), ...others };
}

describe.each(Object.keys(table))("%s", (wire) => {
  test.each(Object.entries(table[wire] ?? {}))("FILE-2 FILE-6 FILE-9 FILE-10 %s: %s", async (name, expected) => {
    expect(await sentAs(wire, given[name as keyof typeof given])).toBe(expected);
  });
});

test("FILE-6 a model of a package that is not known takes no files", async () => {
  const model = mockModel([]);
  await expect(aiSdk({ model }).evaluate(see.bind({ file: picture }))).rejects.toThrow("It takes no files.");
});
