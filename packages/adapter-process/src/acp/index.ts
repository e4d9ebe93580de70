import type { ProviderAdapter } from "@proviso/core";
import { agentAdapter } from "@proviso/runtime";
import { secretsOf } from "../options.ts";
import { acpDriver } from "./acp-driver.ts";
import { checkAgentOptions, type AcpAgentOptions } from "./options.ts";

export { validateAcpAgentOptions } from "./options.ts";
export type { AcpAgentOptions } from "./options.ts";
export type { AgentPermission, AgentPermissions } from "./permissions.ts";

/**
 * Evaluates prompts with an agent that owns its loop and speaks the Agent Client Protocol, version 1, on its standard
 * input and output (https://agentclientprotocol.com). The prompt's tools reach it over MCP; it is started for each turn
 * and ended after it, with all that it started. What the variables named in `env` hold is a secret where the name says
 * so (…KEY, …TOKEN, …SECRET, …PASSWORD).
 * @throws {DefinitionError} for an option that cannot be.
 */
export function acpAgent(options: AcpAgentOptions): ProviderAdapter {
  const checked = checkAgentOptions(options);
  return agentAdapter(acpDriver(checked), { ...options, secrets: secretsOf(options) });
}
