import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { checkFault, faultNames, faults, type FaultName } from "./faults.ts";
import { startSimulator, type Simulator, type SimulatorOptions } from "./server.ts";
import { isObject, type LoggedRequest, type SimulatorStep } from "./types.ts";

export const help = `proviso-simulator: an OpenAI-compatible server on 127.0.0.1

  --port N         default: any free one
  --latency-ms N   before every answer, default 0
  --script FILE    a JSON array of steps: { "text" }, { "output" }, { "toolCalls" }, { "status", "headers", "body" };
                   each may have a "fault"
  --fault NAME[@N] what goes wrong, with every request or with number N (from 0); may be given again
  --faults         list the faults and end
  --chaos SEED:RATE  random faults, in RATE (0 to 1) of the requests
  --rpm N          requests a minute, then 429
  --tpm N          tokens a minute, then 429
  --api-key KEY    refuse every other key
  --help`;

/** A usage error: one line for the person at the terminal. */
export class UsageError extends Error {}

/** @throws {UsageError} for an unknown flag, a bad number, a script that cannot be read. */
export async function readOptions(args: readonly string[]): Promise<SimulatorOptions | "help" | "faults"> {
  const values = parseFlags(args);
  if (values.help === true) return "help";
  if (values.faults === true) return "faults";
  const requestsPerMinute = wholeNumber("--rpm", values.rpm);
  const tokensPerMinute = wholeNumber("--tpm", values.tpm);
  return {
    faults: (values.fault ?? []).map(readFault),
    chaos: values.chaos === undefined ? undefined : readChaos(values.chaos),
    ...(requestsPerMinute === undefined && tokensPerMinute === undefined
      ? {}
      : { rateLimit: { requestsPerMinute: requestsPerMinute ?? 1_000_000, tokensPerMinute } }),
    port: wholeNumber("--port", values.port),
    latencyMs: wholeNumber("--latency-ms", values["latency-ms"]),
    apiKey: values["api-key"],
    steps: values.script === undefined ? undefined : await readScript(values.script),
  };
}

/** Starts a simulator, prints its address, and prints a line for each request. */
export async function runSimulator(options: SimulatorOptions, print: (line: string) => void): Promise<Simulator> {
  const printLine = ({ method, path, status, durationMs }: LoggedRequest): void =>
    print(`${method} ${path} ${status} ${durationMs} ms`);
  const simulator = await startSimulator({ ...options, onRequest: printLine }).catch((error: unknown) => {
    const { message } = error as Error;
    throw new UsageError(error instanceof TypeError ? message : `cannot listen on port ${options.port}: ${message}`);
  });
  print(`listening on ${simulator.baseURL}`);
  print(
    `export OPENAI_BASE_URL=${simulator.baseURL} OPENAI_API_KEY=${options.apiKey === undefined ? "any" : "<the key>"}`,
  );
  return simulator;
}

/** The faults and what they are, in lines. */
export function faultList(): string {
  const width = Math.max(...faultNames.map((name) => name.length));
  return faultNames
    .map((name) => `${name.padEnd(width)}  ${faults[name].group.padEnd(9)}  ${faults[name].about}`)
    .join("\n");
}

function readFault(text: string): { readonly fault: FaultName; readonly at?: number | undefined } {
  const [name, at, ...rest] = text.split("@");
  if (rest.length > 0) throw new UsageError(`--fault takes NAME or NAME@N, not "${text}".`);
  try {
    return { fault: checkFault(name), ...(at === undefined ? {} : { at: wholeNumber("--fault NAME@N", at) }) };
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message);
  }
}

function readChaos(text: string): { readonly seed: number; readonly rate: number } {
  const [, seed, rate] = /^(\d{1,9}):(\d*\.?\d+)$/.exec(text) ?? [];
  if (seed === undefined || !(Number(rate) <= 1))
    throw new UsageError(`--chaos takes SEED:RATE with a rate from 0 to 1, not "${text}".`);
  return { seed: Number(seed), rate: Number(rate) };
}

function parseFlags(args: readonly string[]): {
  readonly [name in "port" | "latency-ms" | "script" | "api-key" | "chaos" | "rpm" | "tpm"]?: string;
} & { readonly help?: boolean; readonly faults?: boolean; readonly fault?: string[] } {
  try {
    const text = { type: "string" } as const;
    return parseArgs({
      args: [...args],
      options: {
        port: text,
        "latency-ms": text,
        script: text,
        "api-key": text,
        chaos: text,
        rpm: text,
        tpm: text,
        fault: { type: "string", multiple: true },
        faults: { type: "boolean" },
        help: { type: "boolean" },
      },
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
