import { acpAgent } from "@proviso/adapter-process";
import type {
  ConformanceFile,
  ConformanceMessage,
  ConformanceRequest,
  ConformanceScript,
  ConformanceSettings,
  Connection,
} from "@proviso/adapter-kit/conformance";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromSources } from "../../../../scripts/from-sources.ts";
import { folder, lives } from "../support/command.ts";
import { readPrompt } from "../support/prompt-reader.ts";

const player = join(import.meta.dirname, "processes/player.mjs");
/** The agent gets the key as any program does. */
const keyVariable = "PROVISO_CONFORMANCE_KEY";

/** What an agent knew when it took a step of the script. */
interface Known {
  readonly id: number;
  readonly prompt: string;
  readonly files: readonly ConformanceFile[];
  readonly offered: readonly unknown[];
  readonly turns: readonly {
    readonly text: string;
    readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments?: object }[];
    readonly results: readonly { readonly text: string; readonly files: readonly ConformanceFile[] }[];
  }[];
}

/** An agent for each turn, which plays the script and calls our tools itself. */
export async function startScriptedAgent(
  script: ConformanceScript,
  { apiKey, ...settings }: ConformanceSettings,
): Promise<Connection> {
  const home = folder();
  writeFileSync(join(home, "script.json"), JSON.stringify(script));
  process.env[keyVariable] = apiKey;
  const known = (): readonly Known[] =>
    [...script, undefined].flatMap((_, index) => {
      try {
        return [JSON.parse(readFileSync(join(home, `request-${index}.json`), "utf8")) as Known];
      } catch {
        return [];
      }
    });
  return {
    adapter: acpAgent({
      command: process.execPath,
      args: [...fromSources, player, home],
      env: [keyVariable, "NODE_COMPILE_CACHE"],
      ...settings,
    }),
    requests: () => known().map(requestOf),
    awaited: () =>
      new Set(
        known()
          .map(({ id }) => id)
          .filter(lives),
      ).size,
    async close() {
      delete process.env[keyVariable];
      rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}

/** The prompt that it was sent, and what it has said, called and been told since. */
function requestOf({ prompt, files, offered, turns }: Known): ConformanceRequest {
  const { messages: read, body } = readPrompt(prompt);
  const question = read.findLast(({ role }) => role === "user");
  const messages = read.map((message) => (message === question && files.length > 0 ? { ...message, files } : message));
  const since = turns.flatMap(({ text, toolCalls, results }): readonly ConformanceMessage[] => [
    {
      role: "assistant",
      text,
      toolCalls: toolCalls.map((call) => ({ ...call, arguments: JSON.stringify(call.arguments) })),
    },
    ...results.map((result, index) => ({ role: "tool" as const, ...result, callId: toolCalls[index]?.id })),
  ]);
  return {
    messages: [...messages, ...since],
    body: { ...(body as object), ...(offered.length === 0 ? {} : { offered }) },
  };
}
