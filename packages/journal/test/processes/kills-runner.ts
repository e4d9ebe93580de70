// node kills-runner.ts <folder> <place> <first run> <last run>
// Evaluates the runs from the first to the last, one after the other, until it is done or killed. Each has twelve calls that
// write a row, or a file of a host folder. What it asks, begins and finishes is a line in the file "lines", which outlives
// the process.
import { Filesystem, provide, type ModelResponse, type ToolContext } from "@proviso/core";
import { sqliteJournal } from "@proviso/journal/node";
import { hostFilesystem, SqliteDatabase, sqliteResource } from "@proviso/node";
import { createSession, modelAdapter } from "@proviso/runtime";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { argv, exit, stdout } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { killsAnswer, killsPrompt, type KillPlace } from "../kills/prompt.ts";

const [, , folder = "", given = "together", first = "0", last = "0"] = argv;
const place = given as KillPlace;
const note = (text: string): void => appendFileSync(join(folder, "lines"), `${text}\n`);

let run = 0;
const prompt = killsPrompt(
  async (n, context) => {
    note(`begins ${run} ${n}`);
    await write(n, context);
    await sleep(1);
  },
  place === "host" ? (n, { resources }) => wrote(n, resources) : undefined,
);

async function write(n: number, { resources }: ToolContext): Promise<void> {
  if (place === "together") {
    resources.get(SqliteDatabase).run("INSERT INTO rows VALUES (?, ?)", run, n);
    return;
  }
  const files = resources.get(Filesystem);
  const path = `${run}-${n}.txt`;
  const before = (await files.exists(path)) ? (await files.read(path)).text : "";
  await files.write(path, `${before}x`);
}

/** Whether the call was done: only its file can tell. */
function wrote(n: number, resources: ToolContext["resources"]): Promise<boolean> {
  return resources.get(Filesystem).exists(`${run}-${n}.txt`);
}

stdout.write("begun\n");
const journal = sqliteJournal(join(folder, "runs.db"));
const resources =
  place === "together"
    ? [sqliteResource(journal, { migrate: ["CREATE TABLE rows (run, n)"] })]
    : [provide(Filesystem, hostFilesystem(join(folder, "files")))];
const adapter = modelAdapter({
  name: "counter",
  model: "counter-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages }): Promise<ModelResponse> {
    const n = messages.filter(({ role }) => role === "assistant").length;
    note(`asks ${run} ${n}`);
    return killsAnswer(n);
  },
});
for (run = Number(first); run <= Number(last); run++) {
  const session = createSession({ id: `session ${run}` });
  session.on("run.resumed", ({ keptSteps }) => note(`resumes ${run} ${keptSteps}`));
  const { text, toolResults } = await adapter.evaluate(prompt, { session, run: journal.run(`r${run}`), resources });
  const failed = toolResults.filter(({ result }) => !result.success).length;
  note(`done ${run} ${text} ${failed}`);
}
await journal.close();
exit(0);
