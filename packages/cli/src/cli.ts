#!/usr/bin/env node
import { overridesCommand } from "./overrides-command.ts";
import { runsCommand } from "./runs-command.ts";
import { inOneLine } from "./terminal.ts";
import { UsageError } from "./usage.ts";

const help = `proviso <command>: what a project keeps beside its code

  overrides        the overrides of the prompts that a module exports
  runs             the runs that a journal holds

proviso <command> --help says more.`;

const written: string[] = [];
let exitCode: number | undefined;
// A module that ends the process, or waits for nothing, is not one whose prompts are fine.
process.once("exit", () => {
  if (exitCode !== undefined) return;
  process.exitCode = 2;
  process.stderr.write("proviso: the module ended the process before its prompts could be read\n");
});
// A reader that leaves, head say, has read what it wanted.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(exitCode ?? 0);
});
try {
  exitCode = await commandOf(process.argv.slice(2));
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!(error instanceof UsageError) && code === undefined) throw error;
  process.stderr.write(`proviso: ${inOneLine(message.replaceAll(/\s*\n\s*/g, " "))}\n`);
  exitCode = error instanceof UsageError ? 2 : 1;
}
// What the module of the prompts left open, a connection say, does not keep this process.
process.stdout.write(written.join(""), () => process.exit(exitCode));

function commandOf(args: readonly string[]): Promise<0 | 1> | 0 {
  const [area, ...rest] = args;
  const out = (text: string): void => void written.push(`${text}\n`);
  const err = (text: string): void => void process.stderr.write(`proviso: ${text}\n`);
  if (area === "runs") return runsCommand(rest, { out, err });
  if (area === "--help" || area === "help") {
    out(help);
    return 0;
  }
  return overridesCommand(args, out);
}
