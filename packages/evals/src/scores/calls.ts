import type { Tool, ToolInvoked } from "@proviso/core";
import { canonicalJson } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import type { Attempt, Score } from "../definition.ts";

/** A call that is expected: of a tool, or of a tool with an input that holds at least this. */
export type ExpectedCall =
  | string
  | Tool
  | {
      /** The tool, or its name. */
      readonly tool: string | Tool;
      /** What the input holds at least. Default: anything. */
      readonly input?: object | undefined;
    };

/** Every call of an attempt in order, failed and undone ones too, and those of nested evaluations. */
export function callsOf({ events }: Pick<Attempt, "events">): readonly ToolInvoked[] {
  return events.filter((event): event is ToolInvoked => event.type === "tool.invoked");
}

/**
 * Compares the calls that succeeded. "exact": these and no other, in this order; "in-order": these in this order, with others
 * between; "includes": these in any order; "only": none but these. The reason names the first call that differs.
 */
export function calls(
  attempt: Pick<Attempt, "events">,
  expected: readonly ExpectedCall[],
  match: "exact" | "in-order" | "includes" | "only" = "exact",
): Score {
  const made = callsOf(attempt).filter(({ result }) => result.success);
  const reason = whyNot(made, expected, match);
  return reason === undefined ? true : { value: false, reason };
}

function whyNot(
  made: readonly ToolInvoked[],
  expected: readonly ExpectedCall[],
  match: "exact" | "in-order" | "includes" | "only",
): string | undefined {
  if (match === "only") {
    const other = made.find((call) => !expected.some((each) => fitsCall(call, each)));
    return other && `superfluous: ${shown(other)}`;
  }
  if (match === "exact") return whyNotExact(made, expected);
  const left = [...made];
  for (const each of expected) {
    const at = left.findIndex((call) => fitsCall(call, each));
    if (at === -1) return `missing: ${wanted(each)}`;
    if (match === "in-order") left.splice(0, at + 1);
    else left.splice(at, 1);
  }
  return undefined;
}

function whyNotExact(made: readonly ToolInvoked[], expected: readonly ExpectedCall[]): string | undefined {
  for (let at = 0; at < Math.max(made.length, expected.length); at++) {
    const [call, each] = [made[at], expected[at]];
    if (each === undefined) return call && `superfluous: ${shown(call)}`;
    if (call === undefined) return `missing: ${wanted(each)}`;
    if (!fitsCall(call, each)) return `call ${at + 1} is ${shown(call)}, not ${wanted(each)}`;
  }
  return undefined;
}

function partsOf(expected: ExpectedCall): { readonly name: string; readonly input: object | undefined } {
  if (typeof expected === "string") return { name: expected, input: undefined };
  if (!("tool" in expected)) return { name: expected.name, input: undefined };
  const { tool, input } = expected;
  return { name: typeof tool === "string" ? tool : tool.name, input };
}

function fitsCall(call: ToolInvoked, expected: ExpectedCall): boolean {
  const { name, input } = partsOf(expected);
  return call.name === name && (input === undefined || holds(call.params, input));
}

/** Whether a value has at least what is wanted: fields of objects; lists and all else are equal. */
function holds(value: unknown, wantedValue: unknown): boolean {
  if (!isRecord(wantedValue)) return canonicalJson(value) === canonicalJson(wantedValue);
  return isRecord(value) && Object.entries(wantedValue).every(([key, each]) => holds(value[key], each));
}

function shown({ name, params }: ToolInvoked): string {
  return cut(`${name} ${canonicalJson(params)}`);
}

function wanted(expected: ExpectedCall): string {
  const { name, input } = partsOf(expected);
  return cut(input === undefined ? name : `${name} ${canonicalJson(input)}`);
}

/** Characters of a call in a reason. */
const longest = 200;

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
