import { DefinitionError, type Tool } from "@proviso/core";
import type { ResourceContext } from "../resources/context.ts";
import type { Run } from "../run.ts";
import { policiesFor } from "./policies.ts";

/** @throws {DefinitionError} for a tool, or a policy that watches it, which uses a key that nothing binds. */
export function checkUses({ rendered, policies, resources }: Pick<Run, "rendered" | "policies" | "resources">): void {
  for (const tool of rendered.tools) {
    assertBound(`The tool "${tool.name}"`, tool.uses, resources);
    for (const { name, uses } of policiesFor({ rendered, policies }, tool)) {
      assertBound(`The policy "${name}"`, uses, resources);
    }
  }
}

function assertBound(user: string, uses: Tool["uses"], resources: ResourceContext): void {
  const missing = uses?.find((key) => !resources.binds(key));
  if (missing === undefined) return;
  const { name } = missing;
  throw new DefinitionError(`${user} uses "${name}", which nothing binds: give resources: [provide(${name}, …)].`);
}
