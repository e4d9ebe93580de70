#!/usr/bin/env node
import { overridesCommand, UsageError } from "./overrides-command.ts";

const written: string[] = [];
let exitCode: number | undefined;
// A module that ends the process, or waits for nothing, is not one whose prompts are fine.
process.once("exit", () => {
  if (exitCode !== undefined) return;
  process.exitCode = 2;
  process.stderr.write("proviso: the module ended the process before its prompts could be read\n");
});
try {
  exitCode = await overridesCommand(process.argv.slice(2), (text) => void written.push(`${text}\n`));
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!(error instanceof UsageError) && code === undefined) throw error;
  process.stderr.write(`proviso: ${message.replaceAll(/\s*\n\s*/g, " ")}\n`);
  exitCode = error instanceof UsageError ? 2 : 1;
}
// What the module of the prompts left open, a connection say, does not keep this process.
process.stdout.write(written.join(""), () => process.exit(exitCode));
