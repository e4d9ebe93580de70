import { acpAgent, type AcpAgentOptions } from "@proviso/adapter-process";
import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  systemClock,
  type EvaluateOptions,
  type Prompt,
  type PromptResponse,
  type ProviderAdapter,
} from "@proviso/core";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { z } from "zod";
import { fromSources } from "../../../../scripts/from-sources.ts";

export const script = join(import.meta.dirname, "processes/agent.mjs");

/** The agent that does `what`. */
export function acting(what: string, more = "", options: Partial<AcpAgentOptions> = {}): ProviderAdapter {
  return acpAgent({
    command: process.execPath,
    args: [...fromSources, script, what, more],
    env: ["NODE_COMPILE_CACHE"],
    ...options,
  });
}

/** The agent that makes these calls, one after another, and says what came of each. */
export function calling(calls: readonly { readonly name: string; readonly arguments: object }[]): ProviderAdapter {
  return acting("calls", JSON.stringify(calls));
}

export const hello = definePrompt({
  ns: "acp",
  key: "hello",
  sections: [{ key: "request", text: "Say hello.", role: "user" }],
}).bind();

const noted = defineEvent("noted", z.strictObject({ text: z.string() }));
export const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});

/** Keeps a note; writes, then fails, for "bad"; takes its time for "slow". */
export const note = defineTool({
  name: "note",
  description: "Keeps a note.",
  input: z.strictObject({ text: z.string() }),
  async execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    if (text === "bad") throw new Error("Not this one.");
    if (text === "slow") await systemClock.sleep(3_000);
    return `noted ${text}`;
  },
});

export const withTools = definePrompt({
  ns: "acp",
  key: "notes",
  sections: [
    { key: "guide", title: "Guide", text: "Keep notes.", tools: [note], slices: [notes] },
    { key: "request", text: "Begin.", role: "user" },
  ],
}).bind();

/** The deltas of a stream, and what it ended with. */
export async function streamed<Output>(
  adapter: ProviderAdapter,
  prompt: Prompt<Output>,
  options: EvaluateOptions = {},
): Promise<{ readonly deltas: readonly string[]; readonly response: PromptResponse<Output> }> {
  const stream = adapter.stream(prompt, options);
  const deltas: string[] = [];
  for await (const event of stream) if (event.type === "text.delta") deltas.push(event.text);
  return { deltas, response: await stream.response };
}

/** Sockets that listen or are connected, and children, of this process. */
export function held(): readonly string[] {
  return process.getActiveResourcesInfo().filter((name) => /^(?:TCPServer|TCPSocket|Process)Wrap$/.test(name));
}

export function descriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

/** After each test no child, no listening port and no connection is left. */
export function nothingIsLeft(): void {
  afterEach(async () => {
    for (let waited = 0; waited < 60_000 && held().length > 0; waited += 20) await systemClock.sleep(20);
    expect(held(), "what is left").toEqual([]);
  });
}
