#!/usr/bin/env node
import { inspect } from "node:util";
import { commandLine } from "./command-line.ts";
import { CountedOutput } from "./counted-output.ts";
import { takesInterrupts } from "./interrupts.ts";
import { errorJson, inOneLine } from "./terminal.ts";

const args = process.argv.slice(2);
const stdout = new CountedOutput(process.stdout);
/** undefined: the command is not done. */
let exitCode: number | undefined;
let uncaught: string | undefined;
process.once("uncaughtExceptionMonitor", (error: unknown) => {
  uncaught = error instanceof Error ? error.message : inspect(error);
});
// A module that ends the process, or waits for nothing, leaves the command undone.
process.once("exit", () => {
  const why =
    uncaught === undefined
      ? "a module ended it, or waits for nothing"
      : `${uncaught} was thrown, and nothing caught it`;
  let error = { code: "interrupted", message: "it was interrupted" };
  if (exitCode === undefined) {
    process.exitCode = 2;
    error = { code: "internal", message: `the process ended before the command was done: ${why}` };
    process.stderr.write(`proviso: ${inOneLine(error.message)}\n`);
  }
  const json = errorJson(args, error);
  if (json !== undefined && !stdout.hasWritten) stdout.write(`${json}\n`);
});
const isOfReader = ({ code }: NodeJS.ErrnoException): boolean => code === "EPIPE" || code === "ERR_STREAM_DESTROYED";
// Where the command has written nothing, nothing is lost.
const isLoss = (error: Error): boolean => stdout.hasWritten && !isOfReader(error);
const endBroken = ({ message }: Error): void => {
  process.stderr.write(`proviso: the output cannot be written: ${message}\n`);
  exitCode ||= 1;
  process.exit(exitCode);
};
// A reader that leaves, head for example, has read what it wanted. The command goes on without it: it may write files, and its
// exit code may be a result.
process.stdout.on("error", (error: Error) => {
  if (isLoss(error)) endBroken(error);
});
// What is no result is missed by no command.
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (!isOfReader(error)) throw error;
});
const interrupt = (): void => {
  exitCode = 130;
  process.exit(exitCode);
};
// Also while a module is being loaded that listens itself.
process.on("SIGINT", () => {
  if (!takesInterrupts()) interrupt();
});
const end = (): void => {
  // What an earlier write has met is not reported yet.
  const { errored } = process.stdout;
  if (errored !== null && isLoss(errored)) endBroken(errored);
  process.exit(exitCode);
};
// Not awaited: of a command that is never done, Node would print a warning about this line.
void commandLine(args, { stdout }, interrupt).then((code) => {
  exitCode = code;
  // What a module left open, a connection say, does not keep this process.
  process.stdout.write("", end);
});
