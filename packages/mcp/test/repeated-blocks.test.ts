import { InMemoryTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { definePrompt, type FrameworkEvent } from "@proviso/core";
import { connectMcp, mcpTools } from "@proviso/mcp";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, testImage } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const picture = Buffer.from(await testImage({ width: 40, height: 30 }).bytes());
const base64 = picture.toString("base64");
const sound = Buffer.concat([Buffer.from("RIFF....WAVEfmt "), Buffer.alloc(500, "wave")]);
const paper = Buffer.concat([Buffer.from("%PDF-1.7 "), Buffer.alloc(500, "paper")]);

const image = { type: "image", data: base64, mimeType: "image/png" };
const audio = { type: "audio", data: sound.toString("base64"), mimeType: "audio/wav" };
const resource = {
  type: "resource",
  resource: { uri: "file:///paper.pdf", mimeType: "application/pdf", blob: paper.toString("base64") },
};
const text = (said: string) => ({ type: "text", text: said });

/** What a model reads of an answer, its value, and all that messages, events, responses and session JSON hold. */
async function readOf(answer: object, outputSchema?: object) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: "s", version: "1" }, { capabilities: { tools: {} } });
  const listed = { name: "look", description: "Looks.", inputSchema: { type: "object" as const }, outputSchema };
  server.setRequestHandler("tools/list", () => ({ tools: [listed as never] }));
  server.setRequestHandler("tools/call", () => answer as never);
  await server.connect(theirs);
  await using connection = await connectMcp({ transport: ours });
  const model = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }, { text: "Seen." }], {
    capabilities: { files: { types: ["image/png", "audio/wav", "application/pdf"], from: ["stored"] } },
  });
  const prompt = definePrompt({
    key: "look",
    sections: [{ key: "s", role: "user", text: "Look.", tools: mcpTools(connection) }],
  });
  const [session, events] = [createSession(), [] as FrameworkEvent[]];
  session.on("*", (event) => void events.push(event as FrameworkEvent));
  const response = await modelAdapter(model).evaluate(prompt.bind(), { session });
  const read = response.messages.find(({ role }) => role === "tool")?.text ?? "";
  const { result } = response.toolResults[0] ?? {};
  const kept = JSON.stringify([response, events, session.toJSON(), model.requests]);
  for (const bytes of [picture, sound, paper]) {
    for (const form of ["base64", "base64url"] as const) {
      // A multiple of three bytes on each side: the same letters as in the whole.
      expect(kept.includes(bytes.subarray(120, 120 + 66).toString(form))).toBe(false);
    }
  }
  return { read, value: result?.success === true ? result.value : result, result };
}

test.each([
  ["{ content: blocks }", { content: [image, audio, resource] }],
  ["a list under another name", { result: [image, audio, resource] }],
])("MCP-4 FILE-1 structured content that repeats the blocks, as %s, is read as the blocks alone", async (_, again) => {
  const { read, value, result } = await readOf({ content: [image, audio, resource], structuredContent: again });
  expect(read).toBe("Done.\n\n[image image-1.png] [audio audio-2.wav] [file paper.pdf]");
  const [items] = Object.values(value as Record<string, readonly object[]>);
  expect(items).toEqual([
    { ...image, data: "[image image-1.png]" },
    { ...audio, data: "[audio audio-2.wav]" },
    { ...resource, resource: { ...resource.resource, blob: "[file paper.pdf]" } },
  ]);
  expect(result).toMatchObject({ hideValue: true, files: [{ bytes: picture.length }, {}, { bytes: paper.length }] });
});

test("MCP-4 FILE-1 so is one block that is repeated alone, and text beside a picture", async () => {
  expect((await readOf({ content: [image], structuredContent: image })).read).toBe("Done.\n\n[image image-1.png]");
  const blocks = [text("A chart."), { ...image, annotations: { priority: 1 } }];
  const { read } = await readOf({ content: blocks, structuredContent: { content: [text("A chart."), image] } });
  expect(read).toBe("A chart.\n\n[image image-1.png]");
});

test("MCP-4 FILE-1 what structured content says beside the blocks is read, and the data of a file is its name", async () => {
  const { read, value } = await readOf({
    content: [image],
    structuredContent: {
      caption: "A chart.",
      picture: base64,
      address: `data:image/png;base64,${base64}`,
      forTheWeb: picture.toString("base64url"),
      inLines: base64.replace(/.{76}/g, "$&\r\n"),
    },
  });
  const label = "[image image-1.png]";
  const named = { caption: "A chart.", picture: label, forTheWeb: label, inLines: label };
  expect(value).toEqual({ ...named, address: `data:image/png;base64,${label}` });
  expect(read).toContain('"caption":"A chart."');
  // More than the blocks say is no repetition.
  const scored = await readOf({ content: [image], structuredContent: { content: [{ ...image, score: 0.9 }] } });
  expect(scored.read).toContain('"score":0.9');
});

test("MCP-4 FILE-1 text that repeats structured content with a picture in it is read once, without its data", async () => {
  const structuredContent = { caption: "A chart.", picture: base64 };
  const { read, value } = await readOf({
    content: [text(JSON.stringify(structuredContent, null, 2)), image],
    structuredContent,
  });
  expect(value).toEqual({ caption: "A chart.", picture: "[image image-1.png]" });
  expect(read.match(/A chart\./g)).toHaveLength(1);
  const said = await readOf({ content: [text(`Here: ${base64}`), image] });
  expect(said.read).toBe("Here: [image image-1.png]\n\n[image image-1.png]");
  const failed = await readOf({ content: [text(`No: ${base64}`), image], isError: true });
  expect(failed.read).toContain("No: [image image-1.png]");
});

test("MCP-4 what the server sent is checked with the output schema, and not what stands in the place of data", async () => {
  const outputSchema = {
    type: "object",
    properties: { picture: { type: "string", pattern: "^[A-Za-z0-9+/]+={0,2}$", minLength: 100 } },
    required: ["picture"],
  };
  const { value } = await readOf({ content: [image], structuredContent: { picture: base64 } }, outputSchema);
  expect(value).toEqual({ picture: "[image image-1.png]" });
  const { result } = await readOf({ content: [image], structuredContent: { picture: "no data" } }, outputSchema);
  expect(result).toMatchObject({ success: false });
});

test("MCP-4 data that is no file of the answer, and short texts, stay as they are", async () => {
  const other = Buffer.alloc(300, "other").toString("base64");
  const tiny = { type: "resource", resource: { uri: "file:///t.bin", blob: "AAAA" } };
  const structuredContent = { id: "AAAA", other, n: 1, none: null, list: [true] };
  expect((await readOf({ content: [tiny], structuredContent })).value).toEqual(structuredContent);
});

test.each([
  ["image", { type: "image", data: "", mimeType: "image/png" }, "[image image-2.png, image/png, 0 bytes: not shown]"],
  ["audio", { type: "audio", data: "", mimeType: "audio/wav" }, "[audio audio-2.wav, audio/wav, 0 bytes: not shown]"],
  [
    "resource",
    { type: "resource", resource: { uri: "file:///empty.pdf", mimeType: "application/pdf", blob: "" } },
    "[file empty.pdf, application/pdf, 0 bytes: not shown]",
  ],
])("MCP-4 an empty %s is a line, and the files beside it stay", async (_, empty, line) => {
  const { read, result } = await readOf({ content: [image, empty, text("Between."), resource] });
  expect(read).toBe(`${line}\n\nBetween.\n\n[image image-1.png] [file paper.pdf]`);
  expect(result).toMatchObject({
    success: true,
    files: [{ name: "image-1.png" }, { name: "paper.pdf" }],
  });
});
