import type { ProviderAdapter } from "@proviso/core";
import { agentAdapter, type AgentDriver } from "@proviso/runtime";
import { adapterOptionsOf, settingsHash } from "@proviso/adapter-kit";
import { basename } from "node:path";
import { secretsOf } from "../options.ts";
import { acpFiles, checkAgentOptions, type AcpAgentOptions } from "./options.ts";

export type { AcpAgentOptions } from "./options.ts";
export type { AgentPermission, AgentPermissions } from "./permissions.ts";

/**
 * Evaluates prompts with an agent that owns its loop and speaks the Agent Client Protocol, version 1, on its standard
 * input and output (https://agentclientprotocol.com). The prompt's tools reach it over MCP; it is started for each turn
 * and ended after it, with all that it started. What the variables named in `env` hold is a secret where the name says
 * so (KEY, TOKEN, SECRET, PASSWORD, AUTH in it, say).
 * @example
 * ```ts
 * import { acpAgent } from "@proviso/adapter-process";
 *
 * const adapter = acpAgent({ command: "claude-code-acp", cwd: "/path/to/repository", permissions: "own-tools" });
 * const { output } = await adapter.evaluate("Which tests fail, and why?");
 * console.log(output);
 * ```
 * @throws {DefinitionError} for an option that cannot be.
 */
export function acpAgent(options: AcpAgentOptions): ProviderAdapter {
  const checked = checkAgentOptions(options);
  const { command, args, env, permissions } = checked;
  const secrets = secretsOf(options);
  const driver: AgentDriver = {
    name: "acp",
    model: basename(command),
    settingsHash: settingsHash({ command, args, env, permissions: String(permissions) }, secrets),
    capabilities: { files: acpFiles },
    async drive(run) {
      // The protocols' libraries are loaded by who uses them.
      const { drive } = await import("./acp-driver.ts");
      return drive(checked, run);
    },
  };
  return agentAdapter(driver, { ...adapterOptionsOf(options), secrets });
}
