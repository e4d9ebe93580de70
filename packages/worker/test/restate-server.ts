import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** A Restate server of its own, on free ports. */
export interface RestateServer extends AsyncDisposable {
  /** Calls a handler of the workflow "proviso". */
  call(id: string, handler: string, input: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
  /** Has the server find the services at a port of this machine. */
  register(port: number): Promise<void>;
}

const named = process.env["RESTATE_SERVER"];
const paths = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "restate-server"));
const program = [...(named === undefined ? [] : [named]), ...paths].find((path) => existsSync(path));

/** Why no server can be started here. undefined: one can. */
export const noServer: string | undefined =
  program === undefined
    ? "skipped: restate-server is neither RESTATE_SERVER nor on PATH (npm package @restatedev/restate-server)"
    : undefined;

/** Starts a server. It ends with this process, whatever ends that. */
export async function startRestate(): Promise<RestateServer> {
  const folder = await mkdtemp(join(tmpdir(), "proviso-restate-"));
  const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
  // The shell ends the server when its stdin does, which is when this process ends.
  const guard = '"$@" >/dev/null 2>&1 & server=$!; cat >/dev/null; kill -9 $server; wait $server';
  const child = spawn("sh", ["-c", guard, "sh", program ?? "", "--no-logo", "--listen-mode", "tcp"], {
    cwd: folder,
    stdio: ["pipe", "ignore", "ignore"],
    env: {
      ...process.env,
      RESTATE_BASE_DIR: join(folder, "data"),
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    },
  });
  const ended = once(child, "close");
  const post = async (url: string, input: unknown): Promise<{ status: number; body: unknown }> => {
    const body = JSON.stringify(input);
    const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  for (;;) {
    const isUp = await fetch(`http://127.0.0.1:${admin}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    call: (id, handler, input) =>
      post(`http://127.0.0.1:${ingress}/proviso/${encodeURIComponent(id)}/${handler}`, input),
    async register(port) {
      const answer = await post(`http://127.0.0.1:${admin}/deployments`, { uri: `http://127.0.0.1:${port}` });
      if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
