// Evaluates the run "r" of a journal in a file, with calls that write rows, until it is done or killed. With "together" the
// rows are in the journal's file.
import { definePrompt, defineSection, defineTool, type ToolContext } from "@proviso/core";
import { sqliteJournal } from "@proviso/journal/node";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { setTimeout as sleep } from "node:timers/promises";
import { argv, exit, stdout } from "node:process";
import { z } from "zod";

const [, , folder = "", calls = "10", place = "apart"] = argv;
const isTogether = place === "together";
const reconcile = ({ n }: { readonly n: number }, { resources }: ToolContext) => {
  const rows = resources.get(SqliteDatabase).all("SELECT n FROM rows WHERE n = ?", n);
  return rows.length === 0 ? ("not-started" as const) : ("unknown" as const);
};
const insert = defineTool({
  name: "insert",
  description: "Inserts.",
  input: z.object({ n: z.number() }),
  transactional: true,
  ...(isTogether ? {} : { reconcile }),
  async execute({ n }, { resources }) {
    resources.get(SqliteDatabase).run("INSERT INTO rows VALUES (?)", n);
    await sleep(1);
    return n;
  },
});
const prompt = definePrompt({
  ns: "test",
  key: "rows",
  params: z.object({}),
  sections: [defineSection({ key: "task", text: "Insert.", tools: [insert] })],
}).bind({});
const step = (({ messages }: { readonly messages: readonly { readonly role: string }[] }): ScriptedStep => {
  const n = messages.filter(({ role }) => role === "assistant").length;
  return n >= Number(calls) ? { text: "Done." } : { toolCalls: [{ id: `c${n}`, name: "insert", arguments: { n } }] };
}) as never;
const journal = sqliteJournal(`${folder}/runs.db`);
const database = sqliteResource(isTogether ? journal : `${folder}/rows.db`, { migrate: ["CREATE TABLE rows (n)"] });
const model = scriptedModel(Array.from({ length: Number(calls) + 1 }, () => step));
stdout.write("begun\n");
const response = await modelAdapter(model).evaluate(prompt, { run: journal.run("r"), resources: [database] });
stdout.write(
  `${JSON.stringify({ text: response.text, run: response.run, failed: response.toolResults.filter(({ result }) => !result.success).length })}\n`,
);
await journal.close();
exit(0);
