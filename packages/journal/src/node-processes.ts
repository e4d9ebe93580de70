import { lifeOf, thisProcess, type Owner } from "@proviso/node/internal";
import { readFileSync } from "node:fs";
import { shortHash } from "@proviso/core/internal";
import { systemId } from "@proviso/runtime/internal";
import { lifeHere, type Processes } from "./process-name.ts";

const here = thisProcess();

/** Machines may have one name by accident. See machine-id(5), which also asks that others read no more than a hash of it. */
function machineId(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim();
  } catch {
    return "";
  }
}

/** Each frame has it, so it is short. What is not known stays "". */
const hashed = (text: string, length: number): string => (text === "" ? "" : shortHash([text]).slice(0, length));

const machine = hashed(`${here.host} ${machineId()}`, 12);
const boot = hashed(here.boot, 8);
const space = hashed(here.space, 8);
const ownProcess = `${machine}.${boot}.${space}/${here.pid}/${here.startedAt}/`;
/** A worker of this process, or another copy of this program in it, knows only of its own writers whether they work. */
const own = `${ownProcess}${systemId()}/`;

let writers = 0;

/** Knows the processes of this machine, also those from before it was started again. */
export const machineProcesses: Processes = {
  newWriter: () => `${own}${writers++}`,
  lifeOf(writer) {
    if (writer.startsWith(own)) return lifeHere(writer);
    if (writer.startsWith(ownProcess)) return "unknown";
    const owner = ownerOf(writer);
    const life = owner === undefined ? "unknown" : lifeOf(owner);
    return life === "dead" ? "gone" : life;
  },
};

/** Returns undefined where the name is none of `newWriter`. A part that is this process's own is in clear, as `lifeOf` compares it. */
function ownerOf(writer: string): Owner | undefined {
  const [where = "", id, startedAt] = writer.split("/");
  const parts = where.split(".");
  const pid = Number(id);
  if (parts.length !== 3 || !Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const [host = "", itsBoot = "", itsSpace = ""] = parts;
  return {
    host: host === machine ? here.host : `another: ${host}`,
    boot: itsBoot === boot ? here.boot : itsBoot,
    space: itsSpace === space ? here.space : itsSpace,
    pid,
    startedAt: startedAt ?? "",
  };
}
