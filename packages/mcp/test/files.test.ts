import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { definePrompt, defineTool, linkedFile, toolError, toolOk, type FileLike } from "@proviso/core";
import { connectMcp, mcpTools } from "@proviso/mcp";
import { serveMcp } from "@proviso/mcp/server";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, testImage } from "@proviso/runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

const picture = testImage({ width: 12, height: 9, name: "chart.png" });
const sound = new File(["RIFF....WAVEfmt "], "voice.wav", { type: "audio/wav" });
const paper = new File(["%PDF-1.7 and more"], "the paper.pdf", { type: "application/pdf" });
const link = linkedFile("https://example.com/a.png", { mediaType: "image/png" });

const draw = (files: readonly FileLike[], message = "Drawn.") =>
  defineTool({
    name: "draw",
    description: "Draws.",
    input: z.object({}),
    execute: () => toolOk(null, { message, files }),
  });
const base64 = async (file: File): Promise<string> => Buffer.from(await file.bytes()).toString("base64");

/** A service with these tools, over HTTP on this machine. */
async function served(tools: Parameters<typeof serveMcp>[0]["tools"], more: object = {}) {
  const service = serveMcp({ name: "drawing", tools, ...more });
  onTestFinished(() => service.close());
  return service.listen();
}

/** The official client's answer to a call of the tool. */
async function answerTo(tool: ReturnType<typeof draw>, more: object = {}) {
  const { url, headers } = await served([tool], more);
  const client = new Client({ name: "official", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as never);
  onTestFinished(() => client.close());
  return client.callTool({ name: "draw", arguments: {} });
}

test("SRV-2 files of a result are blocks behind its text: pictures, sound, embedded resources and links", async () => {
  expect(await answerTo(draw([picture, sound, paper, link]))).toMatchObject({
    content: [
      { type: "text", text: "Drawn." },
      { type: "image", mimeType: "image/png", data: await base64(picture) },
      { type: "audio", mimeType: "audio/wav", data: await base64(sound) },
      {
        type: "resource",
        resource: { uri: "file:///the%20paper.pdf", mimeType: "application/pdf", blob: await base64(paper) },
      },
      { type: "resource_link", uri: link.url, name: "a.png", mimeType: "image/png" },
    ],
  });
});

test("SRV-2 a result of a file alone has no empty text, and a secret in a file's name loses no bytes", async () => {
  const { content } = await answerTo(draw([picture], ""), { secrets: ["chart"] });
  expect(content).toEqual([{ type: "image", mimeType: "image/png", data: await base64(picture) }]);
});

test("MCP-4 SRV-2 a picture of a served tool reaches the model of the client as a file", async () => {
  const { url, headers } = await served([draw([picture, paper])]);
  await using server = await connectMcp({ url, headers });
  const model = scriptedModel([{ toolCalls: [{ name: "draw", id: "call_1" }] }, { text: "A chart." }], {
    capabilities: { files: { types: ["image/png"], from: ["stored"], inToolResults: ["image/png"] } },
  });
  const prompt = definePrompt({
    key: "see",
    sections: [{ key: "task", role: "user", text: "Draw.", tools: mcpTools(server) }],
  });
  const { toolResults } = await modelAdapter(model).evaluate(prompt.bind(), { session: createSession() });
  const message = model.requests[1]?.messages.find(({ role }) => role === "tool");
  expect(message?.text).toBe(
    "Drawn.\n\n[image image-1.png] [file the paper.pdf]\n[file the paper.pdf, 17 bytes: not shown, this model takes image/png]",
  );
  const [placed] = message?.files ?? [];
  expect(model.requests[1]?.bytesOf?.(placed?.file as never)).toEqual(await picture.bytes());
  expect(toolResults[0]?.result).toMatchObject({
    success: true,
    files: [{ bytes: picture.size }, { bytes: paper.size }],
  });
});

test("SRV-1 a call whose file is not what it claims is isError", async () => {
  const wrong = new File(["no picture"], "a.png", { type: "image/png" });
  expect(await answerTo(draw([wrong]))).toMatchObject({
    isError: true,
    content: [{ type: "text", text: "The file a.png claims to be image/png, but its bytes are no such file." }],
  });
});

test("SRV-1 a failed call has its message alone", async () => {
  const fail = defineTool({
    name: "draw",
    description: "Fails.",
    input: z.object({}),
    execute: () => toolError("No."),
  });
  expect(await answerTo(fail as never)).toMatchObject({ isError: true, content: [{ type: "text", text: "No." }] });
});
