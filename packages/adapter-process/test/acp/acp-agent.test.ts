import { acpAgent, type AcpAgentOptions } from "@proviso/adapter-process";
import { definePrompt, DefinitionError } from "@proviso/core";
import { checkOptions } from "@proviso/runtime";
import { realpathSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { folder } from "../support/command.ts";
import { acting, hello, nothingIsLeft, streamed, withTools } from "./support.ts";

nothingIsLeft();

test("CMD-20 a lone user text is handed over as it is, and what the agent says is the answer", async () => {
  const response = await acting("echo").evaluate(hello);
  expect(response).toMatchObject({ output: "Say hello.", provider: "acp", model: "node", turns: 1 });
  expect(response.finishReason).toBe("stop");
  expect(response.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
});

test("CMD-20 the agent works in the folder that is given, and sees PATH and the variables named", async () => {
  const cwd = realpathSync(folder());
  expect((await acting("folder", "", { cwd }).evaluate(hello)).output).toBe(`${cwd} ${cwd}`);
  process.env["PROVISO_ACP_SEEN"] = "yes";
  try {
    expect((await acting("variables", "", { env: [] }).evaluate(hello)).output).toBe("PATH");
    const { output } = await acting("variables", "", { env: ["PROVISO_ACP_SEEN"] }).evaluate(hello);
    expect(output).toBe("PATH,PROVISO_ACP_SEEN");
  } finally {
    delete process.env["PROVISO_ACP_SEEN"];
  }
});

test("CMD-20 system text and a conversation are handed over as commandLine renders them", async () => {
  const prompt = definePrompt({
    ns: "acp",
    key: "talk",
    sections: [
      { key: "guide", text: "Be brief." },
      { key: "request", text: "And now?\n</user>", role: "user" },
    ],
  }).bind();
  const messages = [
    { role: "user", text: "First." },
    { role: "assistant", text: "Second.", toolCalls: [] },
  ] as const;
  const { output } = await acting("echo").evaluate(prompt, { messages });
  expect(output).toBe(
    "<system>\nBe brief.\n</system>\n\n<user>\nFirst.\n</user>\n\n<assistant>\nSecond.\n</assistant>\n\n" +
      "<user>\nAnd now?\n\\</user>\n</user>\n",
  );
});

test("CMD-20 the schema of an output stands in the text, and the output is read from the answer", async () => {
  const output = z.strictObject({ total: z.number() });
  const prompt = definePrompt({ ns: "acp", key: "total", output, text: "Add." }).bind();
  const answered = await acting("chunks", 'Here it is:\n```json\n{"total"|: 3}\n```').evaluate(prompt);
  expect(answered.output).toEqual({ total: 3 });
  const { text } = await acting("echo").evaluate(prompt.asText());
  expect(text).toContain("Add.");
  const repaired = acting("echo").evaluate(prompt, { maxRepairs: 1 });
  await expect(repaired).rejects.toMatchObject({ code: "output", rawText: expect.stringContaining('"total"') });
});

test("CMD-21 the agent's text is emitted as it arrives, and adds up to the answer; a call makes a paragraph", async () => {
  const { deltas, response } = await streamed(acting("chunks", "He|l|lo.  "), hello);
  expect(deltas).toEqual(["He", "l", "lo.  "]);
  expect(response.text).toBe("Hello.  ");
  const narrated = await streamed(acting("narrate"), hello);
  expect(narrated.response.text).toBe("I look.\n\nI saw.");
  expect(narrated.deltas.join("")).toBe(narrated.response.text);
});

test("CMD-21 RSN-1 RSN-2 what the agent thinks is shown as thoughts, and is no part of the answer", async () => {
  const stream = acting("think").stream(hello);
  const thoughts: string[] = [];
  for await (const event of stream) if (event.type === "reasoning.delta") thoughts.push(event.text);
  const { text, reasoning, messages } = await stream.response;
  expect([text, reasoning]).toEqual(["Yes.", "Hm. Well.\n\nSo it is."]);
  expect(thoughts.join("")).toBe(reasoning);
  expect(messages.at(-1)).toMatchObject({ role: "assistant", reasoning });
});

test("CMD-22 usage that it reports is taken, with what came from a cache and what it cost; else it is estimated", async () => {
  expect((await acting("usage").evaluate(hello)).usage).toEqual({
    inputTokens: 13,
    outputTokens: 7,
    totalTokens: 20,
    cachedInputTokens: 3,
    cacheWriteTokens: 0,
    reasoningTokens: 2,
    costUsd: 0.25,
    estimated: false,
  });
  const elsewhere = await acting("usage-elsewhere").evaluate(hello);
  expect(elsewhere.usage).toMatchObject({ inputTokens: 22, outputTokens: 6, totalTokens: 28, estimated: false });
  const { usage } = await acting("echo").evaluate(hello);
  expect(usage.estimated).toBe(true);
  expect(usage.inputTokens).toBeGreaterThan(0);
});

test.each([
  ["refusal", "refusal"],
  ["max_tokens", "truncated"],
  ["max_turn_requests", "truncated"],
  ["cancelled", "unknown"],
  ["of_the_future", "invalid_response"],
])("CMD-23 a turn that stops with %s is a ProviderError, %s", async (stop, reason) => {
  await expect(acting("stop", stop).evaluate(hello)).rejects.toMatchObject({ code: "provider", reason });
});

test("CMD-26 no files and no terminals are announced", async () => {
  const { output } = await acting("capabilities").evaluate(hello);
  const { fs, terminal } = JSON.parse(output) as { fs: object; terminal: boolean };
  expect([fs, terminal]).toEqual([{ readTextFile: false, writeTextFile: false }, false]);
});

test("CMD-28 options that cannot be are refused by both", () => {
  const wrong: readonly Partial<AcpAgentOptions>[] = [
    { command: "" },
    { command: "a\0b" },
    { args: "x" as never },
    { cwd: "" },
    { env: ["A=B"] },
    { timeoutMs: 0 },
    { timeoutMs: 1.5 },
    { permissions: "some" as never },
    { toolChoice: "required" },
  ];
  for (const options of wrong) {
    const given = { command: "agent", ...options };
    expect(checkOptions(acpAgent, given).ok, JSON.stringify(options)).toBe(false);
    expect(() => acpAgent(given), JSON.stringify(options)).toThrow(DefinitionError);
  }
  const given = Object.freeze({ command: "agent", args: Object.freeze(["--acp"]), permissions: "none" } as const);
  expect(checkOptions(acpAgent, given).ok).toBe(true);
  expect(acpAgent(given).name).toBe("acp");
});

test("CMD-20 one adapter drives several agents at the same time", async () => {
  const adapter = acting("calls", JSON.stringify([{ name: "note", arguments: { text: "x" } }]));
  const responses = await Promise.all([1, 2, 3].map(() => adapter.evaluate(withTools)));
  expect(responses.map(({ toolResults }) => toolResults.length)).toEqual([1, 1, 1]);
});

test("SET-2 an agent takes no settings: each one is refused before the agent is started", async () => {
  await expect(acting("echo").evaluate(hello, { settings: { seed: 1 } })).rejects.toMatchObject({
    code: "provider",
    reason: "bad_request",
    message: "acp does not take the setting seed. It takes no settings.",
  });
});

test("CMD-20 what an agent says in another session is no part of the answer", async () => {
  expect((await acting("foreign").evaluate(hello)).output).toBe("Mine.");
});
