import type { Tool } from "@proviso/core";
import { connectMcp, mcpTools, type McpConnectOptions, type McpConnection, type McpSource } from "@proviso/mcp";
import { invokeTool } from "@proviso/runtime/testing";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fromSources } from "../../../scripts/from-sources.ts";

export interface ScriptedServer {
  readonly spec: { readonly command: string; readonly args: readonly string[]; readonly env: readonly string[] };
  /** What happened to it. */
  log(): readonly string[];
}

const script = join(import.meta.dirname, "processes/scripted-server.mjs");

/** Not started yet. */
export function scriptedServer(mode: "2026" | "2025" | "hasty" | "stubborn" = "2026"): ScriptedServer {
  const log = join(tmpdir(), `proviso-mcp-${randomUUID()}.log`);
  return {
    spec: {
      command: process.execPath,
      args: [...fromSources, script, log, ...(mode === "2026" ? [] : [mode])],
      env: ["NODE_COMPILE_CACHE"],
    },
    log() {
      try {
        return readFileSync(log, "utf8").trim().split("\n");
      } catch {
        return [];
      }
    },
  };
}

export async function connectScripted(
  mode?: Parameters<typeof scriptedServer>[0],
  options?: McpConnectOptions,
): Promise<McpConnection & { readonly log: () => readonly string[] }> {
  const { spec, log } = scriptedServer(mode);
  return Object.assign(await connectMcp(spec, options), { log });
}

/** Calls a tool of the source by its own name, as an evaluation would. */
export async function callTool(
  source: McpSource,
  name: string,
  input: object = {},
  options: Parameters<typeof invokeTool>[2] = {},
) {
  const tool = mcpTools(source).find((each) => each.name === name) as Tool;
  return invokeTool(tool, input, options);
}

/** The program of a server from npm. */
export function npmServer(name: "server-filesystem" | "server-everything"): string {
  const manifest = createRequire(import.meta.url).resolve(`@modelcontextprotocol/${name}/package.json`);
  return join(dirname(manifest), "dist/index.js");
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}

/** The reference server over streamable HTTP, which listens at once. */
export async function startEverything(port: number): Promise<{ kill(): Promise<void> }> {
  const child = spawn(process.execPath, [npmServer("server-everything"), "streamableHttp"], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => void (said += chunk.toString()));
  const exited = new Promise<void>((resolve) => void child.once("exit", () => resolve()));
  await until(() => said.includes(String(port)));
  return {
    kill() {
      child.kill("SIGKILL");
      return exited;
    },
  };
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that nobody has waited for yet is there, and does not run.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** Waits for what happens in another process. */
export async function until(condition: () => boolean, ms = 120_000): Promise<number> {
  const from = performance.now();
  while (!condition()) {
    if (performance.now() - from > ms) throw new Error(`It did not happen within ${ms} ms.`);
    await new Promise((resolve) => void setTimeout(resolve, 5));
  }
  return performance.now() - from;
}
