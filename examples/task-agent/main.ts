import { openai } from "@proviso/adapter-openai";
import { ProvisoError, type ProviderAdapter } from "@proviso/core";
import { startSimulator } from "@proviso/simulator";
import { createInterface } from "node:readline";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { openChat, type Chat } from "./chat.ts";
import { configFrom, gemini } from "./config.ts";
import { simulatedAssistant } from "./simulated-assistant.ts";

const logger = { error: (fields: object, message: string) => console.error(`${message} ${JSON.stringify(fields)}`) };

async function converse(chat: Chat): Promise<void> {
  const terminal = process.stdin.isTTY;
  const lines = createInterface({ input: process.stdin, output: process.stdout, terminal, prompt: "> " });
  let stopping: AbortController | undefined;
  // Ctrl-D may come in a turn.
  let isClosed = false;
  lines.once("close", () => void (isClosed = true));
  lines.on("SIGINT", () => (stopping === undefined ? lines.close() : stopping.abort()));
  if (terminal) lines.prompt();
  for await (const line of lines) {
    if (line.trim() !== "") {
      stopping = new AbortController();
      const { text } = await chat.say(line.trim(), stopping.signal);
      // A model's text may not command the terminal.
      console.log(stripVTControlCharacters(text));
      stopping = undefined;
    }
    if (terminal && !isClosed) lines.prompt();
  }
}

try {
  const options = { simulate: { type: "boolean" }, file: { type: "string", default: "tasks.db" } } as const;
  const { simulate = false, file } = parseArgs({ options }).values;
  await using stack = new AsyncDisposableStack();
  let adapter: ProviderAdapter;
  let who = "the simulator";
  if (simulate) {
    const simulator = stack.use(await startSimulator({ rules: [simulatedAssistant] }));
    adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none" });
  } else {
    const config = configFrom(process.env);
    adapter = gemini(config);
    who = config.model;
  }
  const chat = stack.use(await openChat(file, adapter, { logger }));
  const remembered = chat.remembered === 0 ? "a new conversation" : `${chat.remembered} messages remembered`;
  console.log(`Tasks are in ${file}, ${who} answers, ${remembered}. Ctrl-D ends.`);
  await converse(chat);
} catch (error) {
  const isExpected =
    error instanceof ProvisoError || String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS");
  if (!isExpected) throw error;
  console.error((error as Error).message);
  process.exitCode = 1;
}
