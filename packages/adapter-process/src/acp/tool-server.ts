import type { McpServer } from "@agentclientprotocol/sdk";
import type { RenderedPrompt, ToolCall, ToolMessage } from "@proviso/core";
import { sentSchemaOf } from "@proviso/core/internal";
import { createMcpHandler, Server, type CallToolResult, type McpHttpHandler } from "@modelcontextprotocol/server";
import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { serverName } from "./permissions.ts";
import { newSecret } from "./secret.ts";

/** What the tools are, and who runs them. */
export interface ToolSource {
  /** The prompt as it is now: a call may open sections. */
  rendered(): RenderedPrompt;
  /** The agent may call them anyway. */
  readonly trusted: boolean;
  executeToolCall(call: ToolCall): Promise<ToolMessage>;
}

/** The prompt's tools as a Model Context Protocol server, for as long as one turn lasts. */
export interface ToolServer {
  /** The server as `session/new` takes it. */
  readonly declaration: McpServer;
  /** Whether a request with the secret has arrived. */
  asked(): boolean;
  /** No call begins any more, and nothing listens. */
  close(): Promise<void>;
}

/** Listens on the loopback interface alone, and refuses requests without the secret. */
export async function serveTools(source: ToolSource): Promise<ToolServer> {
  const secret = `Bearer ${newSecret()}`;
  let seen = source.rendered();
  const handler = createMcpHandler(() =>
    mcpServer(source, () => {
      if (source.rendered() === seen) return "";
      seen = source.rendered();
      handler.notify.toolsChanged();
      return `\n\nFrom now on these instructions hold, and the tools are listed anew:\n\n${seen.system || seen.text}`;
    }),
  );
  let asked = false;
  const http = createServer((request, response) => {
    if (!same(request.headers.authorization, secret)) return void response.writeHead(404).end();
    asked = true;
    relay(handler, request, response).catch(() => response.destroy());
  });
  const port = await listening(http);
  return {
    declaration: {
      type: "http",
      name: serverName,
      url: `http://127.0.0.1:${port}/mcp`,
      headers: [{ name: "Authorization", value: secret }],
    },
    asked: () => asked,
    async close() {
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await handler.close();
      await closed;
    },
  };
}

function listening(http: HttpServer): Promise<number> {
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(0, "127.0.0.1", () => resolve((http.address() as AddressInfo).port));
  });
}

function same(given: string | undefined, expected: string): boolean {
  const [a, b] = [Buffer.from(given ?? ""), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Makes a server for one request: it holds nothing. `news` is what a call has changed of the prompt, for the agent to
 * read.
 */
function mcpServer(source: ToolSource, news: () => string): Server {
  const capabilities = { tools: { listChanged: true } };
  const server = new Server({ name: serverName, version: "1" }, { capabilities });
  server.setRequestHandler("tools/list", () => ({
    tools: source.rendered().tools.map(({ name, description, input, readOnly, idempotent }) => ({
      name,
      description: description.toWellFormed(),
      inputSchema: { ...sentSchemaOf(input), type: "object" as const },
      annotations: {
        readOnlyHint: readOnly === true,
        idempotentHint: idempotent === true,
        // Both hints are true where they are left out, and agents ask a person or a model before each call.
        ...(source.trusted ? { destructiveHint: false, openWorldHint: false } : {}),
      },
    })),
  }));
  server.setRequestHandler("tools/call", async ({ params }): Promise<CallToolResult> => {
    const call = { id: "", name: params.name, arguments: JSON.stringify(params.arguments ?? {}) };
    const { text, isError } = await source.executeToolCall(call);
    return { content: [{ type: "text", text: text + news() }], isError };
  });
  return server;
}

async function relay(handler: McpHttpHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const answer = await handler.fetch(requestOf(incoming));
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(answer.body), outgoing);
}

function requestOf(incoming: IncomingMessage): Request {
  const { method = "GET", url = "/", headers } = incoming;
  const fields = Object.entries(headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  const body = method === "GET" || method === "HEAD" ? null : Readable.toWeb(incoming);
  const init = { method, headers: Object.fromEntries(fields), body, duplex: "half" };
  return new Request(`http://127.0.0.1${url}`, init as RequestInit);
}
