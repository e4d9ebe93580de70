import { commandLine, type CommandLineOptions } from "@proviso/adapter-process";
import type {
  ConformanceAnswer,
  ConformanceFault,
  ConformanceScript,
  ConformanceSettings,
  ConformanceStep,
  Connection,
} from "@proviso/adapter-kit/conformance";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, lives } from "./command.ts";
import { readPrompt } from "./prompt-reader.ts";

const player = join(import.meta.dirname, "../processes/player.mjs");
/** The command gets the key as any program does. */
const keyVariable = "PROVISO_CONFORMANCE_KEY";

/** A process for each request, which answers from the script. */
export async function startScriptedCommand(
  script: ConformanceScript,
  { apiKey, ...options }: ConformanceSettings & Partial<CommandLineOptions>,
): Promise<Connection> {
  const home = folder();
  writeFileSync(join(home, "script.json"), JSON.stringify(script.flatMap(turnsOf)));
  process.env[keyVariable] = apiKey;
  const asked = (): readonly { readonly id: number; readonly prompt: string }[] =>
    script.flatMap(turnsOf).flatMap((_, index) => {
      try {
        return [JSON.parse(readFileSync(join(home, `request-${index}.json`), "utf8")) as ReturnType<typeof asked>[0]];
      } catch {
        return [];
      }
    });
  return {
    adapter: commandLine({
      command: process.execPath,
      args: [player, home],
      env: [keyVariable, "NODE_COMPILE_CACHE"],
      ...options,
    }),
    requests: () => asked().map(({ prompt }) => readPrompt(prompt)),
    awaited: () => asked().filter(({ id }) => lives(id)).length,
    async close() {
      delete process.env[keyVariable];
      rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}

/** What the player does with one request. */
interface Turn {
  /** Standard output, in base64. */
  readonly output?: string;
  readonly standardError?: string;
  readonly exitCode?: number;
  readonly bytesAtOnce?: number;
  readonly hangs?: boolean;
}

/** Faults of an answer, which do not come in its place. */
const lasting: ReadonlySet<ConformanceFault> = new Set(["missing_call_id", "unknown_fields", "stream_split"]);

function turnsOf(step: ConformanceStep): readonly Turn[] {
  if ("status" in step) return [{ standardError: JSON.stringify(step.body ?? `Status ${step.status}`), exitCode: 1 }];
  const { fault } = step;
  if (fault === undefined || lasting.has(fault)) {
    return [{ output: base64(answerOf(step)), ...(fault === "stream_split" ? { bytesAtOnce: 5 } : {}) }];
  }
  return [failing(fault, answerOf(step)), { output: base64(answerOf({ ...step, fault: undefined })) }];
}

function failing(fault: ConformanceFault, answer: string): Turn {
  if (fault === "hang") return { hangs: true };
  if (fault === "wrong_shape") return { output: base64('{"text":{"object":"list"}}') };
  // Of text every answer is made, so it is no text.
  if (fault === "html") return { output: Buffer.from("<!doctype html><p>Café</p>", "latin1").toString("base64") };
  return { output: base64(answer.slice(0, -5)) };
}

function answerOf({ text, output, usage, finishReason, refusal, toolCalls = [], fault }: ConformanceAnswer): string {
  const more = fault === "unknown_fields" ? { brandNew: [{ kind: "thing" }] } : {};
  const calls = toolCalls.map(({ id, ...call }) => ({ ...(fault === "missing_call_id" ? {} : { id }), ...call }));
  return JSON.stringify({
    text: text ?? (output === undefined ? "" : JSON.stringify(output)),
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
    usage: usage === null ? undefined : { ...usage, ...more },
    finishReason,
    refusal,
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
