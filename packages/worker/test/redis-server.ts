import { spawn } from "node:child_process";
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
  const server = [program ?? "", "--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  // The shell ends the server when its stdin does, which is when this process ends.
  const guard = '"$@" >/dev/null 2>&1 & server=$!; cat >/dev/null; kill -9 $server; wait $server';
  const child = spawn("sh", ["-c", guard, "sh", ...server], { cwd: folder, stdio: ["pipe", "ignore", "ignore"] });
  const ended = once(child, "close");
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
  client.on("error", () => {});
  await client.ping();
  client.disconnect();
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
