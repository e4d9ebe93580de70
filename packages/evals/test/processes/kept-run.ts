// node kept-run.ts <file> <rows> <concurrency>: runs an eval whose attempts are kept in the file. It says on stdout which
// row it asks, "ready" when the first one is asked, and at the end how many attempts were answered.
import { defineEval, runEval } from "@proviso/evals";
import { sqliteEvalStore } from "@proviso/evals/node";
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { answering, mails, triage, type Mail } from "../support.ts";

const [file = "", rows = "", concurrency = "", name = "kept"] = process.argv.slice(2);
const adapter = answering(async (text) => {
  writeSync(1, `asked ${/number (\d+)/u.exec(text)?.[1] ?? ""}\n`);
  await sleep(2);
  return JSON.stringify({ label: text.includes("money") ? "spam" : "ham" });
});
const of = defineEval({
  name,
  data: mails(Number(rows)),
  prompt: ({ text }: Mail) => triage.bind({ text }),
  adapter,
  scorers: { correct: ({ row, output }) => output.label === row.label },
});
// A run whose parent is gone ends by itself.
setTimeout(() => process.exit(3), 60_000).unref();
const store = sqliteEvalStore(file);
const report = await runEval(of, { store, concurrency: Number(concurrency), pacing: "off" });
await store.close();
const { counts, scores } = report.variants["default"]!;
writeSync(1, `${JSON.stringify({ answered: counts.answered, score: scores["correct"]?.value, lost: report.lost })}\n`);
