/** Steps of a check: each says on a line of its own how it ended, and how long it took. */
import { execFile } from "node:child_process";
import { delimiter } from "node:path";
import { promisify } from "node:util";

const longest = 180_000;
let faults = 0;

export function countFaults(): number {
  return faults;
}

/** What the work returns; undefined where it failed, which is printed. */
export async function step<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
  const started = performance.now();
  const end = (word: string): void =>
    console.log(`${word} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  try {
    const result = await work();
    end("ok     ");
    return result;
  } catch (error) {
    faults++;
    end("FAILED ");
    console.log(reasonOf(error));
    return undefined;
  }
}

export function skip(name: string, reason: string): void {
  console.log(`skipped ${name}: ${reason}`);
}

/** What a command printed where it failed, else the error's message. */
export function reasonOf(error: unknown): string {
  const { stdout = "", stderr = "", message } = error as { stdout?: string; stderr?: string; message: string };
  const printed = `${stdout}${stderr}`.trim();
  return printed === "" ? message : printed;
}

/**
 * What a command prints on standard output; it has three minutes.
 * @param bin a folder whose programs come before all others.
 */
export async function output(command: string, args: readonly string[], cwd: string, bin?: string): Promise<string> {
  const path = [...(bin === undefined ? [] : [bin]), process.env["PATH"]].join(delimiter);
  const options = { cwd, env: { ...process.env, PATH: path, NO_COLOR: "1" }, timeout: longest, maxBuffer: 2 ** 26 };
  return (await promisify(execFile)(command, args, { ...options, shell: process.platform === "win32" })).stdout;
}
