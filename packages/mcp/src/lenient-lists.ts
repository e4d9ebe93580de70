// Many servers write null for what a tool has not. The SDK refuses the whole listing then: null is read as absent before.
import type { Transport } from "@modelcontextprotocol/client";
import { isRecord } from "@proviso/core/provider";

/** Makes what comes over `transport` readable for the SDK, which hands each message to the listener that was there first. */
export function readNullsAsAbsent(transport: Transport): void {
  const listener = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if ("result" in message && isRecord(message.result) && Array.isArray(message.result["tools"])) {
      const { tools } = message.result;
      message.result = { ...withoutNulls(message.result), tools: (tools as readonly unknown[]).map(listedTool) };
    }
    listener?.(message, extra);
  };
}

function listedTool(tool: unknown): unknown {
  if (!isRecord(tool)) return tool;
  const fields = Object.entries(withoutNulls(tool)).map(([name, value]) => [
    name,
    isRecord(value) ? withoutNulls(value) : value,
  ]);
  return { inputSchema: { type: "object" }, ...(Object.fromEntries(fields) as object) };
}

function withoutNulls(given: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
}
