import { DefinitionError } from "@proviso/core";
import { checkOptionNames, type OptionNames } from "@proviso/core/provider";
import {
  checkAdapterOptions,
  adapterOptionNames,
  checkModelSettings,
  commandSecrets,
  defaultTimeoutMs,
} from "@proviso/adapter-kit";
import { variablesNamed } from "@proviso/node/internal";
import { type AdapterOptions } from "@proviso/runtime";
import { openSecrets, type Secrets } from "@proviso/runtime/internal";

/** What `commandLine` takes. */
export interface CommandLineOptions extends AdapterOptions {
  /** A program, by its path or looked up in PATH. Never a shell's line. */
  readonly command: string;
  /** Handed over as they are. Default: none. */
  readonly args?: readonly string[] | undefined;
  /** The folder that the command runs in. Default: the working directory of this process. */
  readonly cwd?: string | undefined;
  /** Names of the variables that it may see; PATH it always sees. Default: none. */
  readonly env?: readonly string[] | undefined;
  /** Milliseconds for one request. Default 600,000. */
  readonly timeoutMs?: number | undefined;
}

/** Options that were checked, with nothing left out. */
export interface CheckedOptions extends CommandLineOptions {
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly timeoutMs: number;
}

export const optionNames = {
  command: true,
  args: true,
  cwd: true,
  env: true,
  timeoutMs: true,
  ...adapterOptionNames,
} as const satisfies OptionNames<CommandLineOptions>;

/** A checked copy. @throws {DefinitionError} naming the option and what it must be. */
export function checkOptions(
  given: CommandLineOptions,
  adapter = "commandLine",
  names: Readonly<Record<string, true>> = optionNames,
): CheckedOptions {
  const { command, args = [], cwd, env = [], timeoutMs = defaultTimeoutMs } = given ?? ({} as CommandLineOptions);
  if (!isText(command) || command.trim() === "") {
    throw new DefinitionError(`${adapter} needs a command, for example { command: "llm", args: ["-m", "small"] }.`);
  }
  checkOptionNames(adapter, given, names);
  checkAdapterOptions(given);
  if (!isListOfTexts(args))
    throw new DefinitionError("The option args must be a list of texts without NUL characters.");
  if (cwd !== undefined && (!isText(cwd) || cwd === "")) {
    throw new DefinitionError("The option cwd must be the path of a folder.");
  }
  if (!isListOfTexts(env) || env.some((name) => name === "" || name.includes("="))) {
    throw new DefinitionError('The option env must be a list of variable names, for example ["HOME"].');
  }
  checkModelSettings({ timeoutMs });
  return Object.freeze({ ...given, args: Object.freeze([...args]), env: Object.freeze([...env]), timeoutMs });
}

/** A NUL would end an argument where the system reads it. */
function isText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

/** The variables that a command sees: those named that are set, and PATH. */
export function environmentFor({ env }: CheckedOptions): Record<string, string> {
  return variablesNamed(env);
}

/** A command may print what it was given. */
export function secretsOf({ secrets = [], env = [], args = [] }: CommandLineOptions): readonly string[] {
  const variables = Object.fromEntries(env.map((name) => [name, process.env[name]]));
  return [...secrets, ...commandSecrets(variables, args)];
}

/** What is cut of a command's output goes beside these. undefined: there are none. */
export function openedSecretsOf(options: CommandLineOptions): Secrets | undefined {
  return openSecrets(secretsOf(options));
}
