import type { ProviderAdapter } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { adapterOptionsOf } from "@proviso/adapter-kit";
import { commandLineModel } from "./command-line-model.ts";
import { secretsOf, type CommandLineOptions } from "./options.ts";

export { commandLineModel } from "./command-line-model.ts";
export type { CommandLineOptions } from "./options.ts";
export { acpAgent } from "./acp/index.ts";
export type { AcpAgentOptions, AgentPermission, AgentPermissions } from "./acp/index.ts";

/**
 * Evaluates prompts with a command that reads the prompt on standard input and answers on standard output. What the
 * variables named in `env` hold is a secret where the name says so (KEY, TOKEN, SECRET, PASSWORD, AUTH in it, say).
 * @example
 * ```ts
 * import { commandLine } from "@proviso/adapter-process";
 *
 * const adapter = commandLine({ command: "sh", args: ["-c", "cat > /dev/null; echo Hello."] });
 * const { output } = await adapter.evaluate("Say hello.");
 * console.log(output); // Hello.
 * ```
 * @throws {DefinitionError} as `commandLineModel` does.
 */
export function commandLine(options: CommandLineOptions): ProviderAdapter {
  return modelAdapter(commandLineModel(options), { ...adapterOptionsOf(options), secrets: secretsOf(options) });
}
