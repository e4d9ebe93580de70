import type { PolicyDecision, Tool, ToolContext, ToolPolicy } from "@proviso/core";
import { messageOf } from "../failures.ts";
import type { Run } from "../run.ts";

export type Verdict =
  | { readonly denied: string }
  | { readonly denied?: undefined; readonly replaced: boolean; readonly input: unknown };

/**
 * The section's policies, the prompt's, then the evaluation's; the first denial counts, and a policy that throws
 * denies.
 */
export async function checkPolicies(
  policies: readonly ToolPolicy[],
  tool: Tool,
  given: unknown,
  context: ToolContext,
): Promise<Verdict> {
  let input = given;
  let replaced = false;
  for (const policy of policies) {
    const decision = await ask(policy, tool, input, context);
    if (!decision.allowed) return { denied: decision.reason };
    if (decision.input !== undefined) {
      input = decision.input;
      replaced = true;
    }
  }
  return { replaced, input };
}

/** All that watch the tool, in the order in which they are asked. */
export function policiesFor(run: Run, tool: Tool): readonly ToolPolicy[] {
  const own = run.rendered.policiesOf(tool.name);
  const all = run.policies.length === 0 ? own : [...own, ...run.policies];
  return all.length === 0
    ? all
    : all.filter(({ tools }) => tools === undefined || tools.some(({ name }) => name === tool.name));
}

async function ask(policy: ToolPolicy, tool: Tool, input: unknown, context: ToolContext): Promise<PolicyDecision> {
  try {
    return await policy.check({ tool, input }, context);
  } catch (error) {
    return { allowed: false, reason: `The policy ${policy.name} failed: ${messageOf(error)}` };
  }
}
