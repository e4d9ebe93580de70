import type { ModelFailure, ModelResponse, ReportedUsage, ToolCall } from "@proviso/core";
import { finishReasonIn } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { parseBody } from "@proviso/adapter-kit";
import { beginningOf, type Secrets } from "@proviso/runtime/internal";

type Json = Readonly<Record<string, unknown>>;
/** What stands on standard output, read. */
type Read = ModelResponse | { readonly problem: string };

/** Characters of an output that was no answer, as far as they are kept. */
const keptLength = 4_096;
const keys = new Set(["text", "usage", "toolCalls", "model", "finishReason", "refusal"]);

/** The answer that a command printed: one JSON object of the documented form, or plain text. */
export function fromOutput(stdout: Buffer, stderr: string, secrets: Secrets | undefined): ModelResponse | ModelFailure {
  const read = readOutput(stdout);
  if (!("problem" in read)) return read;
  return {
    failure: "provider",
    reason: "invalid_response",
    message: `The command's output cannot be read: ${read.problem}.`,
    payload: payloadOf(stdout, stderr, secrets),
  };
}

/** Returns what a failed command printed. */
export function payloadOf(
  stdout: Buffer,
  stderr: string,
  secrets: Secrets | undefined,
): { readonly stdout: string; readonly stderr: string } {
  // A secret across the end is looked for in what stands behind it.
  const first = stdout.subarray(0, 16 * keptLength).toString();
  return { stdout: beginningOf(first, keptLength, secrets), stderr };
}

function readOutput(stdout: Buffer): Read {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(stdout);
  } catch {
    return { problem: "it is not UTF-8" };
  }
  const inner = withoutFence(text);
  if (!/^\s*\{/.test(inner)) return plain(text);
  const json = parseBody(inner);
  if (json.ok) return isAnswer(json.value) ? fromAnswer(json.value) : plain(text);
  // What begins as an answer was meant as one.
  return /^\s*\{\s*"(?:text|toolCalls|usage)"\s*:/.test(inner) ? { problem: json.error } : plain(text);
}

const fence = "```";

/** What is in the block of code that the whole text is; the text where it is none. */
function withoutFence(text: string): string {
  const block = text.trim();
  if (block.length < 2 * fence.length || !block.startsWith(fence) || !block.endsWith(fence)) return text;
  const inner = block.slice(fence.length, -fence.length).replace(/^json/, "");
  const content = inner.trimStart();
  return inner.slice(0, inner.length - content.length).includes("\n") ? content : text;
}

/** Makes an answer of plain text, without the line feed that a command prints last. */
function plain(text: string): ModelResponse {
  return {
    message: { role: "assistant", text: text.replace(/\r?\n$/, ""), toolCalls: [] },
    finishReason: "stop",
  };
}

/** Another object is a structured answer. */
function isAnswer(value: unknown): value is Json {
  if (!isRecord(value) || !Object.keys(value).every((key) => keys.has(key))) return false;
  return "text" in value || "toolCalls" in value || "refusal" in value;
}

function fromAnswer(answer: Json): Read {
  const { usage, model, finishReason, refusal } = answer;
  // Programs write null for what they do not have.
  const text = answer["text"] ?? "";
  const toolCalls = answer["toolCalls"] ?? [];
  if (typeof text !== "string") return { problem: "text must be a text" };
  if (!Array.isArray(toolCalls)) return { problem: "toolCalls must be a list" };
  const calls = toolCalls.map(callOf);
  const whole = calls.filter((call) => call !== undefined);
  if (whole.length < calls.length) return { problem: "each of toolCalls must have a name" };
  return {
    message: { role: "assistant", text, toolCalls: whole },
    finishReason: finishReasonIn(finishReason) ?? (whole.length > 0 ? "tool-calls" : "stop"),
    usage: usageOf(usage),
    model: typeof model === "string" && model !== "" ? model : undefined,
    refusal: typeof refusal === "string" && refusal !== "" ? refusal : undefined,
    payload: answer,
  };
}

/** Arguments come as an object, or as its JSON text. Without an id the runtime gives one. */
function callOf(call: unknown): ToolCall | undefined {
  if (!isRecord(call) || typeof call["name"] !== "string") return undefined;
  const { id, name, arguments: given = "" } = call;
  return {
    id: typeof id === "string" ? id : "",
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given),
  };
}

/** The runtime reads and checks the numbers in it. */
function usageOf(usage: unknown): ReportedUsage | undefined {
  return isRecord(usage) ? usage : undefined;
}
