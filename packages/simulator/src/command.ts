import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { startSimulator, type Simulator, type SimulatorOptions } from "./server.ts";
import { isObject, type LoggedRequest, type SimulatorStep } from "./types.ts";

export const help = `proviso-simulator: an OpenAI-compatible server on 127.0.0.1

  --port N         default: any free one
  --latency-ms N   before every answer, default 0
  --script FILE    a JSON array of steps: { "text" }, { "output" }, { "toolCalls" }, { "status", "headers", "body" }
  --api-key KEY    refuse every other key
  --help`;

/** A usage error: one line for the person at the terminal. */
export class UsageError extends Error {}

/** @throws {UsageError} for an unknown flag, a bad number, a script that cannot be read. */
export async function readOptions(args: readonly string[]): Promise<SimulatorOptions | "help"> {
  const values = parseFlags(args);
  if (values.help === true) return "help";
  return {
    port: wholeNumber("--port", values.port),
    latencyMs: wholeNumber("--latency-ms", values["latency-ms"]),
    apiKey: values["api-key"],
    steps: values.script === undefined ? undefined : await readScript(values.script),
  };
}

/** Starts, says where, and tells of each request in a line. */
export async function runSimulator(options: SimulatorOptions, print: (line: string) => void): Promise<Simulator> {
  const tell = ({ method, path, status, durationMs }: LoggedRequest): void =>
    print(`${method} ${path} ${status} ${durationMs} ms`);
  const simulator = await startSimulator({ ...options, onRequest: tell }).catch((error: unknown) => {
    throw new UsageError(`cannot listen on port ${options.port}: ${(error as Error).message}`);
  });
  print(`listening on ${simulator.baseURL}`);
  print(
    `export OPENAI_BASE_URL=${simulator.baseURL} OPENAI_API_KEY=${options.apiKey === undefined ? "any" : "<the key>"}`,
  );
  return simulator;
}

function parseFlags(args: readonly string[]): {
  readonly [name in "port" | "latency-ms" | "script" | "api-key"]?: string;
} & { readonly help?: boolean } {
  try {
    const text = { type: "string" } as const;
    return parseArgs({
      args: [...args],
      options: { port: text, "latency-ms": text, script: text, "api-key": text, help: { type: "boolean" } },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message.split("\n")[0]);
  }
}

function wholeNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${flag} takes a whole number, not "${text}".`);
  return Number(text);
}

async function readScript(file: string): Promise<readonly SimulatorStep[]> {
  let steps: unknown;
  try {
    steps = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new UsageError(`the script ${file} cannot be read: ${(error as Error).message}`);
  }
  if (!Array.isArray(steps) || !steps.every(isObject))
    throw new UsageError(`the script ${file} must be a JSON array of steps.`);
  return steps as readonly SimulatorStep[];
}
