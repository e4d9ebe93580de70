// Files that a server labels a little wrong: the call was done, and who uses the server cannot correct it.
import { InMemoryTransport, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { connectMcp, mcpTools, type McpConnection } from "@proviso/mcp";
import { definePrompt } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, testImage } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const png = Buffer.from(await testImage({ width: 40, height: 30 }).bytes());
const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(200, 0xfb)]);
const inPng = png.toString("base64");
const inJpeg = jpeg.toString("base64");

const resource = { uri: "file:///shots/last.png" };
const results: Readonly<Record<string, object>> = {
  "tools/list": { tools: [{ name: "shoot", description: "Shoots.", inputSchema: { type: "object" } }] },
  "resources/list": { resources: [{ ...resource, name: "last" }] },
};

/** A server of 2025 that answers to each method with its result, as it is. */
async function connectTo(more: Readonly<Record<string, object>>): Promise<McpConnection> {
  const [transport, theirs] = InMemoryTransport.createLinkedPair();
  theirs.onmessage = (message) => {
    const { id, method } = message as { readonly id?: number; readonly method: string };
    if (id === undefined) return;
    const initialized = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, resources: {}, prompts: {} },
      serverInfo: { name: "camera", version: "1" },
    };
    const result = method === "initialize" ? initialized : (more[method] ?? results[method]);
    const answer = result === undefined ? { error: { code: -32_601, message: "Method not found" } } : { result };
    void theirs.send({ jsonrpc: "2.0", id, ...answer } as JSONRPCMessage);
  };
  await theirs.start();
  return connectMcp({ transport });
}

/** What a model reads of the answer, and the files that it is given. */
async function readOf(
  answer: object,
  tool: { readonly name: string; readonly arguments?: object } = { name: "shoot" },
) {
  const more = tool.name === "shoot" ? { "tools/call": answer } : { "resources/read": answer };
  await using connection = await connectTo(more);
  const types = ["image/png", "image/jpeg"];
  const model = scriptedModel([{ toolCalls: [{ arguments: {}, ...tool }] }, { text: "Seen." }], {
    capabilities: { files: { types, from: ["stored"], inToolResults: types } },
  });
  const tools = mcpTools(connection, { resources: true });
  const prompt = definePrompt({ key: "look", sections: [{ key: "s", text: "Look.", tools }] });
  const { messages, toolResults } = await modelAdapter(model).evaluate(prompt.bind());
  const { result } = toolResults[0] ?? {};
  const files = result?.success === true ? result.files : undefined;
  return {
    read: messages.find(({ role }) => role === "tool")?.text,
    isDone: result?.success,
    types: files?.map((file) => file.mediaType) ?? [],
    bytes: files?.map((file) => (file.kind === "stored" ? file.bytes : undefined)) ?? [],
  };
}

const shot = (data: unknown, mimeType?: unknown) => ({
  content: [
    { type: "text", text: "Shot." },
    { type: "image", data, mimeType },
  ],
});

test.each([
  ["a JPEG as image/png", inJpeg, "image/png", "jpeg", "jpg"],
  ["a PNG as image/jpeg", inPng, "image/jpeg", "png", "png"],
  ["a PNG as audio/wav", inPng, "audio/wav", "png", "png"],
  ["image/jpg", inJpeg, "image/jpg", "jpeg", "jpg"],
  ["image/*", inPng, "image/*", "png", "png"],
  ["a name in capitals with a parameter", inPng, "IMAGE/PNG; charset=binary", "png", "png"],
  ["no type", inPng, undefined, "png", "png"],
  ["null as its type", inPng, null, "png", "png"],
  ["a data: URL", `data:image/png;base64,${inPng}`, "image/png", "png", "png"],
  ["base64url", jpeg.toString("base64url"), "image/jpeg", "jpeg", "jpg"],
  [
    "a data: URL with base64url of another type",
    `data:image/png;base64,${jpeg.toString("base64url")}`,
    "image/png",
    "jpeg",
    "jpg",
  ],
  ["line breaks", inPng.replaceAll(/.{76}/g, "$&\r\n"), "image/png", "png", "png"],
])(
  "MCP-4 FILE-5 a picture with %s is a file of the type that its bytes have",
  async (_, data, type, kind, extension) => {
    expect(await readOf(shot(data, type))).toEqual({
      read: `Shot.\n\n[image image-1.${extension}]`,
      isDone: true,
      types: [`image/${kind}`],
      bytes: [kind === "png" ? png.length : jpeg.length],
    });
  },
);

test("MCP-4 FILE-5 bytes that are no file of the type that is claimed are a file of no type", async () => {
  const { isDone, types, read } = await readOf(shot(Buffer.from("no picture").toString("base64"), "image/png"));
  expect([isDone, types]).toEqual([true, ["application/octet-stream"]]);
  expect(read).toBe("Shot.\n\n[file image-1]");
});

test.each([
  ["no base64", "data:image/svg+xml,<svg/>", "[image image/png: not shown, its data is not base64]"],
  ["an address", "https://camera.example/1.png", "[image image/png: not shown, its data is not base64]"],
  ["no data", undefined, "[image image/png: not shown, its data is not base64]"],
  ["no bytes", "", "[image image-1.png, image/png, 0 bytes: not shown]"],
])("MCP-4 FILE-7 a picture that is %s is a line beside the text, and the call is done", async (_, data, line) => {
  expect(await readOf(shot(data, "image/png"))).toMatchObject({ isDone: true, read: `Shot.\n\n${line}`, types: [] });
});

test("MCP-4 FILE-5 embedded data is corrected alike", async () => {
  const embedded = (more: object) => ({ content: [{ type: "resource", resource: { ...resource, ...more } }] });
  expect(await readOf(embedded({ mimeType: "image/png", blob: jpeg.toString("base64url") }))).toMatchObject({
    isDone: true,
    types: ["image/jpeg"],
  });
  expect(await readOf(embedded({ mimeType: null, blob: `data:;base64,${inPng}` }))).toMatchObject({
    types: ["image/png"],
  });
  expect(await readOf(embedded({ mimeType: "image/png", blob: "(none)" }))).toMatchObject({
    isDone: true,
    read: "[file image/png: not shown, its data is not base64]",
  });
});

test("MCP-4 FILE-5 so are the files of resources, and an empty one is a line", async () => {
  const tool = { name: "read_resource", arguments: resource };
  const contents = [
    { ...resource, mimeType: "image/png", blob: jpeg.toString("base64url") },
    { uri: "file:///shots/none.png", mimeType: "image/png", blob: "" },
    { uri: "file:///shots/bad.png", mimeType: "image/png", blob: "(none)" },
  ];
  const { read, isDone, types } = await readOf({ contents }, tool);
  expect([isDone, types]).toEqual([true, ["image/jpeg"]]);
  expect(read).toContain("[file image/png: not shown, its data is not base64]");
  expect(read).toContain("[image none.png, image/png, 0 bytes: not shown]");
});

test("MCP-4 a prompt with such a picture in it is rendered", async () => {
  const turn = (content: object) => ({ role: "user", content });
  const messages = [turn({ type: "text", text: "Look." }), turn({ type: "image", data: "(none)" })];
  await using connection = await connectTo({ "prompts/get": { messages } });
  expect(await connection.prompt("look")).toMatchObject([
    { text: "Look." },
    { text: expect.stringContaining("[image") },
  ]);
});

test("MCP-4 of the files of an error the line names the type that their bytes have", async () => {
  const { read, isDone } = await readOf({ ...shot(inJpeg, "image/png"), isError: true });
  expect([isDone, read]).toEqual([false, `Shot.\n\n[image image-1.jpg, image/jpeg, ${jpeg.length} bytes: not shown]`]);
});
