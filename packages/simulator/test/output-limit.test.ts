import { startSimulator, type AnswerStep, type Simulator } from "@proviso/simulator";
import { expect, test } from "vitest";

/** What the tests read of an answer, of either API. */
interface Answered {
  readonly status: string;
  readonly incomplete_details: unknown;
  readonly usage: { readonly output_tokens: number; readonly completion_tokens: number };
  readonly output: readonly { readonly type: string; readonly content: readonly { readonly text: string }[] }[];
  readonly choices: readonly {
    readonly finish_reason: string;
    readonly message: {
      readonly content: string;
      readonly tool_calls: readonly { readonly function: { readonly arguments: string } }[];
    };
  }[];
}

const text = "0123456789".repeat(100);

async function answered(simulator: Simulator, api: "responses" | "chat", limit: object): Promise<Answered> {
  const path = api === "responses" ? "/responses" : "/chat/completions";
  const asked = api === "responses" ? { input: "a" } : { messages: [{ role: "user", content: "a" }] };
  const response = await fetch(`${simulator.baseURL}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer k", "content-type": "application/json" },
    body: JSON.stringify({ model: "m", ...asked, ...limit }),
  });
  return (await response.json()) as Answered;
}
const with1 = (step: AnswerStep) => startSimulator({ rules: [() => step] });

test("SIM-18 an answer ends where max_output_tokens does, incomplete", async () => {
  await using simulator = await with1({ text, reasoning: "x".repeat(40) });
  const {
    status,
    incomplete_details: why,
    usage,
    output,
  } = await answered(simulator, "responses", { max_output_tokens: 30 });
  expect([status, why, usage.output_tokens]).toEqual(["incomplete", { reason: "max_output_tokens" }, 30]);
  expect(output.at(-1)?.content[0]?.text).toBe(text.slice(0, 80));
  expect(await answered(simulator, "responses", { max_output_tokens: 260 })).toMatchObject({ status: "completed" });
});

test("SIM-18 a limit that thinking uses up leaves no text", async () => {
  await using simulator = await with1({ text, reasoning: "x".repeat(400) });
  const { status, usage, output } = await answered(simulator, "responses", { max_output_tokens: 50 });
  expect([status, usage.output_tokens, output.map(({ type }) => type)]).toEqual(["incomplete", 50, ["reasoning"]]);
});

test.each(["max_completion_tokens", "max_tokens"])("SIM-18 over chat it ends with length at %s", async (name) => {
  await using simulator = await with1({ text });
  const { choices, usage } = await answered(simulator, "chat", { [name]: 10 });
  expect([choices[0]?.finish_reason, choices[0]?.message.content, usage.completion_tokens]).toEqual([
    "length",
    text.slice(0, 40),
    10,
  ]);
});

test("SIM-18 a call can end inside its arguments, and what a step reports stays", async () => {
  await using simulator = await with1({
    toolCalls: [{ name: "note", arguments: { text } }],
    usage: { completion_tokens: 9 },
  });
  const { choices, usage } = await answered(simulator, "chat", { max_tokens: 5 });
  expect(choices[0]?.message.tool_calls[0]?.function.arguments).toBe('{"text":"0123456');
  expect([choices[0]?.finish_reason, usage.completion_tokens]).toEqual(["length", 9]);
});
