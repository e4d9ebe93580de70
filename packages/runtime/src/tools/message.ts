import type { ToolCall, ToolMessage, ToolResult } from "@proviso/core";

/** UTF-16 units of a tool's text that reach the model. */
const longestText = 64 * 1024;

/**
 * What the model reads of a result: the message, a blank line, the value; the message alone when the value is hidden.
 */
export function toolMessage(call: ToolCall, result: ToolResult): ToolMessage {
  const parts = result.success && !result.hideValue ? [result.message, valueText(result.value)] : [result.message];
  const said = parts.filter((part) => part !== "");
  return {
    role: "tool",
    callId: call.id,
    name: call.name,
    text: said.length === 0 ? "Done." : shortened(said),
    isError: !result.success,
  };
}

/** Strings as they are, the rest as JSON, nothing as nothing. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Parts a blank line apart. They are cut before they become one: that may be longer than a string can be. */
function shortened(parts: readonly string[]): string {
  const length = parts.reduce((sum, part) => sum + part.length, 2 * (parts.length - 1));
  const text = parts.map(endsOf).join("\n\n").toWellFormed();
  if (length <= longestText) return text;
  const half = longestText / 2;
  const note = `\n\n[… cut: ${length} characters in all, ${length - longestText} left out here …]\n\n`;
  return (text.slice(0, half) + note + text.slice(-half)).toWellFormed();
}

function endsOf(part: string): string {
  const half = longestText / 2;
  return part.length <= longestText ? part : part.slice(0, half) + part.slice(-half);
}
