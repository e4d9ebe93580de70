// node test-guard.mjs <process id>: ends what that process has started, and what they started, when it is gone: also
// after a SIGKILL, and also shells that have left its group. Its own standard input is a pipe from that process, so its
// end is seen at once; while that process lives, a pipe that ended means nothing. Linux only: elsewhere there is no
// /proc, and it does nothing.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const runner = Number(process.argv[2]);
const everyMs = 300;
/** Of processes that were started below the runner: when each began, so that an id that is used again is not taken for it. */
const known = new Map();

/** Processes by id: their parent, and when they began in ticks since the machine did. */
function processes() {
  const found = new Map();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (state !== "Z" && state !== "X") found.set(Number(name), { parent: Number(parent), began: rest[17] });
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

function look() {
  const all = processes();
  for (const [id, began] of known) if (all.get(id)?.began !== began) known.delete(id);
  const isBelow = ({ parent }) => parent === runner || known.has(parent);
  for (let grew = true; grew;) {
    grew = false;
    for (const [id, one] of all) {
      if (id === process.pid || known.has(id) || !isBelow(one)) continue;
      known.set(id, one.began);
      grew = true;
    }
  }
}

/** Stopped first, so that none starts another one while the rest is looked for. */
function signal(name) {
  for (const id of known.keys()) {
    try {
      process.kill(id, name);
    } catch {
      // It has ended meanwhile.
    }
  }
}

let isOver = false;
process.stdin.on("error", () => {});
process.stdin.on("close", () => (isOver = true)).resume();
try {
  const began = processes().get(runner)?.began;
  while (!isOver || (began !== undefined && processes().get(runner)?.began === began)) {
    look();
    await sleep(isOver ? 50 : everyMs);
  }
  for (let round = 0; round < 20; round++) {
    look();
    if (round > 0 && known.size === 0) break;
    signal("SIGSTOP");
    look();
    signal("SIGKILL");
    await sleep(50);
  }
} catch (error) {
  if (error.code !== "ENOENT") throw error;
}
