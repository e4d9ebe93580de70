import { InMemoryTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { defineEvent, DefinitionError, definePrompt, defineSlice, defineTool } from "@proviso/core";
import { connectMcp, McpError, mcpTools, type McpConnectOptions } from "@proviso/mcp";
import { serveMcp } from "@proviso/mcp/server";
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

test.each([
  ["a line that has not ended", "stdout", `key + unseen(8_190)`],
  ["lines", "stdout", `key.slice(0, 9) + unseen(8_190) + key.slice(9) + "\\n"`],
  ["standard error", "stderr", `key.slice(0, 9) + unseen(65_530) + key.slice(9)`],
] as const)(
  "MCP-14 SEC-1 no part of a key is in the error of a server that writes it beside characters that people do not see: %s",
  async (_, stream, text) => {
    process.env["PROVISO_API_KEY"] = secret;
    const code = `const key = process.env.PROVISO_API_KEY, unseen = (bytes) => "\u200B".repeat(bytes / 3);
      process.${stream}.write(${text}, () => process.exit(1));`;
    try {
      const error = await connectMcp({ command: process.execPath, args: ["-e", code], env: ["PROVISO_API_KEY"] }).then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error?.message).toMatch(/\[secret\]$/);
    } finally {
      delete process.env["PROVISO_API_KEY"];
    }
  },
);

test("MCP-14 SEC-1 no part of a key is in the error and the log of a service that answers with what is no JSON", async () => {
  const { inspect } = await import("node:util");
  const shown: unknown[] = [];
  const log = (...given: unknown[]): void => void shown.push(given);
  const logger = { debug: log, info: log, warn: log, error: log };
  const handler = createMcpHandler(() => new Server({ name: "s", version: "1" }, { capabilities: { resources: {} } }));
  const answer = (type: string, text: string) => new Response(text, { headers: { "content-type": type } });
  const spec = { url: "https://x.example/mcp", headers: { "x-key": secret } };
  const none = { ...spec, fetch: () => Promise.resolve(answer("application/json", secret)) };
  shown.push(await connectMcp(none, { logger }).catch((thrown: unknown) => thrown));
  await using server = await connectMcp(
    {
      ...spec,
      fetch: (url, init) =>
        typeof init?.body === "string" && init.body.includes("resources/list")
          ? Promise.resolve(answer("text/event-stream", `data: ${secret}\n\n`))
          : handler.fetch(new Request(url, init)),
    },
    { logger },
  );
  shown.push(await server.listResources().catch((thrown: unknown) => thrown));
  await handler.close();
  expect(shown).toEqual([expect.any(McpError), expect.arrayContaining(["mcp.warning"]), expect.any(McpError)]);
  expect(inspect(shown, { depth: 12, showHidden: true })).not.toMatch(/sk-of|6789/);
});

test("MCP-14 MCP-8 no part of a key is in the error of a name in a schema that has characters that people do not see", async () => {
  const refused = async (name: string): Promise<unknown> => {
    const handler = createMcpHandler(() => {
      const server = new Server({ name: "s", version: "1" }, { capabilities: { tools: {} } });
      const inputSchema = { type: "object" as const, properties: { [name]: {} } };
      server.setRequestHandler("tools/list", () => ({ tools: [{ name: "t", inputSchema }] }));
      return server;
    });
    const send = (url: string | URL | Request, init?: RequestInit) => handler.fetch(new Request(url, init));
    await using server = await connectMcp({ url: "https://x.example/mcp", headers: { "x-key": secret }, fetch: send });
    try {
      return mcpTools(server);
    } catch (error) {
      return error;
    } finally {
      await handler.close();
    }
  };
  const within = await refused(`${secret.slice(0, 9)}\u200B${secret.slice(9)}`);
  expect(within).toMatchObject({ message: expect.stringContaining('a name or a value ("[secret]") with invisible') });
  const across = await refused(`\u200B${"y".repeat(40)}${secret}`);
  expect(String(across)).toContain("a name or a value of 67 characters with invisible characters in its schema.");
  expect(String(across)).not.toContain("sk-of");
});

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

/** A server at an address with a key in it, which shows the address wherever it can. */
async function atAddress(address: string, options: McpConnectOptions = {}) {
  let broken: Error | undefined;
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "", version: "1" }, { capabilities: { tools: {}, resources: {}, prompts: {} } });
    const inputSchema = { type: "object" as const };
    const fail = (): never => {
      throw new Error(`not for ${address}`);
    };
    server.setRequestHandler("tools/list", () => ({ tools: ["tell", "fail"].map((name) => ({ name, inputSchema })) }));
    server.setRequestHandler("resources/read", fail);
    server.setRequestHandler("resources/list", fail);
    server.setRequestHandler("prompts/get", fail);
    server.setRequestHandler("prompts/list", fail);
    server.setRequestHandler("tools/call", ({ params }) =>
      params.name === "fail" ? fail() : { content: [{ type: "text" as const, text: `You asked ${address}` }] },
    );
    return server;
  });
  const send = (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
    broken === undefined ? handler.fetch(new Request(url, init)) : Promise.reject(broken);
  const server = await connectMcp({ url: address, fetch: send }, options);
  return { server, handler, breaks: (error: Error) => void (broken = error) };
}

test("MCP-14 SEC-5 a key in the address of a server is in no name, result, error, event or log", async () => {
  const address = `https://x.example/mcp?api_key=${secret}&region=north`;
  const { inspect } = await import("node:util");
  const shown: unknown[] = [];
  const log = (...given: unknown[]): void => void shown.push(given);
  const logger = { debug: log, info: log, warn: log, error: log };
  const { server, handler, breaks } = await atAddress(address, { logger });
  const session = createSession();
  session.on("*", (event) => void shown.push(event));
  const told = await callTool(server, "tell", {}, { session });
  expect(told.result).toMatchObject({ value: "You asked https://x.example/mcp[secret]" });
  expect((await callTool(server, "fail", {}, { session })).result.message).toMatch(
    /not for https:\/\/x\.example\/mcp\[/,
  );
  const asked = [
    () => server.readResource("a:b"),
    () => server.listResources(),
    () => server.prompt("p"),
    () => server.listPrompts(),
  ];
  for (const ask of asked) {
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(McpError);
    expect(error).toMatchObject({ reason: "protocol" });
    shown.push(error);
  }
  breaks(new TypeError(`fetch failed for ${address}`, { cause: new Error(`refused ${address}`) }));
  expect((await callTool(server, "tell", {}, { session })).result.success).toBe(false);
  const refused = { url: address, fetch: () => Promise.reject(new TypeError(`no ${address}`)) };
  const unreached = await connectMcp(refused, { logger }).catch((thrown: unknown) => thrown);
  expect(unreached).toBeInstanceOf(McpError);
  expect((unreached as Error).message).toMatch(/^x\.example could not be reached: .*no https:\/\/x\.example\/mcp$/);
  shown.push(unreached, server.serverName);
  const text = inspect(shown, { depth: 12, showHidden: true });
  expect(text).not.toMatch(/api_key|0123456789|north/);
  await server.close();
  await handler.close();
});

test("MCP-1 LOG-2 an option that is no logger, and one that throws", async () => {
  const [ours] = InMemoryTransport.createLinkedPair();
  await expect(connectMcp({ transport: ours }, { logger: null as never })).rejects.toThrow(DefinitionError);
  expect(() => serveMcp({ name: "s", tools: [], logger: {} as never })).toThrow("The option logger must be a logger");
  const broken = (): never => {
    throw new Error("full disk");
  };
  const logger = { debug: broken, info: broken, warn: broken, error: broken };
  const { server, handler } = await atAddress("https://x.example/mcp", { logger });
  expect((await callTool(server, "tell")).result.success).toBe(true);
  await server.close();
  await handler.close();
});
