import type { ToolCall, ToolMessage, ToolResult } from "@proviso/core";
import type { RestoreFault } from "@proviso/core/internal";
import { whyTheyDisagree } from "../failing.ts";
import { withFilesBehind } from "../content/files-behind.ts";
import { failed } from "./result.ts";

/** UTF-16 units of a tool's text that reach the model, where a context policy does not say otherwise. */
const longestText = 64 * 1024;

/**
 * What the model reads of a result: the message, a blank line, the value; the message alone when the value is hidden.
 */
export function toolMessage(call: ToolCall, result: ToolResult, longest = longestText): ToolMessage {
  const value = result.success && !result.hideValue ? valueText(result.value) : "";
  const between = result.message === "" || value === "" ? "" : "\n\n";
  const message: ToolMessage = {
    role: "tool",
    callId: call.id,
    name: call.name,
    text: shortened([result.message, between, value], longest),
    isError: !result.success,
  };
  return result.success && result.files !== undefined ? withFilesBehind(message, result.files) : message;
}

/**
 * Whether changes stay is known when their transaction has ended: no model goes on from what was lost, or is there though
 * its call has failed. Which of the calls a nested evaluation's fault belongs to is not known.
 */
export function answersAfter(
  faults: readonly RestoreFault[],
  calls: readonly ToolCall[],
  answers: readonly ToolMessage[],
): readonly ToolMessage[] {
  if (faults.length === 0) return answers;
  const why = whyTheyDisagree(faults);
  return calls.map((call, index) => {
    const { text, isError } = answers[index] as ToolMessage;
    return toolMessage(call, failed(isError ? `${text}\n\n${why}` : why));
  });
}

/** Strings as they are, the rest as JSON, nothing as nothing. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The parts are cut before they become one: that may be longer than a string can be. */
function shortened(parts: readonly [message: string, between: string, value: string], longest: number): string {
  const [message, between, value] = parts;
  const length = message.length + between.length + value.length;
  if (length === 0) return "Done.";
  if (length <= longest) return (message + between + value).toWellFormed();
  const half = longest / 2;
  const text = parts.map((part) => (part.length <= longest ? part : part.slice(0, half) + part.slice(-half))).join("");
  const note = `\n\n[… cut: ${length} characters in all, ${length - longest} left out here …]\n\n`;
  return (text.slice(0, half) + note + text.slice(-half)).toWellFormed();
}
