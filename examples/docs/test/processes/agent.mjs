/** The smallest agent that speaks the Agent Client Protocol and uses the tools it is given: it books a table. */
import { agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Readable, Writable } from "node:stream";

// Also when nobody ends it.
setTimeout(() => process.exit(124), 300_000).unref();

let mcpServers = [];

async function book(call) {
  for (const table of [1, 2]) {
    const { content, isError } = await call({ name: "book", arguments: { table } });
    if (!isError) return content[0].text;
  }
  return "No table is free.";
}

agent({ name: "waiter" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { mcpCapabilities: { http: true } },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    ({ mcpServers } = params);
    return { sessionId: "1" };
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId }, client }) => {
    const [{ url, headers }] = mcpServers;
    const requestInit = { headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])) };
    const mcp = new Client({ name: "waiter", version: "1" });
    await mcp.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    const text = await book((call) => mcp.callTool(call));
    await mcp.close();
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
    await client.notify(methods.client.session.update, { sessionId, update });
    return { stopReason: "end_turn" };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
