import { DefinitionError } from "../errors.ts";
import { checkOptionNames, type OptionNames } from "../option-names.ts";
import { isResourceKey, type ResourceKey } from "../resources/key.ts";
import type { SessionState } from "../state/session.ts";
import type { Slice } from "../state/slice.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** A call whose input a policy may look into: typed by the tools that it watches. */
export type PolicyCall<T extends Tool = Tool> =
  T extends Tool<infer Input, infer Value> ? { readonly tool: Tool<Input, Value>; readonly input: Input } : never;

/**
 * Decides whether a call may run; made by `definePolicy`. Only `{ allowed: true }`, as `allow` makes it, lets the call go
 * on: every other answer denies it, and so does a policy that throws.
 */
export interface ToolPolicy {
  /** Names the policy in errors and logs. */
  readonly name: string;
  /**
   * The tools that the policy watches. Left out: all tools in its reach, which is its section and the sections below,
   * or the whole prompt.
   */
  readonly tools?: readonly Tool[] | undefined;
  /** Slices that the policy reads or writes; added to the session when an evaluation starts. */
  readonly slices?: readonly Slice[] | undefined;
  /**
   * The resources that `check` asks for; it gets no others. They are locked for reading, unless the tool locks them for
   * writing. Left out: every snapshotable resource of the evaluation. `[]` waits for none.
   */
  readonly uses?: readonly ResourceKey<unknown>[] | undefined;
  /**
   * A fast decision. It runs inside the call's transaction and its `timeoutMs`, just before the handler. Where the call
   * has to be approved, it runs before the question too, and what it dispatched then is rolled back.
   */
  check?(call: PolicyCall, context: ToolContext): PolicyDecision | Promise<PolicyDecision>;
  /**
   * A decision that may take its time, a person's for example. It holds no lock and does not count into the tool's
   * `timeoutMs`; the evaluation's limits end the wait. Every `check` runs after it, on the input that was approved.
   */
  approve?(call: PolicyCall, context: ApprovalContext): PolicyDecision | Promise<PolicyDecision>;
}

/** What `approve` may use: it runs outside the call's transaction, so it changes nothing. */
export interface ApprovalContext extends Pick<
  ToolContext,
  "callId" | "turn" | "evaluationId" | "prompt" | "rendered" | "adapter" | "deadline" | "budget"
> {
  /** The session, to read. */
  readonly session: Pick<SessionState, "id" | "get">;
  /** Aborts when the decision is not needed any more. */
  readonly signal: AbortSignal;
}

/**
 * Infers the input's type from the tools it watches.
 * @throws {DefinitionError} without a name, without `check` and `approve`, or for `uses` that holds no resource keys.
 */
export function definePolicy<const T extends readonly Tool[] = readonly Tool[]>(
  policy: Omit<ToolPolicy, "tools" | "check" | "approve"> & {
    readonly tools?: T | undefined;
    check?(call: PolicyCall<T[number]>, context: ToolContext): PolicyDecision | Promise<PolicyDecision>;
    approve?(call: PolicyCall<T[number]>, context: ApprovalContext): PolicyDecision | Promise<PolicyDecision>;
  },
): ToolPolicy {
  const { name, check, approve, uses } = policy as { readonly [K in keyof typeof policy]: unknown };
  if (typeof name !== "string" || name === "") throw new DefinitionError("A policy needs a name.");
  checkOptionNames(`The policy "${name}"`, policy, policyNames);
  const steps = [check, approve].filter((step) => step !== undefined);
  if (steps.length === 0 || steps.some((step) => typeof step !== "function")) {
    throw new DefinitionError(`The policy "${name}" needs check or approve: a function.`);
  }
  if (uses !== undefined && !(Array.isArray(uses) && uses.every(isResourceKey))) {
    throw new DefinitionError(`The uses of policy "${name}" must be a list of resource keys.`);
  }
  return Object.freeze({ ...policy }) as unknown as ToolPolicy;
}

const policyNames = {
  name: true,
  tools: true,
  slices: true,
  uses: true,
  check: true,
  approve: true,
} as const satisfies OptionNames<ToolPolicy>;

/** What a policy answers with; made by `allow` and `deny`. */
export type PolicyDecision =
  | { readonly allowed: true; /** Replaces what the model sent; validated again. */ readonly input?: unknown }
  | {
      readonly allowed: false;
      /** Why not; the model reads it. */
      readonly reason: string;
    };

/** Lets the call go on; with an input, that takes the place of the arguments and is validated again. */
export function allow(input?: unknown): PolicyDecision {
  return input === undefined ? { allowed: true } : { allowed: true, input };
}

/** Keeps the tool from running; the model reads the reason. An empty one becomes a text that names the policy. */
export function deny(reason: string): PolicyDecision {
  return { allowed: false, reason };
}
