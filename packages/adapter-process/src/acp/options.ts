import { DefinitionError, type FileSupport } from "@proviso/core";
import type { OptionNames } from "@proviso/core/provider";
import { checkOptions, optionNames, type CheckedOptions, type CommandLineOptions } from "../options.ts";
import type { AgentPermissions } from "./permissions.ts";

const fileTypes: readonly string[] = Object.freeze(["image/*", "audio/*", "video/*", "application/pdf"]);

/** What the protocol has a block for. What the agent itself takes is known when it was started. */
export const acpFiles: FileSupport = Object.freeze({
  types: fileTypes,
  from: Object.freeze(["stored", "link"] as const),
  inToolResults: fileTypes,
});

/** What `acpAgent` takes. */
export interface AcpAgentOptions extends CommandLineOptions {
  /** The folder in which it is started and works. Default: the working directory of this process. */
  readonly cwd?: string | undefined;
  /** Milliseconds for one turn, from its start to its answer. Default 600,000. */
  readonly timeoutMs?: number | undefined;
  /** What the agent may do when it asks. Default "own-tools": call the prompt's tools, and nothing else that it asks for. */
  readonly permissions?: AgentPermissions | undefined;
}

/** Options that were checked, with nothing left out. */
export interface CheckedAgentOptions extends CheckedOptions {
  readonly permissions: AgentPermissions;
}

const agentOptionNames = { ...optionNames, permissions: true } as const satisfies OptionNames<AcpAgentOptions>;

/** A checked copy. @throws {DefinitionError} naming the option and what it must be. */
export function checkAgentOptions(given: AcpAgentOptions): CheckedAgentOptions {
  const { permissions = "own-tools", toolChoice = "auto" } = given ?? ({} as AcpAgentOptions);
  if (typeof permissions !== "function" && !["own-tools", "all", "none"].includes(permissions)) {
    throw new DefinitionError('The option permissions must be "own-tools", "all", "none" or a function.');
  }
  if (toolChoice !== "auto") {
    throw new DefinitionError("The option toolChoice cannot be set: an agent chooses its tools itself.");
  }
  return Object.freeze({ ...checkOptions(given, "acpAgent", agentOptionNames), permissions });
}
