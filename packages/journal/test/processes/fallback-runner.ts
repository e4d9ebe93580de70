// node fallback-runner.ts <folder> <place> <request> <answer>
// Evaluates the run "r" of a journal in a file with a chain that may begin again, whose calls write rows: in the journal's
// file ("together") or in one of their own. It kills itself when it is about to make the request of that number; 0: never.
import { definePrompt, defineTool, type ModelResponse } from "@proviso/core";
import { sqliteJournal } from "@proviso/journal/node";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { join } from "node:path";
import { argv, exit, kill, pid, stdout } from "node:process";
import { z } from "zod";

const [, , folder = "", place = "apart", request = "0", answer = '{"sum":1}'] = argv;
const insert = defineTool({
  name: "insert",
  description: "Inserts.",
  input: z.object({ n: z.number() }),
  transactional: true,
  uses: [SqliteDatabase],
  execute: ({ n }, { resources }) => void resources.get(SqliteDatabase).run("INSERT INTO rows VALUES (?)", n),
});
const prompt = definePrompt({
  key: "rows",
  output: z.object({ sum: z.number() }),
  sections: [{ key: "task", text: "Insert.", tools: [insert] }],
}).bind();
let made = 0;
const modelOf = (name: string, last: string) =>
  modelAdapter({
    name,
    model: name,
    capabilities: { tools: true, nativeOutput: false },
    async generate({ messages }): Promise<ModelResponse> {
      made += 1;
      if (made === Number(request)) kill(pid, "SIGKILL");
      const turn = messages.filter(({ role }) => role === "assistant").length;
      const isOver = turn === 2;
      const toolCalls = isOver ? [] : [{ id: `c${turn}`, name: "insert", arguments: JSON.stringify({ n: turn }) }];
      return {
        message: { role: "assistant", text: isOver ? last : "", toolCalls },
        finishReason: isOver ? "stop" : "tool-calls",
        usage: { inputTokens: 10, outputTokens: 1 },
      };
    },
  });
const adapter = fallback([modelOf("first", answer), modelOf("second", '{"sum":2}')], { on: ["output"] });
const journal = sqliteJournal(join(folder, "runs.db"));
const database = sqliteResource(place === "together" ? journal : join(folder, "rows.db"), {
  migrate: ["CREATE TABLE rows (n)"],
});
const came = await adapter.evaluate(prompt, { run: journal.run("r"), resources: [database] }).then(
  ({ output }) => ({ output }),
  (error: { readonly code?: string }) => ({ code: error.code }),
);
stdout.write(`${JSON.stringify(came)}\n`);
await journal.close();
exit(0);
