import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { pid } from "node:process";
import { systemId } from "@proviso/runtime/internal";
import { lifeHere, type Life, type Processes } from "./process-name.ts";

/** The number of clock ticks after boot at which a process began; undefined where the system does not say. */
function beganAt(of: number): string | undefined {
  try {
    // The name of the program, in parentheses, may hold anything. Source: proc_pid_stat(5), field 22.
    const stat = readFileSync(`/proc/${of}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

const machine = encodeURIComponent(`${hostname()}:${bootId()}`);
const own = `${machine}/${pid}/${beganAt(pid) ?? ""}/`;

/** Knows the processes of this machine. */
export const machineProcesses: Processes = {
  newWriter: () => `${own}${systemId()}`,
  lifeOf(writer) {
    if (writer.startsWith(own)) return lifeHere(writer);
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
  const now = beganAt(id);
  // The number may be another process's by now.
  return now !== undefined && began !== "" && now !== began ? "gone" : "alive";
}
