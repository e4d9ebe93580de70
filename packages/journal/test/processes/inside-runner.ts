// node inside-runner.ts <folder> <parts>
// Evaluates the run "r" of a journal in a file, with one call that evaluates part after part, until it is done or killed.
// Each request is a line of the file `requests`, written when the model is asked. A part takes three calls and an answer.
import { definePrompt, defineTool, type ModelResponse } from "@proviso/core";
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { argv, exit, stdout } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const [, , folder = "", parts = "1"] = argv;
const step = defineTool({
  name: "step",
  description: "Takes a step.",
  input: z.object({ n: z.number() }),
  execute: ({ n }) => n,
});
const part = definePrompt({
  key: "part",
  params: z.object({ name: z.string() }),
  sections: [
    { key: "task", text: "Take steps.", tools: [step] },
    { key: "question", role: "user", text: "{{name}}" },
  ],
});
const survey = defineTool({
  name: "survey",
  description: "Surveys.",
  input: z.object({}),
  idempotent: true,
  async execute(_input, { evaluate }) {
    for (let n = 0; n < Number(parts); n++) await evaluate(part.bind({ name: `part ${n}` }));
    return Number(parts);
  },
});
const prompt = definePrompt({
  key: "survey",
  sections: [
    { key: "task", text: "Survey.", tools: [survey] },
    { key: "question", role: "user", text: "all" },
  ],
}).bind();
let isBegun = false;
const adapter = modelAdapter({
  name: "surveyor",
  model: "surveyor-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages }): Promise<ModelResponse> {
    const question = messages.find(({ role }) => role === "user")?.text ?? "";
    const turn = messages.filter(({ role }) => role === "assistant").length;
    if (!isBegun) stdout.write("begun\n");
    isBegun = true;
    appendFileSync(join(folder, "requests"), `${question} ${turn}\n`);
    await sleep(2);
    const isOver = turn === (question === "all" ? 1 : 3);
    const [name, given] = question === "all" ? ["survey", {}] : ["step", { n: turn }];
    const toolCalls = isOver ? [] : [{ id: `c${turn}`, name, arguments: JSON.stringify(given) }];
    return {
      message: { role: "assistant", text: isOver ? `${question} done` : "", toolCalls },
      finishReason: isOver ? "stop" : "tool-calls",
      usage: { inputTokens: 10, outputTokens: 1 },
    };
  },
});
const journal = sqliteJournal(join(folder, "runs.db"));
const { text } = await adapter.evaluate(prompt, { run: journal.run("r") });
stdout.write(`${JSON.stringify({ text })}\n`);
await journal.close();
exit(0);
