import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import type { Keeping } from "./output-buffer.ts";

/** A program, what it is started with, and how what it writes to standard error is kept. */
export interface Command extends Keeping {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
}

/** How a process ended. */
export interface Exit {
  readonly error?: Error | undefined;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** The end of a process of which it is not known how it ended. */
export const noExit: Exit = { exitCode: null, signal: null };

/** Bytes of standard error that are kept, from its end: 64 KiB. */
export const keptErrors = 64 * 1024;
/** Milliseconds in which the system reports that a killed process is gone. */
export const reapMs = 1_000;

/** Starts the program in a process group of its own, or returns why it could not be started. */
export function started({ command, args, cwd, variables }: Command): ChildProcessWithoutNullStreams | Error {
  try {
    return spawn(command, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: variables,
      // A group of its own, so that what it starts ends with it.
      detached: true,
      shell: false,
      stdio: "pipe",
      windowsHide: true,
    });
  } catch (error) {
    return withoutArguments(error instanceof Error ? error : new Error(String(error)));
  }
}

/** How the child ends, or that it could not be started. Never rejects. */
export function exitOf(child: ChildProcessWithoutNullStreams): Promise<Exit> {
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ ...noExit, error: withoutArguments(error) }));
    child.on("exit", (exitCode, signal) => resolve({ exitCode, signal }));
  });
}

/** Leaves nothing of the child to wait for: its streams, and the child itself. */
export function release(child: ChildProcessWithoutNullStreams): void {
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  child.unref();
}

/** Why a command could not be started, without its arguments, which the system's error holds: a key may be among them. */
function withoutArguments(error: Error): Error {
  delete (error as { spawnargs?: unknown }).spawnargs;
  return error;
}
