import { DefinitionError } from "../errors.ts";
import type { Slice } from "../state/slice.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** A call whose input a policy may look into: typed by the tools that it watches. */
export type PolicyCall<T extends Tool = Tool> =
  T extends Tool<infer Input, infer Value> ? { readonly tool: Tool<Input, Value>; readonly input: Input } : never;

/** Asked before a tool runs; made by `definePolicy`. One that throws denies the call. */
export interface ToolPolicy {
  readonly name: string;
  /** Left out: all tools in its reach, which is its section and the sections below, or the whole prompt. */
  readonly tools?: readonly Tool[] | undefined;
  /** What it keeps; registered as a section's are. */
  readonly slices?: readonly Slice[] | undefined;
  check(call: PolicyCall, context: ToolContext): PolicyDecision | Promise<PolicyDecision>;
}

/** Infers the input's type from the tools it watches. @throws {DefinitionError} without a name or `check`. */
export function definePolicy<const T extends readonly Tool[] = readonly Tool[]>(
  policy: Omit<ToolPolicy, "tools" | "check"> & {
    readonly tools?: T | undefined;
    check(call: PolicyCall<T[number]>, context: ToolContext): PolicyDecision | Promise<PolicyDecision>;
  },
): ToolPolicy {
  const { name, check } = policy as { readonly [K in keyof typeof policy]: unknown };
  if (typeof name !== "string" || name === "") throw new DefinitionError("A policy needs a name.");
  if (typeof check !== "function") throw new DefinitionError(`The policy "${name}" needs check: a function.`);
  return Object.freeze({ ...policy }) as unknown as ToolPolicy;
}

/** What a policy answers with; made by `allow` and `deny`. */
export type PolicyDecision =
  | { readonly allowed: true; /** In place of what the model sent; validated again. */ readonly input?: unknown }
  | { readonly allowed: false; readonly reason: string };

/** Lets the call go on; with an input, that takes the place of the arguments and is validated again. */
export function allow(input?: unknown): PolicyDecision {
  return input === undefined ? { allowed: true } : { allowed: true, input };
}

/** Keeps the tool from running; the model reads the reason. */
export function deny(reason: string): PolicyDecision {
  return { allowed: false, reason };
}
