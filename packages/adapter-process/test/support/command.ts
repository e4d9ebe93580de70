import { commandLine, type CommandLineOptions } from "@proviso/adapter-process";
import { definePrompt, systemClock, type EvaluationFailure, type Prompt, type ProviderAdapter } from "@proviso/core";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

export const script = join(import.meta.dirname, "../processes/command.mjs");

/** The command that does `what`. */
export function doing(what: string, more = "", options: Partial<CommandLineOptions> = {}): ProviderAdapter {
  return commandLine({
    command: process.execPath,
    args: [script, what, more],
    throttle: { maxAttempts: 1 },
    ...options,
  });
}

export const hello = definePrompt({
  ns: "process",
  key: "hello",
  sections: [{ key: "request", text: "Say hello.", role: "user" }],
}).bind();

/** One user text, as it is. */
export function saying(text: string): Prompt<string> {
  const params = z.strictObject({ text: z.string() });
  return definePrompt({ ns: "process", key: "saying", params, text: "{{text}}" }).bind({ text });
}

export async function failureOf(asked: Promise<unknown>): Promise<EvaluationFailure> {
  try {
    await asked;
  } catch (error) {
    return error as EvaluationFailure;
  }
  throw new Error("It did not fail.");
}

export function folder(): string {
  return mkdtempSync(join(tmpdir(), "proviso-process-"));
}

/** The ids that a command noted, once there are so many. */
export async function idsIn(path: string, count: number): Promise<readonly number[]> {
  for (let waited = 0; waited < 120_000; waited += 20) {
    const ids = read(path).split("\n").filter(Boolean).map(Number);
    if (ids.length >= count) return ids;
    await systemClock.sleep(20);
  }
  throw new Error(`There are no ${count} ids in ${path}.`);
}

export function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** A zombie that nobody has waited for yet does not live. */
export function lives(id: number): boolean {
  try {
    process.kill(id, 0);
  } catch {
    return false;
  }
  const state = /^State:\s*(\w)/m.exec(read(`/proc/${id}/status`))?.[1];
  return state !== "Z" && state !== "X";
}

export async function gone(ids: readonly number[], withinMs = 60_000): Promise<boolean> {
  for (let waited = 0; waited <= withinMs; waited += 20) {
    if (!ids.some(lives)) return true;
    await systemClock.sleep(20);
  }
  return false;
}
