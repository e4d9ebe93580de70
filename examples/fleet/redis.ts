// Starts a Redis of its own, that keeps nothing on disk and ends with this process.
import { Redis } from "ioredis";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

/** Whether `redis-server` is installed. */
export function hasRedis(): boolean {
  return spawnSync("redis-server", ["--version"]).status === 0;
}

export async function startRedis(folder: string): Promise<AsyncDisposable & { readonly url: string }> {
  const port = await freePort();
  const server = ["redis-server", "--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  // The shell ends the server when its stdin does, which is when this process ends.
  const guard = '"$@" >/dev/null 2>&1 & server=$!; cat >/dev/null; kill $server; wait $server';
  const child = spawn("sh", ["-c", guard, "sh", ...server], { cwd: folder, stdio: ["pipe", "ignore", "ignore"] });
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
  client.on("error", () => {});
  await client.ping();
  client.disconnect();
  const [stdin] = child.stdio;
  return {
    url,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "close");
      stdin.end();
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
