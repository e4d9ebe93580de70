import { DefinitionError, type Tool } from "@proviso/core";
import type { ResourceContext } from "../resources/asking.ts";
import type { Run } from "../run.ts";
import { policiesFor } from "./policies.ts";

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
