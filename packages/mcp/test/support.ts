import type { Tool } from "@proviso/core";
import { connectMcp, mcpTools, type McpConnectOptions, type McpConnection, type McpSource } from "@proviso/mcp";
import { invokeTool } from "@proviso/runtime/testing";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
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
export async function until(condition: () => boolean, ms = 30_000): Promise<number> {
  const from = performance.now();
  while (!condition()) {
    if (performance.now() - from > ms) throw new Error(`It did not happen within ${ms} ms.`);
    await new Promise((resolve) => void setTimeout(resolve, 5));
  }
  return performance.now() - from;
}
