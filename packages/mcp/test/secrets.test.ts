import { InMemoryTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { defineEvent, definePrompt, defineSlice, defineTool } from "@proviso/core";
import { connectMcp, mcpTools } from "@proviso/mcp";
import { createSession, modelAdapter } from "@proviso/runtime";
import { invokeTool, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { callTool, scriptedServer } from "./support.ts";

const secret = "sk-of-the-tests-0123456789";

test("MCP-14 header values are in no result, error or event", async () => {
  const seen: (string | null)[] = [];
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "chatty", version: "1" }, { capabilities: { tools: {} } });
    const inputSchema = { type: "object" as const };
    server.setRequestHandler("tools/list", () => ({
      tools: [
        { name: "tell", inputSchema },
        { name: "fail", inputSchema },
      ],
    }));
    server.setRequestHandler("tools/call", ({ params }) => {
      if (params.name === "fail") throw new Error(`not with ${secret}`);
      return { content: [{ type: "text" as const, text: `You sent Bearer ${secret}.` }] };
    });
    return server;
  });
  await using server = await connectMcp({
    url: "https://x.example/mcp",
    headers: { authorization: `Bearer ${secret}` },
    fetch: (url, init) => {
      const request = new Request(url, init);
      seen.push(request.headers.get("authorization"));
      return handler.fetch(request);
    },
  });
  const session = createSession();
  const events: unknown[] = [];
  session.on(
    "tool.invoked",
    (event) => void events.push(event, event.cause, (event.cause as Error | undefined)?.stack),
  );
  const told = await callTool(server, "tell", {}, { session });
  expect(told.result).toMatchObject({ success: true, value: "You sent [secret]." });
  const failed = await callTool(server, "fail", {}, { session });
  expect(failed.result.message).toContain("not with [secret]");
  expect(seen.every((header) => header === `Bearer ${secret}`) && seen.length > 2).toBe(true);
  const { inspect } = await import("node:util");
  expect(inspect(events, { depth: 12, showHidden: true })).not.toContain(secret);
  await handler.close();
});

test.each([300, 1_000, 1_020])(
  "MCP-14 SEC-1 no part of a key is in the error of a server that writes it, then %i characters, and exits",
  async (count) => {
    process.env["PROVISO_API_KEY"] = secret;
    const code = `process.stderr.write(process.env.PROVISO_API_KEY + "z".repeat(${count} - 20), () => process.exit(1))`;
    try {
      const error = await connectMcp({ command: process.execPath, args: ["-e", code], env: ["PROVISO_API_KEY"] }).then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error?.message).toContain("after it had written");
      expect(error?.message).not.toMatch(/456789|sk-of/);
    } finally {
      delete process.env["PROVISO_API_KEY"];
    }
  },
);

test("MCP-14 named keys are in no result", async () => {
  process.env["PROVISO_API_KEY"] = secret;
  try {
    await using server = await connectMcp({ ...scriptedServer().spec, env: ["PROVISO_API_KEY"] });
    const { result } = await callTool(server, "environment");
    expect(result.success && result.value).toContain('"PROVISO_API_KEY":"[secret]"');
  } finally {
    delete process.env["PROVISO_API_KEY"];
  }
});

test("MCP-14 what a call changed here is undone where the server's answer fails it", async () => {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: "s", version: "1" }, { capabilities: { tools: {} } });
  const did: string[] = [];
  server.setRequestHandler("tools/list", () => ({
    tools: [{ name: "act", inputSchema: { type: "object" as const } }],
  }));
  server.setRequestHandler("tools/call", () => {
    did.push("acted");
    return { content: [{ type: "text" as const, text: "no" }], isError: true };
  });
  await server.connect(theirs);
  await using connection = await connectMcp({ transport: ours });
  const noted = defineEvent("noted", z.object({ text: z.string() }));
  const notes = defineSlice({ name: "notes", initial: 0, reducers: ({ on }) => on(noted, (count) => count + 1) });
  const session = createSession({ slices: [notes] });
  const [act] = mcpTools(connection);
  const both = defineTool({
    name: "both",
    description: "Notes, then acts.",
    input: z.object({}),
    async execute(_, context) {
      context.session.dispatch(noted({ text: "x" }));
      const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Act.", tools: act ? [act] : [] }] });
      const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "act", arguments: {} }] }, { text: "." }]));
      const { toolResults } = await context.evaluate(prompt.bind(), { adapter });
      if (toolResults[0]?.result.success === false) throw new Error("The server refused.");
    },
  });
  const { result } = await invokeTool(both, {}, { session });
  expect(result.message).toBe("The server refused.");
  expect([session.get(notes), did]).toEqual([0, ["acted"]]);
});
