import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";

const mark = `proviso-guarded-${process.pid}`;
const setup = join(import.meta.dirname, "../test-setup.ts");

/** A run that starts what tests start: a child, its child in a group of its own, and a shell that starts others all the time. */
const run = `
  import { spawn } from "node:child_process";
  import { startGuard } from ${JSON.stringify(setup)};
  const guard = startGuard();
  process.once("SIGUSR2", () => guard.stdin.end());
  const more = 'require("node:child_process").spawn(process.execPath, ["-e", "setTimeout(() => {}, 120000)", "${mark}"], { detached: true }); setTimeout(() => {}, 120000)';
  spawn(process.execPath, ["-e", more, "${mark}"], { stdio: "ignore" });
  spawn("/bin/sh", ["-c", "n=0; while [ $n -lt 2000 ]; do n=$((n+1)); sleep 0.05; done", "${mark}"], { stdio: "ignore", detached: true });
  console.log("started");
  setTimeout(() => {}, 120000);
`;

/** Processes of this test that live, but for the run itself. */
function marked(runner: number): readonly string[] {
  return readdirSync("/proc").filter((id) => {
    if (!/^\d+$/.test(id) || Number(id) === runner) return false;
    try {
      const isGone = /^State:\s*[ZX]/m.test(readFileSync(`/proc/${id}/status`, "utf8"));
      return !isGone && readFileSync(`/proc/${id}/cmdline`, "utf8").includes(mark);
    } catch {
      return false;
    }
  });
}

test.runIf(existsSync("/proc/self/stat"))(
  "a run keeps its processes while it lives, and when it is killed leaves none: no child, no child of a child, and no shell that goes on forking",
  async () => {
    const runner = spawn(process.execPath, ["--input-type=module-typescript", "-e", run], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const id = runner.pid ?? 0;
    await once(runner.stdout, "data");
    await vi.waitFor(() => expect(marked(id)).toHaveLength(3), { timeout: 120_000, interval: 50 });
    // The guard looks several times a second.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    // What a run that goes on has started lives, also when the guard's input has ended.
    runner.kill("SIGUSR2");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(marked(id)).toHaveLength(3);
    const ended = once(runner, "exit");
    runner.kill("SIGKILL");
    await ended;
    await vi.waitFor(() => expect(marked(id)).toEqual([]), { timeout: 120_000, interval: 50 });
  },
);
