// The servers that people use, as npm has them.
import { definePrompt } from "@proviso/core";
import { connectMcp, mcpTools, type McpConnection } from "@proviso/mcp";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { randomBytes } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callTool, freePort, npmServer, startEverything } from "./support.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "proviso-mcp-")));
writeFileSync(join(folder, "rollback.md"), "A rollback is tested by a failing call.\n");
afterAll(() => rmSync(folder, { recursive: true }));

describe("MCP-4 @modelcontextprotocol/server-filesystem over stdio", () => {
  const spec = { command: process.execPath, args: [npmServer("server-filesystem"), folder] };

  test("MCP-4 a prompt answers from its files, with the tools by their own names", async () => {
    await using docs = await connectMcp(spec);
    const only = ["read_text_file", "search_files"];
    const ask = definePrompt({
      key: "ask",
      sections: [
        { key: "rules", text: "Answer from the files alone.", tools: mcpTools(docs, { only, trust: true }) },
        { key: "task", role: "user", text: "How is a rollback tested?" },
      ],
    });
    const path = join(folder, "rollback.md");
    const model = scriptedModel([
      { toolCalls: [{ name: "search_files", arguments: { path: folder, pattern: "*.md" } }] },
      { toolCalls: [{ name: "read_text_file", arguments: { path } }] },
      { text: "By a failing call." },
    ]);
    const { messages, output } = await modelAdapter(model).evaluate(ask.bind());
    const read = messages.flatMap((message) => (message.role === "tool" ? [message.text] : []));
    expect(read[0]).toContain(path);
    // The server tells its answer twice, as text and as structured content: the model reads it once.
    expect(read[1]).toBe("A rollback is tested by a failing call.\n");
    expect(output).toBe("By a failing call.");
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(only);
  });

  test("MCP-4 FILE-1 a picture that it repeats as structured content is a file, and no text", async () => {
    // The head of a picture, and bytes that nothing can shorten.
    const bytes = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), randomBytes(50_000)]);
    writeFileSync(join(folder, "p.png"), bytes);
    await using docs = await connectMcp(spec);
    const look = definePrompt({
      key: "look",
      sections: [{ key: "s", role: "user", text: "Look.", tools: mcpTools(docs, { only: ["read_media_file"] }) }],
    });
    const path = join(folder, "p.png");
    const model = scriptedModel([{ toolCalls: [{ name: "read_media_file", arguments: { path } }] }, { text: "Seen." }]);
    const session = createSession();
    const events: unknown[] = [];
    session.on("*", (event) => void events.push(event));
    const { messages, toolResults } = await modelAdapter(model).evaluate(look.bind(), { session });
    const read = messages.find(({ role }) => role === "tool")?.text ?? "";
    expect(read).toBe("Done.\n\n[image image-1.png]");
    expect(toolResults[0]?.result).toMatchObject({ success: true, files: [{ bytes: bytes.length }] });
    expect(JSON.stringify([messages, toolResults, events]).length).toBeLessThan(20_000);
  });

  test("MCP-4 what it refuses is a failed result, and it goes on", async () => {
    await using docs = await connectMcp(spec);
    const outside = await callTool(docs, "read_text_file", { path: "/etc/passwd" });
    expect(outside.result).toMatchObject({ success: false });
    expect(outside.result.message).toContain("Access denied");
    expect((await callTool(docs, "list_directory", { path: folder })).result.success).toBe(true);
  });
});

describe.each(["stdio", "streamable HTTP"] as const)(
  "MCP-1 @modelcontextprotocol/server-everything over %s",
  (wire) => {
    let server: McpConnection;
    let end: () => void = () => {};
    beforeAll(async () => {
      const program = npmServer("server-everything");
      if (wire === "stdio") {
        server = await connectMcp({ command: process.execPath, args: [program, "stdio"] });
        return;
      }
      const port = await freePort();
      const child = await startEverything(port);
      end = () => void child.kill();
      server = await connectMcp({ url: `http://127.0.0.1:${port}/mcp` });
    }, 300_000);
    afterAll(async () => {
      await server?.close();
      end();
    });

    test(`MCP-4 ${wire}: tools answer with texts, structured content and pictures`, async () => {
      expect((await callTool(server, "echo", { message: "hi" })).result).toMatchObject({ value: "Echo: hi" });
      expect((await callTool(server, "get-sum", { a: 2, b: 3 })).result.message + "").toBeDefined();
      const structured = await callTool(server, "get-structured-content", { location: "New York" });
      expect(structured.result).toMatchObject({ success: true, value: { temperature: expect.any(Number) } });
      const picture = await callTool(server, "get-tiny-image");
      expect(picture.result.success && picture.result.files).toMatchObject([
        { kind: "stored", name: expect.stringMatching(/^image-\d\.png$/), mediaType: "image/png" },
      ]);
    });

    test(`MCP-9 ${wire}: progress is emitted`, async () => {
      const session = createSession();
      const heard: number[] = [];
      session.on("tool.progress", ({ done }) => void heard.push(done));
      const { result } = await callTool(
        server,
        "trigger-long-running-operation",
        { duration: 1, steps: 4 },
        { session },
      );
      expect(result.success).toBe(true);
      expect(heard).toEqual([1, 2, 3, 4]);
    });

    test(`MCP-9 ${wire}: an abort ends the call`, async () => {
      const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Wait.", tools: mcpTools(server) }] });
      const call = { name: "trigger-long-running-operation", arguments: { duration: 120, steps: 240 } };
      const controller = new AbortController();
      const session = createSession();
      session.on("tool.progress", () => controller.abort());
      const from = performance.now();
      await expect(
        modelAdapter(scriptedModel([{ toolCalls: [call] }])).evaluate(prompt.bind(), {
          signal: controller.signal,
          session,
        }),
      ).rejects.toMatchObject({ code: "aborted" });
      // The whole call takes two minutes.
      expect(performance.now() - from).toBeLessThan(60_000);
      expect((await callTool(server, "echo", { message: "still here" })).result.success).toBe(true);
    });

    test(`MCP-4 ${wire}: resources and prompts are listed and read`, async () => {
      const resources = await server.listResources();
      expect(resources.length).toBeGreaterThan(0);
      const [first] = resources;
      const { text, files } = await server.readResource(first?.uri ?? "");
      expect(text.length + files.length).toBeGreaterThan(0);
      expect((await server.listPrompts()).map(({ name }) => name)).toContain("args-prompt");
      const messages = await server.prompt("args-prompt", { city: "Rome" });
      expect(messages).toEqual([{ role: "user", text: expect.stringContaining("Rome") }]);
      const model = scriptedModel([{ text: "Sunny." }]);
      await modelAdapter(model).evaluate("And tomorrow?", { messages });
      expect(model.requests[0]?.messages.map(({ text: said }) => said)).toEqual([
        expect.stringContaining("Rome"),
        "And tomorrow?",
      ]);
    });

    test(`MCP-4 ${wire}: read_resource reads what is listed, and says what there is`, async () => {
      const tool = mcpTools(server, { only: [], resources: true, prefix: "every_" })[0];
      expect(tool?.name).toBe("every_read_resource");
      const call = async (uri: string) => {
        const { invokeTool } = await import("@proviso/runtime/testing");
        return (await invokeTool(tool as never, { uri } as never)).result;
      };
      const [first] = await server.listResources();
      expect((await call(first?.uri ?? "")).success).toBe(true);
      expect((await call("demo://nothing")).message).toContain(
        `There is no resource "demo://nothing". There are: ${first?.uri}`,
      );
    });
  },
);
