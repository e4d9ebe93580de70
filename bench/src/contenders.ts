import { Agent, run, setTracingDisabled, tool as agentTool, Usage, type Model } from "@openai/agents";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { openai as proviso } from "@proviso/adapter-openai";
import type { ModelProvider, ModelResponse, Session } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { generateText, isStepCount, Output, tool } from "ai";
import { OpenAI } from "openai";
import type { Work } from "./measure.ts";
import { evaluating } from "./proviso.ts";
import {
  add,
  argumentsText,
  finalText,
  inputSchema,
  instructions,
  outputSchema,
  question,
  tokens,
  type Scenario,
} from "./scenarios.ts";
import { sdkLoop } from "./sdk-loop.ts";

setTracingDisabled(true);

/** The loop alone: what no framework can do without. `serialises`: each request is written as JSON, as a wire would. */
export function bareLoop(scenario: Scenario, serialises: boolean): Work {
  return async () => {
    const messages: unknown[] = [
      { role: "system", content: instructions },
      { role: "user", content: question },
    ];
    for (let turn = 0; turn < scenario.turns; turn++) {
      if (serialises) JSON.stringify({ messages });
      await Promise.resolve();
      const calls = Array.from({ length: scenario.calls }, (_, index) => ({
        id: `c${turn}_${index}`,
        arguments: argumentsText,
      }));
      messages.push({ role: "assistant", tool_calls: calls });
      for (const { id, arguments: given } of calls) {
        const value = add(inputSchema.parse(JSON.parse(given)));
        messages.push({ role: "tool", tool_call_id: id, content: JSON.stringify(value) });
      }
    }
    if (serialises) JSON.stringify({ messages });
    await Promise.resolve();
    return finalText(scenario);
  };
}

/** The `openai` SDK by hand, over a `fetch` that answers in process. */
export function sdkByHand(scenario: Scenario): Work {
  return sdkLoop(new OpenAI({ apiKey: "x", maxRetries: 0, fetch: cannedFetch(scenario) as never }));
}

/** Which turn is asked for, of evaluations one after the other: looking through the history would cost what grows. */
function turnCounter({ turns }: Scenario): () => number {
  let next = 0;
  return () => {
    const turn = next;
    next = turn >= turns ? 0 : turn + 1;
    return turn;
  };
}

/** As cheap as an answer can be. */
function cannedFetch(scenario: Scenario): () => Promise<Response> {
  const usage = {
    prompt_tokens: tokens.inputTokens,
    completion_tokens: tokens.outputTokens,
    total_tokens: tokens.totalTokens,
  };
  const completion = (message: object, finish_reason: string): string =>
    JSON.stringify({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason }],
      usage,
    });
  const bodies = Array.from({ length: scenario.turns }, (_, turn) => {
    const tool_calls = Array.from({ length: scenario.calls }, (__, index) => ({
      id: `c${turn}_${index}`,
      type: "function",
      function: { name: "add", arguments: argumentsText },
    }));
    return completion({ role: "assistant", content: null, tool_calls }, "tool_calls");
  });
  const last = completion({ role: "assistant", content: finalText(scenario) }, "stop");
  const headers = { "content-type": "application/json" };
  const turnOf = turnCounter(scenario);
  return async () => new Response(bodies[turnOf()] ?? last, { headers });
}

export function generateTextOf(scenario: Scenario): Work {
  const usage = {
    inputTokens: { total: tokens.inputTokens, noCache: tokens.inputTokens, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: tokens.outputTokens, text: tokens.outputTokens, reasoning: 0 },
  };
  const turnOf = turnCounter(scenario);
  const model = {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "m",
    supportedUrls: {},
    async doGenerate() {
      const turn = turnOf();
      if (turn >= scenario.turns) {
        const content = [{ type: "text", text: finalText(scenario) }];
        return { content, finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] };
      }
      const content = Array.from({ length: scenario.calls }, (_, index) => ({
        type: "tool-call",
        toolCallId: `c${turn}_${index}`,
        toolName: "add",
        input: argumentsText,
      }));
      return { content, finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage, warnings: [] };
    },
  } as unknown as LanguageModelV4;
  const tools = { add: tool({ description: "Adds.", inputSchema, execute: async (input) => add(input) }) };
  const output = scenario.structured ? { output: Output.object({ schema: outputSchema }) } : {};
  const stopWhen = isStepCount(1_000);
  return () => generateText({ model, instructions, prompt: question, tools, stopWhen, maxRetries: 0, ...output });
}

export function agentsOf(scenario: Scenario): Work {
  const turnOf = turnCounter(scenario);
  const model: Model = {
    async getResponse() {
      const turn = turnOf();
      const usage = new Usage(tokens);
      if (turn >= scenario.turns) {
        const content = [{ type: "output_text" as const, text: finalText(scenario) }];
        return { usage, output: [{ type: "message", role: "assistant", status: "completed", content }] };
      }
      const output = Array.from({ length: scenario.calls }, (_, index) => ({
        type: "function_call" as const,
        callId: `c${turn}_${index}`,
        name: "add",
        status: "completed" as const,
        arguments: argumentsText,
      }));
      return { usage, output };
    },
    async *getStreamedResponse() {},
  };
  const tools = [
    agentTool({ name: "add", description: "Adds.", parameters: inputSchema, execute: async (input) => add(input) }),
  ];
  const agent = new Agent({
    name: "adder",
    instructions,
    model,
    tools,
    ...(scenario.structured ? { outputType: outputSchema } : {}),
  });
  return () => run(agent as unknown as Agent, question, { maxTurns: 1_000 });
}

/** Ours, with session, transactions, events, budget and deadline on. */
export function provisoOf(scenario: Scenario, prepare?: (session: Session) => void): Work {
  const turnOf = turnCounter(scenario);
  const provider: ModelProvider = {
    name: "bench",
    model: "m",
    capabilities: { tools: true, nativeOutput: true },
    generate: async () => cannedAnswer(scenario, turnOf()),
  };
  return evaluating(modelAdapter(provider), scenario, prepare);
}

/** Ours over a `fetch` that answers in process, as `sdkByHand`. */
export function provisoOverFetch(scenario: Scenario): Work {
  const fetch = cannedFetch(scenario) as never;
  return evaluating(proviso({ model: "m", api: "chat", apiKey: "x", fetch }), scenario);
}

export function cannedAnswer(scenario: Scenario, turn: number): ModelResponse {
  if (turn >= scenario.turns) {
    return {
      message: { role: "assistant", text: finalText(scenario), toolCalls: [] },
      finishReason: "stop",
      usage: tokens,
    };
  }
  const toolCalls = Array.from({ length: scenario.calls }, (_, index) => ({
    id: `c${turn}_${index}`,
    name: "add",
    arguments: argumentsText,
  }));
  return { message: { role: "assistant", text: "", toolCalls }, finishReason: "tool-calls", usage: tokens };
}
