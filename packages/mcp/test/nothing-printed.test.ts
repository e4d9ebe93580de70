import { InMemoryTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { connectMcp, mcpTools } from "@proviso/mcp";
import { expect, onTestFinished, test, vi } from "vitest";

test("MCP-15 nothing is printed of a server without tools, resources or prompts", async () => {
  const spies = (["debug", "log", "info", "warn", "error"] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation(() => {}),
  );
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  const [transport, theirs] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: "bare", version: "1" }, { capabilities: {} });
  await server.connect(theirs);
  await using connection = await connectMcp({ transport });
  expect(mcpTools(connection)).toEqual([]);
  expect(await connection.listResources()).toEqual([]);
  expect(await connection.listPrompts()).toEqual([]);
  expect(spies.flatMap((spy) => spy.mock.calls)).toEqual([]);
});
