import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { pid } from "node:process";
import { shortHash } from "@proviso/core/internal";
import { systemId } from "@proviso/runtime/internal";
import { lifeHere, type Life, type Processes } from "./process-name.ts";

/** What the system says of a process. */
interface Status {
  /** The number of clock ticks after boot at which it began. */
  readonly began: string;
  /** Whether it has ended, and only its parent has not asked yet how. */
  readonly isEnded: boolean;
}

/** undefined where the system does not say. */
function statusOf(id: number): Status | undefined {
  try {
    // The name of the program, in parentheses, may hold anything. Source: proc_pid_stat(5), fields 3 and 22.
    const stat = readFileSync(`/proc/${id}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { began: fields[19] ?? "", isEnded: ["Z", "X", "x"].includes(fields[0] ?? "") };
  } catch {
    return undefined;
  }
}

/** Containers of one machine may have one name, and number their processes each for itself. */
function processSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

/** Each frame has it: a hash is shorter than what it is made of. */
const machine = shortHash([hostname(), bootId(), processSpace()]);
const ownProcess = `${machine}/${pid}/${statusOf(pid)?.began ?? ""}/`;
/** A worker of this process, or another copy of this program in it, knows only of its own writers whether they work. */
const own = `${ownProcess}${systemId()}/`;

let writers = 0;

/** Knows the processes of this machine. */
export const machineProcesses: Processes = {
  newWriter: () => `${own}${writers++}`,
  lifeOf(writer) {
    if (writer.startsWith(own)) return lifeHere(writer);
    if (writer.startsWith(ownProcess)) return "unknown";
    const [where, id, began] = writer.split("/");
    if (where !== machine) return "unknown";
    return lifeOfProcess(Number(id), began ?? "");
  },
};

function lifeOfProcess(id: number, began: string): Life {
  if (!Number.isSafeInteger(id) || id <= 0) return "unknown";
  try {
    process.kill(id, 0);
  } catch (error) {
    // Another user's process lives.
    if ((error as { readonly code?: unknown }).code !== "EPERM") return "gone";
  }
  const now = statusOf(id);
  if (now === undefined) return "alive";
  // The number may be another process's by now.
  return now.isEnded || (began !== "" && now.began !== began) ? "gone" : "alive";
}
