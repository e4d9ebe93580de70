import type { Tool, ToolCall } from "@proviso/core";
import { isRecord, parseJson } from "@proviso/core/provider";
import { describeIssues, frozenInDepth, parseWithSchema, type SchemaResult, messageOf } from "@proviso/core/internal";
import { copyOf, isPlainData } from "./input.ts";

export type Arguments = { readonly ok: true; readonly input: unknown } | { readonly ok: false; readonly error: string };

/** The model's arguments as the tool wants them, or what is wrong with them; at once where the schema is. */
export function parseArguments(tool: Tool, call: ToolCall): Arguments | Promise<Arguments> {
  const given = decode(call.arguments);
  return given.ok ? validateInput(tool, given.input) : given;
}

/**
 * What the model, or a policy in its place, wants done: checked with the tool's schema, then frozen at every depth, so
 * that what a policy approves is what is recorded and what the handler gets. Of what cannot be frozen, a Date say, which
 * only a transforming schema or a policy brings in, `ownInput` gives each who asks their own.
 */
export function validateInput(tool: Tool, given: unknown): Arguments | Promise<Arguments> {
  const unchecked = (error: unknown): Arguments => {
    return { ok: false, error: `The arguments of ${tool.name} could not be checked: ${messageOf(error)}` };
  };
  try {
    const result = parseWithSchema(tool.input, given);
    if (result instanceof Promise) return result.then((late) => checked(tool, late)).catch(unchecked);
    return checked(tool, result);
  } catch (error) {
    return unchecked(error);
  }
}

function checked(tool: Tool, result: SchemaResult<unknown>): Arguments {
  if (result.ok) return { ok: true, input: kept(result.value) };
  return {
    ok: false,
    error: `The arguments of ${tool.name} do not fit: ${describeIssues(result.issues, result.unlisted)}.`,
  };
}

/** Inputs that can be changed though they are frozen; no other code holds a reference to them. */
const changeable = new WeakSet<object>();

function kept(input: unknown): unknown {
  if (!isNonNullObject(input)) return input;
  if (isPlainData(input)) return frozenInDepth(input);
  const copy = frozenCopy(input);
  changeable.add(copy);
  return copy;
}

/** The input as one gets it who may try to change it: a policy, or the handler. */
export function ownInput(input: unknown): unknown {
  return isNonNullObject(input) && changeable.has(input) ? frozenCopy(input) : input;
}

function frozenCopy(input: object): object {
  const copy = copyOf(input) as object;
  // Bytes cannot be frozen.
  return ArrayBuffer.isView(copy) ? copy : frozenInDepth(copy);
}

function isNonNullObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Missing, null and "" mean `{}`. */
function decode(text: unknown): Arguments {
  if (text === undefined || text === null || (typeof text === "string" && text.trim() === ""))
    return { ok: true, input: {} };
  if (typeof text !== "string") return { ok: false, error: "The arguments must be JSON text." };
  const parsed = parseJson(text);
  if (!parsed.ok)
    return { ok: false, error: `The arguments could not be read: ${parsed.error}. Send one JSON object.` };
  if (parsed.value === null) return { ok: true, input: {} };
  if (isRecord(parsed.value)) return { ok: true, input: parsed.value };
  const found = Array.isArray(parsed.value) ? "an array" : `a ${typeof parsed.value}`;
  return { ok: false, error: `The arguments must be one JSON object, not ${found}.` };
}
