import type { Clock } from "@proviso/core";
import {
  endGroup,
  exitOf,
  firstBytes,
  holdGroup,
  keptErrors,
  lastText,
  letGo,
  noExit,
  reapMs,
  release,
  started,
  within,
  type Command,
  type Exit,
  type LastText,
  type OutputBuffer,
} from "@proviso/node/internal";
import type { ChildProcessWithoutNullStreams } from "node:child_process";

export interface RunLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Why it was ended before it ended by itself. */
export type Stop = "aborted" | "timeout" | "flooded";

/** How a run ended. Nothing of its process group is left then. */
export interface Ended {
  /** Why the command could not be started. */
  readonly notStarted?: Error | undefined;
  readonly stop?: Stop | undefined;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: string;
  /** Whether it closed its standard input before all was read, as far as that can be known. */
  readonly unread: boolean;
}

/** Bytes of standard output that are taken: 16 MiB. */
export const largestOutput = 16 * 1024 * 1024;
/**
 * Bytes that any system's pipe takes, read or not. Whether so few were read cannot be known: a write fails or not as
 * the system happens to run the command before it or after.
 */
const alwaysTaken = 4_096;
/** Milliseconds to wait for output of what has exited: a process that it left behind may hold the pipe. */
const quietMs = 100;
/** How often it is waited at the most: a process that was left behind may print for ever. */
const mostWaits = 10;
/** Runs a command in a process group of its own, which is ended whatever happens. Never rejects. */
export async function runCommand(command: Command, input: string, limits: RunLimits): Promise<Ended> {
  const outputs = { stdout: firstBytes(largestOutput), stderr: lastText(keptErrors, command) };
  const child = started(command);
  if (child instanceof Error) return endedBy({ notStarted: child }, outputs);
  const watched = watch(child, outputs);
  const { pid: leader } = child;
  try {
    if (leader === undefined) return endedBy({ notStarted: (await watched.exited).error }, outputs);
    return endedBy(await runGroup(leader, watched, input, limits), outputs);
  } finally {
    release(child);
  }
}

async function runGroup(
  leader: number,
  watched: Watched,
  input: string,
  limits: RunLimits,
): Promise<Exit & Pick<Ended, "stop" | "unread">> {
  holdGroup(leader);
  const stops = stopsOf(limits, watched.flooded);
  const stdin = write(watched.child, input);
  try {
    const first = await Promise.race([watched.exited, stops.stopped]);
    const stop = typeof first === "string" ? first : await drained(watched, stops.stopped);
    await endGroup(leader);
    const exit = (await within(reapMs, () => watched.exited)) ?? noExit;
    return { stop, ...exit, unread: stdin.unread() };
  } finally {
    stops.end();
    letGo(leader);
  }
}

function endedBy(
  end: Partial<Omit<Ended, "stdout" | "stderr">>,
  { stdout, stderr }: { readonly stdout: OutputBuffer; readonly stderr: LastText },
): Ended {
  const { notStarted, stop, exitCode = null, signal = null, unread = false } = end;
  return { notStarted, stop, exitCode, signal, unread, stdout: stdout.bytes(), stderr: stderr.text() };
}

interface Watched {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exited: Promise<Exit>;
  readonly closed: Promise<"closed">;
  readonly flooded: Promise<Stop>;
  /** Bytes on standard output so far. */
  printed(): number;
}

function watch(
  child: ChildProcessWithoutNullStreams,
  { stdout, stderr }: { readonly stdout: OutputBuffer; readonly stderr: LastText },
): Watched {
  const exited = exitOf(child);
  const closed = new Promise<"closed">((resolve) => child.on("close", () => resolve("closed")));
  const flooded = new Promise<Stop>((resolve) => {
    // There are no streams where the system has no descriptors left.
    child.stdout?.on("data", (chunk: Buffer) => {
      if (!stdout.add(chunk)) resolve("flooded");
    });
  });
  child.stderr?.on("data", (chunk: Buffer) => stderr.add(chunk));
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on("error", () => {});
  return { child, exited, closed, flooded, printed: () => stdout.length() };
}

function write({ stdin }: ChildProcessWithoutNullStreams, input: string): { unread(): boolean } {
  const bytes = Buffer.from(input);
  let unread = false;
  stdin.write(bytes, (error) => {
    if (error) unread = bytes.length > alwaysTaken;
    else stdin.end();
  });
  return { unread: () => unread };
}

/** What ends a run from outside; `end` leaves no timer and no listener. */
export function stopsOf(
  { signal, timeoutMs, clock }: RunLimits,
  flooded: Promise<Stop>,
): { readonly stopped: Promise<Stop>; end(): void } {
  const settled = new AbortController();
  const aborted = new Promise<Stop>((resolve) => {
    if (signal.aborted) resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"), { once: true, signal: settled.signal });
  });
  const timeout = new Promise<Stop>((resolve) => {
    clock.sleep(timeoutMs, settled.signal).then(
      () => resolve("timeout"),
      () => {},
    );
  });
  return { stopped: Promise.race([aborted, timeout, flooded]), end: () => settled.abort("over") };
}

/** Waits for the rest of the output, as long as there is some, and a second at the most. */
async function drained({ closed, printed }: Watched, stopped: Promise<Stop>): Promise<Stop | undefined> {
  // Two in a row: a timer can be due before the data that came while the process was busy.
  for (let waits = 0, quiet = 0, seen = -1; quiet < 2 && waits < mostWaits; waits++) {
    const next = await within(quietMs, () => Promise.race([closed, stopped]));
    if (next !== undefined) return next === "closed" ? undefined : next;
    quiet = printed() === seen ? quiet + 1 : 0;
    seen = printed();
  }
  return undefined;
}
