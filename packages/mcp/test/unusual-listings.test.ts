import { InMemoryTransport, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { connectMcp, mcpTools, type McpConnection } from "@proviso/mcp";
import { expect, test } from "vitest";

/** A server of 2025 that lists its tools with this result. */
async function listing(result: object): Promise<McpConnection> {
  const [transport, theirs] = InMemoryTransport.createLinkedPair();
  theirs.onmessage = (message) => {
    const { id, method } = message as { readonly id?: number; readonly method: string };
    if (id === undefined) return;
    const serverInfo = { name: "lists", version: "1" };
    const initialized = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
    const known = method === "initialize" ? initialized : method === "tools/list" ? result : undefined;
    const answer = known === undefined ? { error: { code: -32_601, message: "no" } } : { result: known };
    void theirs.send({ jsonrpc: "2.0", id, ...answer } as JSONRPCMessage);
  };
  await theirs.start();
  return connectMcp({ transport });
}

const inputSchema = { type: "object" };
const add = { name: "add", description: "Adds.", inputSchema };

test("MCP-1 a field of a listing that is null counts as left out", async () => {
  const nulls = { title: null, outputSchema: null, annotations: null, _meta: null };
  await using server = await listing({
    tools: [add, { name: "bare", description: null, inputSchema, ...nulls }],
    nextCursor: null,
  });
  expect(mcpTools(server).map(({ name }) => name)).toEqual(["add", "bare"]);
});

test("MCP-1 a server whose listing is not of the protocol is an McpError that says so", async () => {
  await expect(listing({ tools: "none" })).rejects.toMatchObject({
    code: "mcp",
    reason: "connect",
    message: expect.stringMatching(/ cannot be used: its answer is not of the protocol\.$/) as string,
  });
});

test("MCP-2 a tool that is listed twice is a DefinitionError that says so", async () => {
  await using server = await listing({ tools: [add, add] });
  expect(() => mcpTools(server)).toThrow('lists lists the tool "add" twice: leave it out with `only`.');
});
