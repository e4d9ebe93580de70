import { describeValue } from "../values.ts";
import { DefinitionError } from "../errors.ts";
import { frozenCopy } from "../frozen-copy.ts";
import { checkOptionNames, type OptionNames } from "../option-names.ts";
import { checkLists } from "../lists.ts";
import type { ResourceKey } from "../resources/key.ts";
import type { SessionState } from "../state/session.ts";
import type { Slice } from "../state/slice.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** A call whose input a policy may look into: typed by the tools that it watches. */
export type PolicyCall<T extends Tool = Tool> =
  T extends Tool<infer Input, infer Value> ? { readonly tool: Tool<Input, Value>; readonly input: Input } : never;

/** What a policy may have; a ToolPolicy has at least one of the three functions. */
export interface PolicyParts {
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
  /**
   * Decides on a call of a run whose effect is not known, because its process ended, or a limit stopped it, while the handler ran; asked after the
   * tool's `reconcile`. `allow` runs it again, `deny` gives the model the reason, `suspend` waits for a decision; undefined:
   * the next policy is asked, and where none decides the call is denied.
   */
  unknown?(call: PolicyCall, context: ToolContext): PolicyDecision | undefined | Promise<PolicyDecision | undefined>;
}

/**
 * Decides whether a call may run; made by `definePolicy`. Only `{ allowed: true }`, as `allow` makes it, lets the call go
 * on: every other answer denies it, and so does a policy that throws. It has `check`, `approve` or `unknown`, so that a
 * function, or a factory that was not called, is no policy to the compiler.
 */
export type ToolPolicy = PolicyParts & OneOf<Pick<PolicyParts, "check" | "approve" | "unknown">>;

/** What `definePolicy` returns: its slices are a list, also where it was given none. */
export type DefinedPolicy = ToolPolicy & {
  /** Slices that the policy reads or writes. `withConversation` is given them where the policy is one of evaluate's options. */
  readonly slices: readonly Slice[];
};

type OneOf<T> = { [K in keyof T]-?: Required<Pick<T, K>> }[keyof T];

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
 * @throws {DefinitionError} without a name, without `check`, `approve` and `unknown`, or for tools, slices or uses that are no list of such.
 */
export function definePolicy<const T extends readonly Tool[] = readonly Tool[]>(
  policy: Omit<PolicyParts, "tools" | "check" | "approve" | "unknown"> & {
    readonly tools?: T | undefined;
    check?(call: PolicyCall<T[number]>, context: ToolContext): PolicyDecision | Promise<PolicyDecision>;
    approve?(call: PolicyCall<T[number]>, context: ApprovalContext): PolicyDecision | Promise<PolicyDecision>;
    unknown?(
      call: PolicyCall<T[number]>,
      context: ToolContext,
    ): PolicyDecision | undefined | Promise<PolicyDecision | undefined>;
  },
): DefinedPolicy {
  const { name, check, approve, unknown } = policy as { readonly [K in keyof typeof policy]: unknown };
  if (typeof name !== "string" || name === "") throw new DefinitionError("A policy needs a name.");
  checkOptionNames(`The policy "${name}"`, policy, policyNames);
  const steps = [check, approve, unknown].filter((step) => step !== undefined);
  if (steps.length === 0 || steps.some((step) => typeof step !== "function")) {
    throw new DefinitionError(`The policy "${name}" needs check, approve or unknown: a function.`);
  }
  checkLists(`policy "${name}"`, policy, "tools", "slices", "uses");
  return frozenCopy({ ...policy, slices: policy.slices ?? [] }, []) as unknown as DefinedPolicy;
}

/** What a section or a prompt holds of a policy: a copy that cannot change, unless it cannot change itself. */
export function placedPolicy(policy: ToolPolicy): ToolPolicy {
  return Object.isFrozen(policy) ? policy : frozenCopy(policy, Object.keys(policyNames));
}

const policyNames = {
  name: true,
  tools: true,
  slices: true,
  uses: true,
  check: true,
  approve: true,
  unknown: true,
} as const satisfies OptionNames<PolicyParts>;

/** A decision that comes later. */
export interface Suspension {
  /** The question that is to be decided. */
  readonly question: string;
  /** Milliseconds after which it counts as denied. Left out: it waits for as long as it takes. */
  readonly expiresInMs?: number | undefined;
  /** Plain JSON for the one who decides. */
  readonly details?: unknown;
}

/** What a policy answers with; made by `allow`, `deny` and `suspend`. */
export type PolicyDecision =
  | { readonly allowed: true; /** Replaces what the model sent; validated again. */ readonly input?: unknown }
  | {
      readonly allowed: false;
      /** Why not; the model reads it. */
      readonly reason: string;
      /** Where it is set, the call is not denied: the run waits for this decision. Without a run it is denied. */
      readonly later?: Suspension | undefined;
    };

/** Lets the call go on; with an input, that takes the place of the arguments and is validated again. */
export function allow(input?: unknown): PolicyDecision {
  return input === undefined ? { allowed: true } : { allowed: true, input };
}

/** Keeps the tool from running; the model reads the reason. An empty one becomes a text that names the policy. */
export function deny(reason: string): PolicyDecision {
  return { allowed: false, reason };
}

/**
 * Decides later, perhaps in another process: what the call did is undone, `evaluate` rejects with a RunError "suspended" that
 * has a token, and `journal.resolve(token, decision)` lets the run go on. Without a run to wait in the call is denied.
 * @throws {DefinitionError} for a question that is no text, and for `expiresInMs` that is no positive number.
 */
export function suspend(question: string, options: Omit<Suspension, "question"> = {}): PolicyDecision {
  if (typeof question !== "string" || question.trim() === "") throw new DefinitionError("suspend needs a question.");
  checkOptionNames("suspend", options, { expiresInMs: true, details: true });
  const { expiresInMs, details } = options;
  if (expiresInMs !== undefined && !(typeof expiresInMs === "number" && expiresInMs > 0)) {
    throw new DefinitionError(
      `expiresInMs has to be a number of milliseconds above 0, not ${describeValue(expiresInMs)}.`,
    );
  }
  const later = {
    question,
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
    ...(details === undefined ? {} : { details }),
  };
  return { allowed: false, reason: `This has to be decided first: ${question}`, later };
}
