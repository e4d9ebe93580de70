#!/usr/bin/env node
import { commandLine } from "./command-line.ts";

let exitCode: number | undefined;
// A module that ends the process, or waits for nothing, leaves the command undone.
process.once("exit", () => {
  if (exitCode !== undefined) return;
  process.exitCode = 2;
  process.stderr.write(
    "proviso: the process ended before the command was done: a module ended it, or waits for nothing\n",
  );
});
// A reader that leaves, head say, has read what it wanted.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  exitCode ??= 0;
  process.exit(exitCode);
});
exitCode = await commandLine(process.argv.slice(2), {}, () => {
  exitCode = 130;
  process.exit(exitCode);
});
// What a module left open, a connection say, does not keep this process.
process.stdout.write("", () => process.exit(exitCode));
