/**
 * How the work grows that a model's text causes: `node growth.ts [name...]` reads each text at lengths n, 2n and 4n, three
 * times, and prints a line of JSON for each: the name and the least time of the processor at each length, in ms.
 */
import { openai } from "@proviso/adapter-openai";
import { commandLine } from "@proviso/adapter-process";
import { definePrompt, defineTool, Filesystem, provide, type Schema, type Tool } from "@proviso/core";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { sqliteResource, SqliteDatabase } from "@proviso/node";
import { scriptedModel } from "@proviso/runtime/testing";
import { filesystemTools } from "@proviso/toolkit";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { answer, inPieces, nested, node, promptOf, takes } from "./model-texts.ts";

interface Reader {
  readonly name: string;
  /** Characters, keys or levels of the shortest text. */
  readonly n: number;
  /** Made before the time is taken. */
  prepare(length: number): () => Promise<unknown>;
}

/** One call of a tool, over these files. */
const calling = (tool: Tool, given: object, files: Readonly<Record<string, string>> = {}) => {
  const resources = [provide(Filesystem, memoryFilesystem(files))];
  const text = JSON.stringify(given);
  return () =>
    modelAdapter(scriptedModel([{ toolCalls: [{ name: tool.name, arguments: text }] }, { text: "done" }])).evaluate(
      promptOf(tool),
      { resources },
    );
};
const workspaceTool = (name: string): Tool => filesystemTools().find((tool) => tool.name === name) as Tool;
const part = (key: string): object => ({ type: "object", properties: { [key]: {} } });
const intersectionJson = () => ({ type: "object", properties: { in: { allOf: [part("a"), part("b")] } } });
/** As other libraries than zod print one; it drops all keys. */
const intersection: Schema<unknown, object> = {
  "~standard": {
    version: 1,
    vendor: "growth",
    validate: () => ({ value: { in: {} } }),
    jsonSchema: { input: intersectionJson, output: intersectionJson },
  },
};

const numbers = definePrompt({
  ns: "growth",
  key: "numbers",
  output: z.record(z.string(), z.array(z.number())),
  text: "Answer.",
});
const answering =
  (text: string, prompt = answer.bind({}) as ReturnType<typeof answer.bind>, maxRepairs = 0) =>
  () =>
    modelAdapter(scriptedModel([{ text }, { text: "{}" }])).evaluate(prompt, { maxRepairs });

/** Tells its text in 200 pieces. */
const streaming = (text: string) => () => {
  const model = inPieces(scriptedModel([{ text }]), Math.ceil(text.length / 200));
  return modelAdapter(model).stream(answer.bind({})).response;
};

const sql = defineTool({
  name: "sql",
  description: "Runs a script.",
  input: z.object({ script: z.string() }),
  execute: ({ script }, { resources }) => resources.get(SqliteDatabase).exec(script),
});
const running = (script: string) => {
  const resources = [sqliteResource(new DatabaseSync(":memory:"))];
  const model = () => scriptedModel([{ toolCalls: [{ name: "sql", arguments: { script } }] }, { text: "done" }]);
  return () => modelAdapter(model()).evaluate(promptOf(sql), { resources });
};

/** An answer of the Responses API with so many pictures; none holds bytes, or to store them would take the time. */
const reading = (n: number) => {
  const picture = { type: "image_generation_call", id: "i", result: "aa" };
  const message = { type: "message", content: [{ type: "output_text", text: "ok" }] };
  const output = [...Array.from({ length: n }, () => picture), message];
  const body = JSON.stringify({ id: "r", object: "response", status: "completed", output });
  const fetch = async (): Promise<Response> => new Response(body, { headers: { "content-type": "application/json" } });
  const adapter = openai({ model: "m", apiKey: "sk-growth", fetch });
  return () => adapter.evaluate("Draw.").catch(() => {});
};

/** A streamed answer of Chat Completions with so many calls, all in one event. */
const streamingCalls = (n: number) => {
  const calls = Array.from({ length: n }, (_, index) => ({
    index,
    id: `c${index}`,
    function: { name: "t", arguments: "" },
  }));
  const choices = [{ index: 0, delta: { tool_calls: calls } }];
  const event = `data: ${JSON.stringify({ id: "x", choices })}\n\n`;
  const fetch = async (): Promise<Response> =>
    new Response(event, { headers: { "content-type": "text/event-stream" } });
  const adapter = openai({ model: "m", apiKey: "sk-growth", api: "chat", fetch, throttle: { maxAttempts: 1 } });
  // The stream is cut: its calls are put together, and none is run.
  return () => adapter.stream("Call.").response.catch(() => {});
};

const items = (n: number): object => ({ items: Array.from({ length: n }, () => ({ b: 1 })) });
const keys = (n: number): object => Object.fromEntries(Array.from({ length: n }, (_, index) => [`k${index}`, 1]));
/** Ordinary search compares all of the one with each place of the other. */
const repeating = (n: number) => {
  const part = "a".repeat(n / 4);
  return { text: `${part}b${part}`, line: "a".repeat(n) };
};

const readers: readonly Reader[] = [
  {
    name: "a glob's stars",
    n: 225,
    prepare(n) {
      const files = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`${"a".repeat(240)}${index}`, ""]));
      return calling(workspaceTool("glob_files"), { pattern: "*a".repeat(n / 2) }, files);
    },
  },
  {
    name: "a glob's braces",
    n: 240,
    prepare: (n) => calling(workspaceTool("glob_files"), { pattern: "{,}".repeat(n / 3) }),
  },
  {
    name: "unknown keys of items",
    n: 5_000,
    prepare: (n) => calling(takes(z.object({ items: z.array(z.object({ a: z.number().optional() })) })), items(n)),
  },
  {
    name: "issues and unknown keys of items",
    n: 5_000,
    prepare: (n) => calling(takes(z.object({ items: z.array(z.object({ a: z.number() })) })), items(n)),
  },
  {
    name: "unknown keys of an intersection",
    n: 4_000,
    prepare: (n) => calling(takes(intersection), { in: keys(n) }),
  },
  {
    name: "levels of a recursive union",
    n: 15,
    prepare: (n) => calling(takes(z.object({ root: node })), { root: nested(n) }),
  },
  { name: "fences of an answer", n: 40_000, prepare: (n) => answering("```json".repeat(n / 7)) },
  {
    name: "brackets of an answer",
    n: 40_000,
    prepare: (n) => answering(`${"[".repeat(255)}${"1,".repeat(n / 2)}`),
  },
  { name: "brackets and quotes of an answer", n: 40_000, prepare: (n) => answering('["[1,'.repeat(n / 5)) },
  { name: "wrong values of a streamed answer", n: 40_000, prepare: (n) => streaming(`[${"[x,".repeat(n / 3)}`) },
  { name: "values of a streamed answer", n: 40_000, prepare: (n) => streaming(`{"b":[${"1,".repeat(n / 2)}`) },
  {
    name: "a repair request",
    n: 5_000,
    prepare(n) {
      const text = JSON.stringify({ ["k".repeat(n)]: Array.from({ length: n / 4 }, () => "x") });
      return answering(text, numbers.bind({}) as never, 1);
    },
  },
  { name: "pictures of an answer", n: 4_000, prepare: (n) => reading(n) },
  { name: "calls of a streamed answer", n: 10_000, prepare: (n) => streamingCalls(n) },
  { name: "a trigger's semicolons", n: 20_000, prepare: (n) => running(`EXPLAIN CREATE TRIGGER x ${";".repeat(n)}`) },
  { name: "quotes of a script", n: 100_000, prepare: (n) => running(`SELECT '${"''".repeat(n / 2)}'`) },
  {
    name: "placeholders",
    n: 50_000,
    prepare: (n) => async () => definePrompt({ ns: "growth", key: "p", text: "{{a \\{{ ".repeat(n / 8) }),
  },
  {
    name: "a search for a text that repeats itself",
    n: 80_000,
    prepare(n) {
      const { text, line } = repeating(n);
      return calling(workspaceTool("grep_files"), { text }, { "a.txt": line });
    },
  },
  {
    name: "an edit of a text that repeats itself",
    n: 80_000,
    prepare(n) {
      const { text: find, line } = repeating(n);
      return calling(workspaceTool("edit_file"), { path: "a.txt", find, replace: "" }, { "a.txt": line });
    },
  },
  {
    name: "what a command prints",
    n: 20_000,
    prepare(n) {
      const print = `process.stdout.write("\`\`\`" + "\\n".repeat(${n}))`;
      const args = ["-e", print];
      const prompt = definePrompt({ ns: "growth", key: "command", text: "Answer." }).bind({});
      return () => commandLine({ command: process.execPath, args, throttle: { maxAttempts: 1 } }).evaluate(prompt);
    },
  },
];

async function leastTime({ prepare }: Reader, length: number): Promise<number> {
  let least = Infinity;
  for (let run = 0; run < 3; run++) {
    const work = prepare(length);
    const before = process.cpuUsage();
    // What is wrong with the text is told in one way or another.
    await work().catch(() => {});
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

const wanted = new Set(process.argv.slice(2));
for (const reader of readers.filter(({ name }) => wanted.size === 0 || wanted.has(name))) {
  const times: number[] = [];
  for (const times4 of [1, 2, 4]) times.push(await leastTime(reader, reader.n * times4));
  console.log(JSON.stringify({ name: reader.name, times }));
}
