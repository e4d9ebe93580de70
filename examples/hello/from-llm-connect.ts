import { commandLine } from "@proviso/adapter-process";
import { deadlineIn, definePrompt } from "@proviso/core";

const prompt = definePrompt({ key: "shout", text: "say it loud" }).bind();
const adapter = commandLine({ command: "tr", args: ["a-z", "A-Z"], timeoutMs: 30_000 });
const { text, model, usage, finishReason } = await adapter.evaluate(prompt, { deadline: deadlineIn(60_000) });
console.log(`${text} · ${model} · ${finishReason} · ${usage.estimated ? "about " : ""}${usage.totalTokens} tokens`);
