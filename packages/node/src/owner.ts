import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** The process that changes a tree, distinguished from any other that has had, or will have, its number. */
export interface Owner {
  readonly host: string;
  /** The id of the machine's start; "" where it is not known, like the next two. */
  readonly boot: string;
  /** The namespace in which the process numbers count: containers have their own. */
  readonly space: string;
  readonly pid: number;
  readonly startedAt: string;
}

/** Returns this process as others can look for it. */
export function thisProcess(): Owner {
  return {
    host: hostname(),
    boot: known(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    space: known(() => readlinkSync("/proc/self/ns/pid")),
    pid: process.pid,
    startedAt: processStart(process.pid),
  };
}

/**
 * Returns "dead" also for a process from before this machine was started again, and "unknown" for one that runs, or ran,
 * where it cannot be looked for.
 */
export function lifeOf(owner: Owner): "alive" | "dead" | "unknown" {
  const here = thisProcess();
  const isSameHost = owner.host === here.host;
  const areBootsKnown = owner.boot !== "" && here.boot !== "";
  if (isSameHost && areBootsKnown && owner.boot !== here.boot) return "dead";
  if (owner.boot !== here.boot || owner.space !== here.space) return "unknown";
  if (here.boot === "" && !isSameHost) return "unknown";
  if (!answers(owner.pid)) return "dead";
  const startedAt = processStart(owner.pid);
  if (startedAt === ended) return "dead";
  if (startedAt === "" || owner.startedAt === "") return owner.pid === here.pid ? "alive" : "unknown";
  return startedAt === owner.startedAt ? "alive" : "dead";
}

function answers(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Not collected by its parent yet. */
const ended = "ended";

/** Returns when a process started, in the system's own measure; "" where the system does not report it. */
function processStart(pid: number): string {
  const stat = known(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name before may hold anything, spaces and brackets too. See proc_pid_stat(5): state is the 3rd, start the 22nd.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? ended : (fields[19] ?? "");
}

function known(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
