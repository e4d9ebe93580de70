import { messageOf } from "@proviso/core/internal";
import { createRequire } from "node:module";
import { interruptsOf, processInterrupts } from "./interrupts.ts";
import { errorJson, inOneLine } from "./terminal.ts";
import { didYouMean, shown, UsageError } from "./usage.ts";
import { worldOf, type CommandWorld, type ExitCode, type World } from "./world.ts";

const help = `proviso <command>: what a project does with its prompts at the terminal

  chat             talks with a model, line by line
  eval             runs evals and prints their reports
  overrides        the overrides of the prompts that a module exports
  run              evaluates a prompt once
  runs             the runs that a journal holds
  view             a local page that shows recorded runs

proviso <command> --help says more, and proviso --version which one this is.`;

type Command = (args: readonly string[], world: World) => Promise<ExitCode>;

/** A command is loaded when it is called: what it needs costs the others nothing. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  chat: async () => (await import("./chat-command.ts")).chatCommand,
  eval: async () => (await import("./eval-command.ts")).evalCommand,
  overrides: async () => (await import("./overrides-command.ts")).overridesCommand,
  run: async () => (await import("./run-command.ts")).runCommand,
  runs: async () => (await import("./runs-command.ts")).runsCommand,
  view: async () => (await import("./view-command.ts")).viewCommand,
};

/**
 * Runs one command line and returns its exit code. It never rejects and does not end the process; only a second SIGINT
 * does, where no `signal` is given.
 * @example
 * ```ts
 * import { runCommandLine } from "@proviso/cli";
 *
 * const printed: string[] = [];
 * const stdout = { write: (text: string) => printed.push(text) };
 * console.log(await runCommandLine(["runs", "--help"], { stdout, env: {} })); // 0
 * ```
 */
export function runCommandLine(args: readonly string[], world: Partial<CommandWorld> = {}): Promise<ExitCode> {
  return commandLine(args, world, endBySignal);
}

/** Like `runCommandLine`; `atSecondInterrupt` is called for a SIGINT after the first one. */
export async function commandLine(
  args: readonly string[],
  given: Partial<CommandWorld>,
  atSecondInterrupt: () => void,
): Promise<ExitCode> {
  const { signal } = given;
  const interrupts = signal === undefined ? processInterrupts(atSecondInterrupt) : interruptsOf(signal);
  const world = worldOf(given, interrupts);
  try {
    return await dispatched(args, world);
  } catch (error) {
    const line = messageOf(error).replaceAll(/\s*\n\s*/g, " ");
    const isUsage = error instanceof UsageError;
    const json = errorJson(args, { code: isUsage ? "usage" : "internal", message: line });
    if (json !== undefined) world.out(json);
    world.err(inOneLine(line));
    return isUsage ? 2 : 1;
  } finally {
    interrupts.close();
  }
}

async function dispatched([name, ...args]: readonly string[], world: World): Promise<ExitCode> {
  if (name === "--help" || name === "help" || name === "-h") {
    world.out(help);
    return 0;
  }
  if (name === "--version" || name === "-v") {
    const require = createRequire(import.meta.url);
    world.out((require("@proviso/cli/package.json") as { readonly version: string }).version);
    return 0;
  }
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined) return (await command())(args, world);
  const near = name === undefined ? "" : didYouMean(name, Object.keys(commands));
  const wanted = name === undefined ? "command" : shown(name) === name ? name : `command ${shown(name)}`;
  throw new UsageError(`there is no ${wanted}${near}: try "proviso --help"`);
}

function endBySignal(): void {
  process.removeAllListeners("SIGINT");
  process.kill(process.pid, "SIGINT");
}
