import type { McpServer } from "@agentclientprotocol/sdk";
import type { RenderedPrompt, ToolCall, ToolMessage } from "@proviso/core";
import { createMcpHandler, Server, type CallToolResult } from "@modelcontextprotocol/server";
import { listedTool, listenOnLoopback, sentParams } from "@proviso/mcp/internal";
import { resultBlocks } from "./files.ts";
import { serverName } from "./permissions.ts";

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
  let seen = source.rendered();
  const handler = createMcpHandler(() =>
    mcpServer(source, () => {
      if (source.rendered() === seen) return "";
      seen = source.rendered();
      handler.notify.toolsChanged();
      return `\n\nFrom now on these instructions hold, and the tools are listed anew:\n\n${seen.system || seen.text}`;
    }),
  );
  const { url, headers, asked, close } = await listenOnLoopback(handler.fetch);
  return {
    declaration: {
      type: "http",
      name: serverName,
      url,
      headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    },
    asked,
    async close() {
      await Promise.all([close(), handler.close()]);
    },
  };
}

/**
 * Makes a server for one request: it holds nothing. `news` is what a call has changed of the prompt, for the agent to
 * read.
 */
function mcpServer(source: ToolSource, news: () => string): Server {
  const capabilities = { tools: { listChanged: true } };
  const server = new Server({ name: serverName, version: "1" }, { capabilities });
  server.setRequestHandler("tools/list", () => ({
    // An agent reads texts: without an output schema it expects no structured content.
    tools: source.rendered().tools.map((tool) => listedTool({ ...tool, output: undefined }, source.trusted)) as never,
  }));
  server.setRequestHandler("tools/call", { params: sentParams }, async (sent): Promise<CallToolResult> => {
    const call = { id: "", name: sent.name, arguments: JSON.stringify(sent.arguments ?? {}) };
    const answer = await source.executeToolCall(call);
    const files = await resultBlocks(answer);
    return { content: [{ type: "text", text: answer.text + news() }, ...files], isError: answer.isError };
  });
  return server;
}
