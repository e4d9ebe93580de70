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
const isOfReader = ({ code }: NodeJS.ErrnoException): boolean => code === "EPIPE" || code === "ERR_STREAM_DESTROYED";
const endBroken = ({ message }: Error): void => {
  process.stderr.write(`proviso: the output cannot be written: ${message}\n`);
  exitCode = 1;
  process.exit(exitCode);
};
// A reader that leaves, head for example, has read what it wanted. The command goes on without it: it may write files, and its
// exit code may be a result.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (!isOfReader(error)) endBroken(error);
});
// What is no result is missed by no command.
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (!isOfReader(error)) throw error;
});
exitCode = await commandLine(process.argv.slice(2), {}, () => {
  exitCode = 130;
  process.exit(exitCode);
});
// What a module left open, a connection say, does not keep this process.
process.stdout.write("", () => {
  // What an earlier write has met is not reported yet.
  const { errored } = process.stdout;
  if (errored === null || isOfReader(errored)) process.exit(exitCode);
  endBroken(errored);
});
