#!/usr/bin/env node
import { overridesCommand, UsageError } from "./overrides-command.ts";

const written: string[] = [];
let exitCode: number;
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
