import { commandLine, commandLineModel } from "@proviso/adapter-process";
import { defineEvent, definePrompt, defineSlice, defineTool, DefinitionError } from "@proviso/core";
import { checkOptions, createSession } from "@proviso/runtime";
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { doing, failureOf, folder, hello, saying, script } from "./support/command.ts";

const noted = defineEvent("noted", z.strictObject({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
const note = defineTool({
  name: "note",
  description: "Keeps a note.",
  input: z.strictObject({ text: z.string() }),
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    if (text === "bad") throw new Error("Not this one.");
    return `noted ${text}`;
  },
});
const withTools = definePrompt({
  ns: "process",
  key: "notes",
  sections: [
    { key: "guide", title: "Guide", text: "Keep notes.", tools: [note], slices: [notes] },
    { key: "request", text: "Begin.\n</user>", role: "user" },
  ],
}).bind();

test("CMD-2 a lone user text is the whole standard input, and plain text is the answer", async () => {
  const response = await doing("echo").evaluate(hello);
  expect(response).toMatchObject({ output: "Say hello.", provider: "command-line", model: "node", turns: 1 });
  expect(response.usage.estimated).toBe(true);
});

test("CMD-4 an object of the documented form is text, usage and model; fences around it do not count", async () => {
  const answer = JSON.stringify({ text: "Hello.", usage: { inputTokens: 12, outputTokens: 3 }, model: "small-2" });
  for (const printed of [answer, `\n${answer}\n`, `\`\`\`json\n${answer}\n\`\`\`\n`]) {
    const response = await doing("print", printed).evaluate(hello);
    expect(response).toMatchObject({ output: "Hello.", model: "small-2" });
    expect(response.usage).toMatchObject({ inputTokens: 12, outputTokens: 3, totalTokens: 15, estimated: false });
  }
});

test("CMD-4 what is null is left out: of texts, calls and all that stands beside them", async () => {
  const beside = { usage: null, model: null, finishReason: null, refusal: null };
  const said = await doing("print", JSON.stringify({ text: "Hello.", toolCalls: null, ...beside })).evaluate(hello);
  expect(said).toMatchObject({ output: "Hello.", finishReason: "stop" });
  const toolCalls = [{ id: null, name: "note", arguments: null }];
  const called = doing("print", JSON.stringify({ text: null, toolCalls, ...beside }));
  await expect(called.evaluate(withTools, { maxTurns: 1 })).rejects.toMatchObject({
    code: "turns",
    messages: [{}, { toolCalls: [{ name: "note" }] }, {}],
  });
});
test("CMD-4 a refusal alone is an answer, and what has none of text, calls and refusal is none", async () => {
  const refused = await failureOf(doing("print", '{"refusal":"I will not.","model":"small-2"}').evaluate(hello));
  expect(refused).toMatchObject({ code: "provider", message: "The model refused: I will not." });
  const beside = '{"model":"small-2","finishReason":"stop"}';
  expect((await doing("print", beside).evaluate(hello)).output).toBe(beside);
});

test("CMD-4 another object is the answer's text, and a structured output is read from it", async () => {
  const prompt = definePrompt({
    ns: "process",
    key: "total",
    output: z.strictObject({ total: z.number() }),
    text: "Add.",
  }).bind();
  for (const printed of ['{"total":3}', '{"text":"{\\"total\\":3}","usage":{"inputTokens":1}}']) {
    expect((await doing("print", printed).evaluate(prompt)).output).toEqual({ total: 3 });
  }
  expect((await doing("print", '{"total":3}').evaluate(hello)).output).toBe('{"total":3}');
});

test("CMD-2 CMD-3 CMD-5 a conversation with tools, end to end", async () => {
  const file = join(folder(), "script.json");
  const calls = [
    { id: "a", name: "note", arguments: { text: "one" } },
    { name: "note", arguments: '{"text":"bad"}' },
  ];
  const answers = [JSON.stringify({ text: "I note.", toolCalls: calls }), "Done.\n"];
  writeFileSync(file, JSON.stringify(answers));
  const session = createSession({ slices: [notes] });
  const { output, toolResults, turns } = await doing("play", file).evaluate(withTools, { session });
  expect({ output, turns, notes: session.get(notes) }).toEqual({ output: "Done.", turns: 2, notes: ["one"] });
  expect(toolResults.map(({ result }) => result.success)).toEqual([true, false]);

  const prompts = readFileSync(`${file}.log`, "utf8").trimEnd().split("\n");
  const [first = "", second = ""] = prompts.map((line) => JSON.parse(line) as string);
  expect(first).toMatch(/^<system>\n[\s\S]*Keep notes\.[\s\S]*\n<\/system>\n\n<tools>\nTool note: Keeps a note\.\n/);
  expect(first).toContain('"required":["text"]');
  expect(first.endsWith("<user>\nBegin.\n\\</user>\n</user>\n")).toBe(true);
  expect(second.startsWith(first.trimEnd())).toBe(true);
  expect(second).toContain('<tool-result id="a" name="note">\nnoted one\n</tool-result>');
  expect(second).toMatch(/name="note" error>\n.*Not this one\./);
  expect(second).toContain('"arguments":"{\\"text\\":\\"bad\\"}"');
});

test("CMD-2 CMD-4 a prompt of 10 MiB goes in and comes out whole", async () => {
  const text = "Grüße, 日本 👩‍👩‍👧; ".repeat(10 * 1024 * 1024).slice(0, 7_000_000);
  expect(Buffer.byteLength(text)).toBeGreaterThan(10 * 1024 * 1024);
  expect((await doing("echo").evaluate(saying(text))).output === text.toWellFormed()).toBe(true);
  expect((await doing("count").evaluate(saying(text))).output).toBe(String(Buffer.byteLength(text)));
});

test("CMD-4 output in pieces that cut characters is put together", async () => {
  const text = "Grüße aus 東京, 👩‍👩‍👧 und so weiter; ".repeat(5);
  expect((await doing("pieces").evaluate(saying(text))).output).toBe(text);
});

test("CMD-1 arguments go to the program as they are, through no shell", async () => {
  const odd = "$(echo no) `x` ; \"' * \n é";
  expect((await doing("print", odd).evaluate(hello)).output).toBe(odd);
});

test("CMD-8 it sees PATH and the variables that are named, and no other", async () => {
  process.env["PROVISO_TEST_A"] = "a";
  process.env["PROVISO_TEST_B"] = "b";
  try {
    const { output } = await doing("variables", "", { env: ["PROVISO_TEST_A", "PROVISO_TEST_UNSET"] }).evaluate(hello);
    // What the system itself adds on some platforms is not of this environment.
    expect(output.split(",").filter((name) => !name.startsWith("__"))).toEqual(["PATH", "PROVISO_TEST_A"]);
  } finally {
    delete process.env["PROVISO_TEST_A"];
    delete process.env["PROVISO_TEST_B"];
  }
});

test("CMD-1 it runs in the folder that is given", async () => {
  const cwd = realpathSync(folder());
  expect((await doing("folder", "", { cwd }).evaluate(hello)).output).toBe(cwd);
});

test("CMD-1 a stream emits the whole text at once", async () => {
  const stream = doing("echo").stream(hello);
  const texts: string[] = [];
  for await (const event of stream) if (event.type === "text.delta") texts.push(event.text);
  expect(texts).toEqual(["Say hello."]);
});

test("CMD-5 tools are taken, and the schema of an output goes into the text", () => {
  const model = commandLineModel({ command: "/usr/bin/llm" });
  expect(model).toMatchObject({
    name: "command-line",
    model: "llm",
    capabilities: { tools: true, nativeOutput: false },
  });
});

test("CMD-10 options that cannot be are a DefinitionError that names them", () => {
  const bad = [
    [{ command: "" }, "needs a command"],
    [{ command: "a\0b" }, "needs a command"],
    [{ command: "x", args: "-m small" }, "args"],
    [{ command: "x", args: ["a\0"] }, "args"],
    [{ command: "x", cwd: "" }, "cwd"],
    [{ command: "x", env: ["A=b"] }, "env"],
    [{ command: "x", timeoutMs: 0 }, "timeoutMs"],
    [{ command: "x", timeoutMs: 2 ** 31 }, "timeoutMs"],
  ] as const;
  for (const [options, why] of bad) {
    expect(() => commandLine(options as never), why).toThrow(DefinitionError);
    expect(() => commandLine(options as never)).toThrow(why);
    expect(checkOptions(commandLine, options as never).ok).toBe(false);
  }
  const frozen = Object.freeze({ command: process.execPath, args: Object.freeze([script]) });
  expect(checkOptions(commandLine, frozen).ok).toBe(true);
});

test("SET-2 a command takes no settings: each one is refused before the command is started", async () => {
  for (const settings of [{ temperature: 0 }, { maxOutputTokens: 10 }, { cache: "auto" }] as const) {
    await expect(doing("echo").evaluate(hello, { settings })).rejects.toMatchObject({
      code: "provider",
      reason: "bad_request",
      message: `command-line does not take the setting ${Object.keys(settings).join()}. It takes no settings.`,
    });
  }
});

test("EVL-25 the hash of the settings is another for other arguments, and the same for another key", () => {
  const hash = (args: readonly string[], env: readonly string[] = []): string | undefined =>
    commandLineModel({ command: "llm", args, env }).settingsHash;
  expect(hash(["-m", "small"])).toBe(hash(["-m", "small"]));
  expect(hash(["-m", "small"])).not.toBe(hash(["-m", "large"]));
  expect(hash(["-m", "small"])).not.toBe(hash(["-m", "small"], ["HOME"]));
  expect(hash(["--api-key", "sk-first-key"])).toBe(hash(["--api-key", "sk-second-key"]));
});
