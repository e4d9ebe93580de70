import type { Readable } from "node:stream";
import { lastText } from "./output-buffer.ts";
import { endGroup, holdGroup, letGo } from "./process-group.ts";
import { exitOf, keptErrors, noExit, reapMs, release, started, type Command, type Exit } from "./start.ts";
import { within } from "./within.ts";

/** A program that is talked to over its standard input and output, in a process group of its own. */
export interface GroupProcess {
  readonly stdout: Readable;
  /** Rejects when it does not read any more. */
  write(line: string): Promise<void>;
  /** Resolves when it has exited or could not be started. Never rejects. */
  readonly exited: Promise<Exit>;
  /** The end of what it wrote to standard error. */
  stderr(): string;
  /** Ends the whole group and returns how the program ended. No process of the group is left then. */
  end(): Promise<Exit>;
}

/** Starts the program. A command that cannot be started at all gives an exit with an error. */
export function startInGroup(command: Command): GroupProcess | Exit {
  const child = started(command);
  if (child instanceof Error) return { ...noExit, error: child };
  const errors = lastText(keptErrors, command);
  const exited = exitOf(child);
  // There are no streams where the system has no descriptors left.
  child.stderr?.on("data", (chunk: Buffer) => errors.add(chunk));
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on("error", () => {});
  const leader = child.pid;
  if (leader !== undefined) holdGroup(leader);
  const end = async (): Promise<Exit> => {
    if (leader === undefined) return exited;
    try {
      await endGroup(leader);
      return (await within(reapMs, () => exited)) ?? noExit;
    } finally {
      letGo(leader);
      release(child);
    }
  };
  let ending: Promise<Exit> | undefined;
  return {
    stdout: child.stdout,
    write: (line) =>
      new Promise((resolve, reject) => {
        child.stdin.write(line, (error) => (error ? reject(error) : resolve()));
      }),
    exited,
    stderr: () => errors.text(),
    end: () => (ending ??= end()),
  };
}
