import { acrossCopies } from "../across-copies.ts";
import { describeValue, messageOf } from "../values.ts";
import { isFileLike, type FileLike, type FileRef } from "../content/file.ts";
import { DefinitionError } from "../errors.ts";
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
      /** The files that follow the message. Left out: none. */
      readonly files?: readonly FileRef[];
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

/** A result as a handler returned it: its files may still be the platform's. */
export type ReturnedResult =
  | (Omit<Extract<ToolResult, { readonly success: true }>, "files"> & { readonly files?: readonly FileLike[] })
  | Extract<ToolResult, { readonly success: false }>;

let made: WeakMap<object, ReturnedResult> | undefined;

/** The results that any copy of this package has made: a library of tools may have one of its own. */
function results(): WeakMap<object, ReturnedResult> {
  return (made ??= acrossCopies("core: tool results, 1", () => new WeakMap<object, ReturnedResult>()));
}

/**
 * A success. `message` is read by the model before the value; `hideValue` keeps the value from it. `files` follow the
 * text of the tool's message: they are stored before `tool.invoked` is emitted, and `result.files` names them.
 * @throws {DefinitionError} for an option that is something else, which fails the call.
 */
export function toolOk<Value>(
  value: Value,
  options: {
    message?: string | undefined;
    hideValue?: boolean | undefined;
    files?: readonly FileLike[] | undefined;
  } = {},
): ToolReturn<Value> {
  checkOptionNames("toolOk", options, { message: true, hideValue: true, files: true });
  const { message = "", hideValue = false, files } = options;
  if (typeof message !== "string") throw wrong("message", "a text", message);
  if (typeof hideValue !== "boolean") throw wrong("hideValue", "true or false", hideValue);
  if (files === undefined || files.length === 0) return brand<Value>({ success: true, message, value, hideValue });
  const odd = files.findIndex((file) => !isFileLike(file));
  if (odd >= 0) throw new DefinitionError(`The option files[${odd}] of toolOk is no file.`);
  return brand<Value>({ success: true, message, value, hideValue, files: Object.freeze([...files]) });
}

function wrong(option: string, mustBe: string, given: unknown): DefinitionError {
  return new DefinitionError(`The option ${option} of toolOk must be ${mustBe}, not ${describeValue(given)}.`);
}

/** A failure: the call's changes are undone and the model reads the message; without one, that the tool failed. */
export function toolError(message: string): ToolReturn<never> {
  return brand<never>({ success: false, message: messageTextOf(message) });
}

/** A look-up of a text may have found nothing, though its type is a text. */
function messageTextOf(given: unknown): string {
  if (typeof given === "string") return given;
  if (given === undefined || given === null) return "";
  return given instanceof Error ? messageOf(given) : describeValue(given);
}

/** The opposite of `returnedResult`, for a result that was kept as plain JSON. */
export function restoredResult(result: ToolResult): ToolReturn<unknown> {
  return brand<unknown>(result);
}

/** What toolOk or toolError made; undefined for everything else. */
export function returnedResult(value: unknown): ReturnedResult | undefined {
  return typeof value === "object" && value !== null ? results().get(value) : undefined;
}

function brand<Value>(result: ReturnedResult): ToolReturn<Value> {
  const branded = Object.freeze({ ...result });
  results().set(branded, branded);
  return branded as unknown as ToolReturn<Value>;
}
