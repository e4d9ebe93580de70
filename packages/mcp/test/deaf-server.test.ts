// A server that does not read any more: what is written to it fails, and was not done.
import { connectMcp } from "@proviso/mcp";
import { expect, test } from "vitest";
import { callTool, isRunning, until } from "./support.ts";

const lost = "The connection to deaf was lost. What it had done is not known.";

/** A server that answers with its process id; "deaf" and "dies" do beside it what they say. */
const server = {
  command: process.execPath,
  args: [
    "-e",
    `const out = (m, then) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\\n", then);
    setTimeout(() => process.exit(124), 300_000);
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const capabilities = { tools: {}, resources: {}, prompts: {} };
      const serverInfo = { name: "deaf", version: "1" };
      if (method === "initialize") return out({ id, result: { protocolVersion: "2025-06-18", capabilities, serverInfo } });
      if (method === "prompts/list") return out({ id, result: { prompts: [] } });
      if (method === "resources/list") return out({ id, result: { resources: [] } });
      const inputSchema = { type: "object" };
      const tools = ["pid", "wait", "deaf", "dies"].map((name) => ({ name, description: name, inputSchema }));
      if (method === "tools/list") return out({ id, result: { tools } });
      if (method !== "tools/call") return out({ id, error: { code: -32601, message: "no" } });
      if (params.name === "wait") return;
      if (params.name === "deaf") require("node:fs").closeSync(0);
      const result = { content: [{ type: "text", text: String(process.pid) }] };
      out({ id, result }, params.name === "dies" ? () => process.kill(process.pid, "SIGKILL") : undefined);
    });`,
  ],
};

/** The process that answers. */
async function pidOf(...call: Parameters<typeof callTool>): Promise<number> {
  const { result } = await callTool(...call);
  expect(result).toMatchObject({ success: true });
  return Number(result.success ? result.value : undefined);
}

test("MCP-10 the call that could not be written to a server opens the connection anew, and does not fail", async () => {
  await using connection = await connectMcp(server);
  const first = await pidOf(connection, "deaf");
  const others = await Promise.all([1, 2, 3].map(() => pidOf(connection, "pid")));
  expect(new Set(others).size).toBe(1);
  expect(others[0]).toBeGreaterThan(0);
  expect(others[0]).not.toBe(first);
  await until(() => !isRunning(first));
});

test("MCP-10 a call at the very moment at which the server dies is done, or its connection was lost", async () => {
  await using connection = await connectMcp(server);
  for (let round = 0; round < 3; round++) {
    await pidOf(connection, "dies");
    // What is written in the last moment of the process is not known to be read.
    for (const { result } of await Promise.all([1, 2, 3, 4, 5].map(() => callTool(connection, "pid"))))
      if (!result.success) expect(result.message).toBe(lost);
    await pidOf(connection, "pid");
  }
});

test("MCP-10 lists of resources and prompts, too", async () => {
  await using connection = await connectMcp(server);
  await pidOf(connection, "deaf");
  expect(await connection.listResources()).toEqual([]);
  await pidOf(connection, "deaf");
  expect(await connection.listPrompts()).toEqual([]);
});

test("MCP-10 a call that a server has read before it stopped reading fails, and is not repeated", async () => {
  await using connection = await connectMcp(server);
  const waiting = callTool(connection, "wait");
  await pidOf(connection, "deaf");
  expect(await pidOf(connection, "pid")).toBeGreaterThan(0);
  const { result, cause } = await waiting;
  expect(result.message).toBe(lost);
  expect(cause).toMatchObject({ reason: "closed" });
});
