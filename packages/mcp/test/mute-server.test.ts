import { connectMcp } from "@proviso/mcp";
import { expect, test } from "vitest";
import { callTool, isRunning, until } from "./support.ts";

/** A server that closes its standard output at `method`, and lives on. */
const closingAt = (method: string) => ({
  command: process.execPath,
  args: [
    "-e",
    `const out = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\\n");
    setTimeout(() => process.exit(124), 300_000);
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === ${JSON.stringify(method)}) return require("node:fs").closeSync(1);
      if (id === undefined) return;
      const capabilities = { tools: {} };
      const serverInfo = { name: "mute", version: String(process.pid) };
      if (method === "initialize") return out({ id, result: { protocolVersion: "2025-06-18", capabilities, serverInfo } });
      if (method !== "tools/list") return out({ id, error: { code: -32601, message: "no" } });
      const inputSchema = { type: "object", properties: {} };
      out({ id, result: { tools: [{ name: "pid", description: String(process.pid), inputSchema }] } });
    });`,
  ],
});

test("MCP-10 a server that closes its standard output fails the calls under way, and is ended", async () => {
  await using server = await connectMcp(closingAt("tools/call"), { callMs: 120_000 });
  const pid = Number(server.definitions[0]?.description);
  expect(isRunning(pid)).toBe(true);
  const from = performance.now();
  const { result } = await callTool(server, "pid");
  expect(result.message).toContain("The connection to mute was lost. What it had done is not known.");
  expect(performance.now() - from).toBeLessThan(60_000);
  await until(() => !isRunning(pid));
});

test.each(["initialize", "tools/list"])("MCP-1 MCP-10 one that closes it at %s cannot be reached", async (method) => {
  const from = performance.now();
  await expect(connectMcp(closingAt(method), { connectMs: 120_000 })).rejects.toThrow(/closed its standard output/);
  expect(performance.now() - from).toBeLessThan(60_000);
});
