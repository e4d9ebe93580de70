import type { Schema, ToolCall, ToolResult, ToolMessage } from "@proviso/core";
import {
  asJson,
  describeIssues,
  messageOf,
  parseWithSchema,
  pathText,
  returnedResult,
  toJsonValue,
  type ReturnedResult,
  type SchemaResult,
  type RestoreFault,
  isA,
} from "@proviso/core/internal";
import { whyTheyDisagree } from "../failing.ts";
import { withFilesBehind } from "../content/files-behind.ts";
import type { Secrets } from "../secrets.ts";
import { beginningOf, endOf } from "../secrets/cut.ts";

/**
 * Only what toolOk and toolError made is a result; all else is a value. The tool's output schema checks the value and may
 * change it; then what JSON would change or lose is refused. At once where the schema is, or where there is none.
 */
export function resultOf(returned: unknown, output?: Schema): ToolResult | Promise<ToolResult> {
  const result: ReturnedResult = returnedResult(returned) ?? {
    success: true,
    message: "",
    value: returned,
    hideValue: false,
  };
  if (!result.success) return failed(result.message);
  if (isA(result.value, Error)) return failed(messageOf(result.value));
  return output === undefined ? asJsonResult(result) : checkedResult(result, output);
}

type Success = Extract<ReturnedResult, { readonly success: true }>;

function checkedResult(result: Success, output: Schema): ToolResult | Promise<ToolResult> {
  const unchecked = (error: unknown): ToolResult =>
    failed(`The value that the tool returned could not be checked: ${messageOf(error)}`);
  const checked = (parsed: SchemaResult<unknown>): ToolResult => {
    if (parsed.ok) return asJsonResult({ ...result, value: parsed.value });
    const issues = describeIssues(parsed.issues, parsed.unlisted);
    return failed(`The tool returned a value that does not fit its output schema: ${issues}.`);
  };
  try {
    const parsing = parseWithSchema(output, result.value);
    return parsing instanceof Promise ? parsing.then(checked, unchecked) : checked(parsing);
  } catch (error) {
    return unchecked(error);
  }
}

/** The result without its files, which are read apart. */
function asJsonResult({ files, ...result }: Success): ToolResult {
  try {
    const json = asJson(result.value);
    if ("value" in json) {
      const { value } = json;
      if (value === undefined) return { ...result, value: null };
      return files === undefined ? namedValue({ ...result, value }) : { ...result, value };
    }
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

/**
 * A look-up that found nothing has not succeeded at anything: where a result has null or an empty text alone, its message
 * names it in place of the value. A tool that returned nothing has null without a message.
 */
export function namedValue(result: Extract<ToolResult, { readonly success: true }>): ToolResult {
  const { value, message, hideValue, files } = result;
  if (hideValue || message !== "" || files !== undefined || (value !== null && value !== "")) return result;
  return { ...result, message: value === null ? "null" : "(empty)", hideValue: true };
}

export function jsonOf(value: unknown): unknown {
  return toJsonValue(value)?.value ?? null;
}

/** What a log has of what a handler threw: the error itself, as `err`, where loggers look for it, and its stack as a text. */
export function loggedError(thrown: unknown): object {
  if (thrown === undefined) return {};
  const stack = isA(thrown, Error) ? stackOf(thrown) : undefined;
  return { err: thrown, ...(stack === undefined ? {} : { stack }) };
}

/** undefined where there is none, or where its own getter throws. */
function stackOf(error: Error): string | undefined {
  try {
    return typeof error.stack === "string" ? error.stack : undefined;
  } catch {
    return undefined;
  }
}

/** Why a call of a tool that is not there fails, with the names of those that are. */
export function unknownTool(tools: Iterable<string>, { name }: Pick<ToolCall, "name">): string {
  const names = [...tools].join(", ");
  return `There is no tool "${name}". ${names === "" ? "There are none." : `The tools are: ${names}.`}`;
}

/** UTF-16 units of a tool's text that reach the model, where a context policy does not say otherwise. */
const longestText = 64 * 1024;

/**
 * What the model reads of a result: the message, a blank line, the value; the message alone when the value is hidden, and
 * "Done." where there is neither.
 */
export function toolMessage(call: ToolCall, result: ToolResult, longest = longestText, secrets?: Secrets): ToolMessage {
  const value = result.success && !result.hideValue ? valueText(result.value) : "";
  const between = result.message === "" || value === "" ? "" : "\n\n";
  const message: ToolMessage = {
    role: "tool",
    callId: call.id,
    name: call.name,
    text: shortened([result.message, between, value], longest, secrets),
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
function shortened(
  parts: readonly [message: string, between: string, value: string],
  longest: number,
  secrets: Secrets | undefined,
): string {
  const [message, between, value] = parts;
  const length = message.length + between.length + value.length;
  if (length === 0) return "Done.";
  if (length <= longest) return (message + between + value).toWellFormed();
  const half = longest / 2;
  // More than is shown: a secret that a cut would go through is found whole.
  const most = longest + longestText;
  const text = parts.map((part) => (part.length <= 2 * most ? part : part.slice(0, most) + part.slice(-most))).join("");
  const [begin, end] = [beginningOf(text, half, secrets), endOf(text, half, secrets)];
  const left = length - begin.length - end.length;
  return `${begin}\n\n[… cut: ${length} characters in all, ${left} left out here …]\n\n${end}`.toWellFormed();
}
