import { InMemoryTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { connectMcp } from "@proviso/mcp";
import { expect, onTestFinished, test, vi } from "vitest";

test.each([
  ["prompts", [], ["hello"]],
  ["resources", ["notes"], []],
] as const)("MCP-15 a server that has %s alone leaves standard output as it was", async (has, resources, prompts) => {
  const printed = vi.spyOn(console, "debug").mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: "one", version: "1" }, { capabilities: { [has]: {} } });
  if (has === "prompts") server.setRequestHandler("prompts/list", () => ({ prompts: [{ name: "hello" }] }));
  else server.setRequestHandler("resources/list", () => ({ resources: [{ uri: "file:///notes", name: "notes" }] }));
  await server.connect(theirs);
  await using connection = await connectMcp({ transport: ours });
  expect(connection.definitions).toEqual([]);
  expect((await connection.listResources()).map(({ name }) => name)).toEqual(resources);
  expect((await connection.listPrompts()).map(({ name }) => name)).toEqual(prompts);
  expect(printed).not.toHaveBeenCalled();
});
