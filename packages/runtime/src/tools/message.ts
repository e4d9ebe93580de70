import type { ToolCall, ToolMessage, ToolResult } from "@proviso/core";

/** UTF-16 units of a tool's text that reach the model. */
const longestText = 64 * 1024;

/**
 * What the model reads of a result: the message, a blank line, the value; the message alone when the value is hidden.
 */
export function toolMessage(call: ToolCall, result: ToolResult): ToolMessage {
  const value = result.success && !result.hideValue ? valueText(result.value) : "";
  const between = result.message === "" || value === "" ? "" : "\n\n";
  const text = result.message + between + value;
  return {
    role: "tool",
    callId: call.id,
    name: call.name,
    text: shortened((text === "" ? "Done." : text).toWellFormed()),
    isError: !result.success,
  };
}

/** Strings as they are, the rest as JSON, nothing as nothing. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function shortened(text: string): string {
  if (text.length <= longestText) return text;
  const half = longestText / 2;
  const note = `\n\n[… cut: ${text.length} characters in all, ${text.length - longestText} left out here …]\n\n`;
  return (text.slice(0, half) + note + text.slice(-half)).toWellFormed();
}
