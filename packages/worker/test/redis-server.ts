import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "./restate-server.ts";

/** A Redis of its own, on a free port, that keeps nothing on disk. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  /** Ends it at once: what it had is lost. */
  kill(): Promise<void>;
  /** Starts it again at the same address, where it was killed. */
  start(): Promise<void>;
  /** SIGSTOP: it answers no one until SIGCONT. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
}

const program = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "redis-server"))
  .find((path) => existsSync(path));

/** Why no server can be started here. undefined: one can. */
export const noServer: string | undefined =
  program === undefined ? "skipped: redis-server is not on PATH (apt-get install redis-server)" : undefined;

/** Starts a server. It ends with this process, whatever ends that. */
export async function startRedis(): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), "proviso-redis-"));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const server = [program ?? "", "--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  // The shell ends the server when its stdin does, which is when this process ends.
  const guard = '"$@" >/dev/null 2>&1 & server=$!; cat >/dev/null; kill -9 $server; wait $server';
  let child: ChildProcess | undefined;
  let pid = 0;
  const start = async (): Promise<void> => {
    child = spawn("sh", ["-c", guard, "sh", ...server], { cwd: folder, stdio: ["pipe", "ignore", "ignore"] });
    const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
    client.on("error", () => {});
    pid = Number(/process_id:(\d+)/u.exec(await client.info("server"))?.[1]);
    client.disconnect();
  };
  const kill = async (): Promise<void> => {
    if (child === undefined) return;
    const ended = once(child, "close");
    child.stdin?.end();
    child = undefined;
    await ended;
  };
  await start();
  return {
    url,
    kill,
    start,
    signal: (name) => void process.kill(pid, name),
    async [Symbol.asyncDispose]() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
