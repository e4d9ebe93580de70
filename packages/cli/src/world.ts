import { systemClock, type Clock } from "@proviso/core";
import type { Interrupts } from "./interrupts.ts";

/**
 * 0: done; 1: what was asked for failed, differs, is stale or below its threshold; 2: wrong usage, and nothing was begun;
 * 3: an eval ended before all attempts were made; 130: interrupted.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 130;

/** What a command line has of the outside world; what is left out is the process's own. */
export interface CommandWorld {
  /** What a command reads. */
  readonly stdin: AsyncIterable<string | Uint8Array> & { readonly isTTY?: boolean | undefined };
  /** Takes the results. */
  readonly stdout: CommandOutput;
  /** Takes what is no result: messages and progress. */
  readonly stderr: CommandOutput;
  /** The variables of the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that paths are relative to. */
  readonly cwd: string;
  /** Fires at the first SIGINT. Default: the process's own SIGINT is listened to while a command waits for something. */
  readonly signal: AbortSignal;
  /** Time and timers. */
  readonly clock: Clock;
}

/** Where a command writes. */
export interface CommandOutput {
  /** Whether it is a terminal. Default false. */
  readonly isTTY?: boolean | undefined;
  /** How many characters fit in a line. Default: that is not known. */
  readonly columns?: number | undefined;
  /** What writing has failed with: a chat whose reader has left ends. Default: nothing. */
  readonly errored?: Error | null | undefined;
  /** Takes a text. */
  write(text: string): unknown;
}

/** What a command is given. */
export interface World extends Omit<CommandWorld, "signal"> {
  /** The signals of the person at the terminal. */
  readonly interrupts: Interrupts;
  /** Writes a line of the result. */
  out(text: string): void;
  /** Writes a message that is no part of the result. */
  err(text: string): void;
}

/** Fills in what is left out. */
export function worldOf(given: Partial<CommandWorld>, interrupts: Interrupts): World {
  const { stdin, stdout, stderr, env, cwd, clock } = given;
  const outputs = { stdout: stdout ?? process.stdout, stderr: stderr ?? process.stderr };
  return {
    ...outputs,
    stdin: stdin ?? (process.stdin as CommandWorld["stdin"]),
    env: env ?? process.env,
    cwd: cwd ?? process.cwd(),
    clock: clock ?? systemClock,
    interrupts,
    out: (text) => void outputs.stdout.write(`${text}\n`),
    err: (text) => void outputs.stderr.write(`proviso: ${text}\n`),
  };
}
