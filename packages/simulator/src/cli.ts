#!/usr/bin/env node
import { faultList, help, readOptions, runSimulator, UsageError } from "./command.ts";

try {
  const options = await readOptions(process.argv.slice(2));
  if (options === "help" || options === "faults") console.log(options === "help" ? help : faultList());
  else {
    const simulator = await runSimulator(options, console.log);
    const stop = (code: number) => () => void simulator.close().then(() => process.exit(code));
    process.once("SIGINT", stop(130));
    process.once("SIGTERM", stop(143));
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`proviso-simulator: ${error.message}`);
  process.exitCode = 2;
}
