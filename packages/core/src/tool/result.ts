import { describeValue } from "../describe-value.ts";
import { checkOptionNames } from "../option-names.ts";

/** The result of a call in events and responses: plain JSON. */
export type ToolResult<Value = unknown> =
  | {
      readonly success: true;
      /** What the model reads. */
      readonly message: string;
      /** What the tool returned; where it declares an output schema, what that made of it. */
      readonly value: Value;
      /** Whether the model reads the message alone, without the value. */
      readonly hideValue: boolean;
    }
  | {
      readonly success: false;
      /** What the model reads. */
      readonly message: string;
    };

declare const returned: unique symbol;
/** Made by toolOk and toolError alone, so a value such as `{ success: false, message }` of some API stays a value. */
export interface ToolReturn<out Value> {
  readonly [returned]: Value;
}

const results = new WeakMap<object, ToolResult>();

/** A success. `message` is read by the model before the value; `hideValue` keeps the value from it. */
export function toolOk<Value>(
  value: Value,
  options: { message?: string | undefined; hideValue?: boolean | undefined } = {},
): ToolReturn<Value> {
  checkOptionNames("toolOk", options, { message: true, hideValue: true });
  const { message = "", hideValue = false } = options;
  return brand<Value>({ success: true, message, value, hideValue });
}

/** A failure: the call's changes are undone and the model reads the message; without one, that the tool failed. */
export function toolError(message: string): ToolReturn<never> {
  return brand<never>({ success: false, message: messageTextOf(message) });
}

/** A look-up of a text may have found nothing, though its type is a text. */
function messageTextOf(given: unknown): string {
  if (typeof given === "string") return given;
  if (given === undefined || given === null) return "";
  return given instanceof Error ? given.message : describeValue(given);
}

/** What toolOk or toolError made; undefined for everything else. */
export function returnedResult(value: unknown): ToolResult | undefined {
  return typeof value === "object" && value !== null ? results.get(value) : undefined;
}

function brand<Value>(result: ToolResult): ToolReturn<Value> {
  const made = Object.freeze({ ...result });
  results.set(made, made);
  return made as unknown as ToolReturn<Value>;
}
