// node postgres-runner.ts <folder of the socket> <run>
// Evaluates a run of twenty tool calls over a journal in Postgres, and prints a line with each call that begins, and the
// answer. It takes over a run whose process is gone.
import { definePrompt, defineTool, type ModelResponse } from "@proviso/core";
import { postgresJournal } from "@proviso/journal/postgres";
import { modelAdapter } from "@proviso/runtime";
import { Pool } from "pg";
import { z } from "zod";

const [host = "", run = ""] = process.argv.slice(2);
const print = (text: string): Promise<void> =>
  new Promise((resolve) => process.stdout.write(`${text}\n`, () => resolve()));
const note = defineTool({
  name: "note",
  description: "Notes a number.",
  input: z.object({ number: z.number() }),
  idempotent: true,
  uses: [],
  async execute({ number }) {
    await print(`call ${number}`);
    return { value: number, text: String(number) };
  },
});
const prompt = definePrompt({ key: "count", sections: [{ key: "task", text: "Count.", tools: [note] }] });
const adapter = modelAdapter({
  name: "counter",
  model: "counter-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages }): Promise<ModelResponse> {
    const number = messages.filter(({ role }) => role === "tool").length + 1;
    const isOver = number > 20;
    const toolCalls = isOver ? [] : [{ id: `call-${number}`, name: "note", arguments: JSON.stringify({ number }) }];
    return {
      message: { role: "assistant", text: isOver ? "twenty" : "", toolCalls },
      finishReason: isOver ? "stop" : "tool-calls",
      usage: { inputTokens: 10, outputTokens: 1 },
    };
  },
});
const pool = new Pool({ host, user: "proviso", database: "postgres" });
const journal = postgresJournal(pool);
const { text, run: facts } = await adapter.evaluate(prompt.bind(), { run: journal.run(run) });
await print(`answer ${String(text)} ${String(facts?.attempt)}`);
await journal.close();
await pool.end();
