import { type ApprovalContext, type Suspension, type Tool, type ToolPolicy, DefinitionError } from "@proviso/core";
import { describeValue, messageOf } from "@proviso/core/internal";
import { isFailure, type Failure } from "../failures.ts";
import type { PolicyQuestion } from "../recording/contract.ts";
import type { Run } from "../run.ts";
import { ownInput, validateInput, instanceIn, isSameInput } from "./arguments.ts";
import type { Accepted } from "./invocation.ts";
import type { CallContext } from "./context.ts";
import type { ResourceContext } from "../resources/asking.ts";

/** A policy denied the call; the model reads why. */
export interface Denied {
  readonly denied: string;
}
/** The input that the policies let through. */
export interface Allowed {
  readonly denied?: undefined;
  readonly input: unknown;
}

/**
 * Returns the policies that watch the tool, in the order in which they are asked: the section's, the prompt's, then the
 * evaluation's.
 */
export function policiesFor(run: Pick<Run, "rendered" | "policies">, tool: Tool): readonly ToolPolicy[] {
  const own = run.rendered.policiesOf(tool.name);
  const all = run.policies.length === 0 ? own : [...own, ...run.policies];
  return all.length === 0
    ? all
    : all.filter(({ tools }) => tools === undefined || tools.some(({ name }) => name === tool.name));
}

/**
 * Asks each policy's `check`; the first denial counts. `approved` is what was approved: a policy cannot change it any
 * more.
 */
export async function checkPolicies(
  run: Run,
  policies: readonly ToolPolicy[],
  { call, tool, input: given }: Pick<Accepted, "call" | "tool" | "input">,
  calling: Pick<CallContext, "context" | "beginCheck">,
  approved: { readonly input: unknown } | undefined,
): Promise<Denied | Allowed> {
  let input = given;
  for (const policy of policies) {
    if (policy.check === undefined) continue;
    calling.beginCheck(policy);
    const decision = await decide(run, { call, tool, input, policy, step: "check" }, async () =>
      policy.check?.({ tool, input: ownInput(input) }, calling.context),
    );
    if (decision.denied !== undefined) return decision;
    if (decision.input === undefined) continue;
    const checked = await validateInput(tool, decision.input);
    if (!checked.ok) return { denied: checked.error };
    if (approved !== undefined && !isSameInput(checked.input, approved.input)) {
      return { denied: `The policy ${policy.name} changed the input after it had been approved.` };
    }
    input = checked.input;
  }
  return { input };
}

/** A question may be asked again when a later one changed the input; that it is asked so often is a fault of the policies. */
const maxRounds = 5;

/** Asks each policy's `approve` until all have approved the same input, or a limit ends the wait. */
export async function askForApproval(
  run: Run,
  policies: readonly ToolPolicy[],
  { call, tool, input: given }: Accepted,
): Promise<Denied | Allowed | Failure> {
  const context = approvalContext(run, call.id);
  const approved = new Map<ToolPolicy, unknown>();
  let input = given;
  for (let round = 0; round < maxRounds; round++) {
    for (const policy of policies) {
      if (approved.has(policy) && isSameInput(approved.get(policy), input)) continue;
      const instance = instanceIn(input);
      if (instance !== undefined) return { denied: unapprovable(tool, instance) };
      const decision = await run.limits.race(
        askOne(run, { call, tool, input, policy, step: "approve" }, context),
        "tool",
      );
      if (isFailure(decision)) {
        return { ...decision, message: `${decision.message} ${policy.name} had not decided on ${tool.name}.` };
      }
      if (decision.denied !== undefined) return decision;
      ({ input } = decision);
      approved.set(policy, input);
    }
    if (policies.every((policy) => isSameInput(approved.get(policy), input))) return { input };
  }
  return { denied: `The policies of ${tool.name} did not agree on one input in ${maxRounds} rounds.` };
}

function unapprovable({ name }: Tool, instance: string): string {
  return (
    `The input of ${name} cannot be approved: ${instance}, which could be changed afterwards. Let the schema give plain ` +
    "data, dates, bytes, Maps and Sets, and make the instance in the handler."
  );
}

/** What one policy decides, with its input validated where it gave one. */
async function askOne(run: Run, question: PolicyQuestion, context: ApprovalContext): Promise<Denied | Allowed> {
  const { policy, tool, input } = question;
  const decision = await decide(run, question, async () => policy.approve?.({ tool, input: ownInput(input) }, context));
  if (decision.denied !== undefined) return decision;
  if (decision.input === undefined) return { input };
  const checked = await validateInput(tool, decision.input);
  return checked.ok ? { input: checked.input } : { denied: checked.error };
}

function approvalContext(run: Run, callId: string): ApprovalContext {
  const { evaluationId, prompt, rendered, adapter, turn, core, limits } = run;
  const { deadline, budget, signal } = limits;
  const session = Object.freeze({ id: core.session.id, get: core.session.get });
  return Object.freeze({ callId, turn, evaluationId, prompt, rendered, adapter, deadline, budget, session, signal });
}

type Decided = Denied | Allowed;

/** What a policy may have answered. */
interface Answered {
  readonly allowed?: unknown;
  readonly reason?: unknown;
  readonly input?: unknown;
  readonly later?: unknown;
}

/**
 * Asks a policy, unless its decision came in another attempt of the run. A decision that comes later suspends the run.
 * @throws where the run is suspended.
 */
async function decide(run: Run, question: PolicyQuestion, ask: () => Promise<unknown>): Promise<Decided> {
  const known = run.tape?.decided(run, question);
  const { policy, tool } = question;
  let decision: Answered | null | undefined;
  try {
    decision = (known ?? (await ask())) as Answered | null | undefined;
    if (!isLater(decision)) return decidedBy(policy, tool, decision);
  } catch (error) {
    return { denied: `The policy ${policy.name} failed: ${messageOf(error)}` };
  }
  return decideLater(run, question, decision.later);
}

const allowedNames: readonly string[] = ["allowed", "input", "reason"];

/**
 * Only `{ allowed: true }` lets the call go on, with an input or without one. Arguments under another name would be lost,
 * and the call that the policy changed would run as it was.
 */
export function decidedBy({ name }: ToolPolicy, tool: Tool, decision: Answered | null | undefined): Decided {
  if (decision?.allowed === true) {
    const unknown = Object.entries(decision).find(([key, value]) => value !== undefined && !allowedNames.includes(key));
    if (unknown === undefined) return { input: decision.input };
    const key = describeValue(unknown[0]);
    return {
      denied: `The policy ${name} allowed ${tool.name} with ${key}, which no decision has: allow(input) replaces the arguments.`,
    };
  }
  const reason: unknown = decision?.allowed === false ? decision.reason : undefined;
  if (typeof reason === "string" && reason.trim() !== "") return { denied: reason };
  return { denied: `The policy ${name} did not allow ${tool.name}.` };
}

/** Whether a policy answered with a decision that `suspend` made. */
export function isLater(
  decision: Answered | null | undefined,
): decision is { readonly allowed: false; readonly later: Suspension } {
  const later: unknown = decision?.allowed === false ? decision.later : undefined;
  return typeof later === "object" && later !== null && typeof (later as Suspension).question === "string";
}

/** Suspends the run, or denies where there is none that can wait. @throws where the run is suspended. */
export function decideLater(run: Run, question: PolicyQuestion, later: Suspension): Denied {
  run.tape?.suspend(run, question, later);
  return { denied: `Not run: this has to be decided first, and there is no run to wait in: ${later.question}` };
}

/**
 * @throws {DefinitionError} for a tool, a policy that watches it, or the completion checker, which uses a key that nothing
 * binds.
 */
export function checkUses({ rendered, policies, resources }: Pick<Run, "rendered" | "policies" | "resources">): void {
  const { completion } = rendered;
  if (completion !== undefined) assertBound("completion checker", completion, resources);
  for (const tool of rendered.tools) {
    assertBound("tool", tool, resources);
    for (const policy of policiesFor({ rendered, policies }, tool)) assertBound("policy", policy, resources);
  }
}

function assertBound(kind: string, user: Pick<Tool, "name" | "uses">, resources: ResourceContext): void {
  const missing = user.uses?.find((key) => !resources.binds(key));
  if (missing === undefined) return;
  const { name } = missing;
  throw new DefinitionError(
    `The ${kind} "${user.name}" uses "${name}", which nothing binds: give resources: [provide(${name}, …)].${resources.namesakeOf(missing)}`,
  );
}
