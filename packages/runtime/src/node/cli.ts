#!/usr/bin/env node
import { overridesCommand, UsageError } from "./overrides-command.ts";

try {
  process.exitCode = await overridesCommand(process.argv.slice(2), (text) => process.stdout.write(`${text}\n`));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`proviso: ${error.message.replaceAll(/\s*\n\s*/g, " ")}\n`);
  process.exitCode = 2;
}
