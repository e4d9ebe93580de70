import type { ToolResult } from "@proviso/core";
import { asJson, pathText, returnedResult, toJsonValue, messageOf } from "@proviso/core/internal";
import { isA } from "../is-a.ts";

/** Only what toolOk and toolError made is a result; all else is a value. What JSON would change or lose is refused. */
export function resultOf(returned: unknown): ToolResult {
  const result = returnedResult(returned) ?? { success: true, message: "", value: returned, hideValue: false };
  if (!result.success) return failed(result.message);
  if (isA(result.value, Error)) return failed(messageOf(result.value));
  try {
    const json = asJson(result.value);
    if ("value" in json) return { ...result, value: json.value ?? null };
    const { path, problem } = json.odd;
    return failed(`${notJson}: ${path.length === 0 ? "it" : pathText("", path)} ${problem}. Return plain JSON.`);
  } catch (error) {
    return failed(`${notJson}: it cannot be read: ${messageOf(error)}`);
  }
}

const notJson = "The tool returned a value that is not JSON";

export function failed(message: string): ToolResult {
  return { success: false, message: message === "" ? "The tool failed." : message };
}

export function jsonOf(value: unknown): unknown {
  return toJsonValue(value)?.value ?? null;
}
