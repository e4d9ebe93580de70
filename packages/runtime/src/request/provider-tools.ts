import type { ModelCapabilities } from "@proviso/core/provider";
import type { ProviderTool } from "@proviso/core";
import { failure, type Failure } from "../failures.ts";

/** What may offer tools that the provider runs: a model, or an agent. */
interface OffersTools {
  readonly name: string;
  readonly capabilities?: Pick<ModelCapabilities, "providerTools"> | undefined;
}

/** A provider tool that cannot be offered is refused before anything is sent. */
export function refusedProviderTool(
  { name, capabilities = {} }: OffersTools,
  tools: readonly ProviderTool[],
): Failure | undefined {
  if (tools.length === 0) return undefined;
  const { providerTools: offered = [] } = capabilities;
  const refused = tools.find(({ id }) => !offered.some((pattern) => fits(pattern, id)));
  if (refused === undefined) return undefined;
  const has = offered.length === 0 ? "It runs no tools itself." : `It runs ${offered.join(", ")}.`;
  const message = `${name} cannot offer the provider tool "${refused.name}" (${refused.id}). ${has}`;
  return failure({ stop: "provider", phase: "request", reason: "bad_request", message });
}

function fits(pattern: string, id: string): boolean {
  return pattern.endsWith("*") ? id.startsWith(pattern.slice(0, -1)) : id === pattern;
}
