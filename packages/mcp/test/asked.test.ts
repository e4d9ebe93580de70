import { definePrompt, trackBudget, type ToolContext } from "@proviso/core";
import { mcpTools, type McpConnectOptions, type McpElicitation } from "@proviso/mcp";
import { modelAdapter } from "@proviso/runtime";
import { fakeClock, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { answerAsked } from "../src/asked.ts";
import { callTool, connectScripted, until } from "./support.ts";

const answered = async (mode: "2026" | "2025", name: string, options: McpConnectOptions): Promise<unknown> => {
  await using server = await connectScripted(mode, options);
  const { result } = await callTool(server, name);
  return result.success ? JSON.parse(String(result.value)) : result.message;
};

describe.each(["2026", "2025"] as const)("MCP-11 MCP-12 what a server of %s asks in a call", (mode) => {
  test(`MCP-12 ${mode}: a person is asked, with the tool's name and visible text, and the answer goes back`, async () => {
    const asked: McpElicitation[] = [];
    const elicit: McpConnectOptions["elicit"] = (what, context) => {
      asked.push(what);
      expect(context.evaluationId).not.toBe("");
      return Promise.resolve({ action: "accept", content: { colour: "red" } });
    };
    expect(await answered(mode, "elicit", { elicit })).toEqual({ action: "accept", content: { colour: "red" } });
    expect(asked).toEqual([
      {
        server: "scripted",
        tool: "elicit",
        message: "Which colour?",
        schema: { type: "object", properties: { colour: { type: "string" } }, required: [] },
      },
    ]);
  });

  test(`MCP-12 ${mode}: a text of a model is a nested evaluation of the call, with its adapter and budget`, async () => {
    await using server = await connectScripted(mode, { sampling: {} });
    const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Sample.", tools: mcpTools(server) }] });
    const model = scriptedModel([
      { toolCalls: [{ name: "sample", arguments: {} }] },
      { text: "Hello!", usage: { inputTokens: 3, outputTokens: 2 } },
      { text: "Done." },
    ]);
    const budget = trackBudget({ maxTotalTokens: 100_000 });
    const { toolResults } = await modelAdapter(model).evaluate(prompt.bind(), { budget });
    const { result } = toolResults[0] ?? {};
    expect(JSON.parse(String(result?.success && result.value))).toMatchObject({
      role: "assistant",
      content: { type: "text", text: "Hello!" },
    });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "user", text: "Say hello." });
    expect(model.requests).toHaveLength(3);
  });

  test(`MCP-12 ${mode}: a text that the limit of its tokens cut short goes back up to there, and says so`, async () => {
    await using server = await connectScripted(mode, { sampling: {} });
    const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Sample.", tools: mcpTools(server) }] });
    const model = scriptedModel([
      { toolCalls: [{ name: "sample", arguments: {} }] },
      { text: "Hello! ".repeat(100), usage: { inputTokens: 3, outputTokens: 100 } },
      { text: "Done." },
    ]);
    const { toolResults, text } = await modelAdapter(model).evaluate(prompt.bind());
    const { result } = toolResults[0] ?? {};
    expect(JSON.parse(String(result?.success && result.value))).toMatchObject({
      content: { type: "text", text: "Hello! ".repeat(50) },
      stopReason: "maxTokens",
    });
    expect([model.requests[1]?.maxOutputTokens, text]).toEqual([50, "Done."]);
  });

  test(`MCP-9 MCP-12 ${mode}: the time in which a person answers is no silence of the server, and what follows is`, async () => {
    const clock = fakeClock();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<{ action: "accept"; content: { colour: string } }>();
    const elicit = () => {
      asked.resolve();
      return answer.promise;
    };
    await using server = await connectScripted(mode, { elicit, callMs: 1_000, clock });
    const calling = callTool(server, "elicitAndWait");
    await asked.promise;
    await clock.advance(60_000);
    answer.resolve({ action: "accept", content: { colour: "red" } });
    await until(() => server.log().includes("waiting"));
    await clock.advance(1_000);
    expect((await calling).result.message).toBe("scripted was silent for 1000 ms in a call of elicitAndWait.");
    expect(clock.pending).toBe(0);
  });

  test(`MCP-12 ${mode}: what is not approved, and tools, are refused`, async () => {
    const sampling = { approve: (text: string) => text !== "Say hello." };
    expect(String(await answered(mode, "sample", { sampling }))).toContain("it was not approved");
    expect(String(await answered(mode, "sampleWithTools", { sampling: {} }))).toMatch(
      /tools are not offered|required capability/,
    );
  });
});

test("MCP-12 what is not given is not offered, and declined", async () => {
  expect(await answered("2026", "elicit", {})).toMatch(/declin|capabilit|not support/i);
  expect(await answered("2025", "elicit", {})).toMatch(/declin|capabilit|not support/i);
  expect(await answered("2026", "sample", {})).toMatch(/declin|capabilit|not support|none is offered/i);
});

test("MCP-11 on an older connection with two calls under way what is asked is declined", async () => {
  await using server = await connectScripted("2025", {
    elicit: () => Promise.resolve({ action: "accept", content: { colour: "red" } }),
  });
  const controller = new AbortController();
  const tools = mcpTools(server);
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Wait.", tools }] });
  const waiting = modelAdapter(scriptedModel([{ toolCalls: [{ name: "wait", arguments: {} }] }])).evaluate(
    prompt.bind(),
    {
      signal: controller.signal,
    },
  );
  while (!server.log().includes("waiting")) await new Promise((resolve) => void setTimeout(resolve, 5));
  const { result } = await callTool(server, "elicit");
  expect(JSON.parse(String(result.success && result.value))).toEqual({ action: "decline" });
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ code: "aborted" });
});

test("MCP-10 a call whose answer to the server cannot be sent is not repeated: the server knows of it since it asked", async () => {
  const log = (): readonly string[] => server.log();
  const elicit: McpConnectOptions["elicit"] = async () => {
    await until(() => log().includes("closed its input"));
    return { action: "accept", content: { colour: "red" } };
  };
  await using server = await connectScripted("2026", { elicit, callMs: 20_000 });
  const { result, cause } = await callTool(server, "elicitAndClose");
  expect(result.message).toContain("was lost. What it had done is not known.");
  expect(cause).toMatchObject({ code: "mcp", reason: "closed" });
  expect(log().filter((line) => line === "called elicitAndClose")).toHaveLength(1);
});

describe("MCP-12 what is asked", () => {
  const asking = async (options: McpConnectOptions, method: string, params: object) => {
    const evaluated: (readonly [text: string, options: unknown])[] = [];
    const context = {
      adapter: { name: "own" },
      async evaluate(text: string, given: { readonly budget?: unknown }) {
        evaluated.push([text, given.budget]);
        return { output: "Hello!" };
      },
    } as unknown as ToolContext;
    const call = { server: "scripted", tool: "ask", context };
    const answer = await answerAsked(options as never, { method, params }, call).catch((error: unknown) => error);
    return { answer, evaluated };
  };

  test("MCP-12 a form that is accepted has the defaults of its schema where nothing was entered", async () => {
    const properties = { colour: { default: "blue" }, size: { default: 3 }, name: {} };
    const elicit = async () => ({ action: "accept" as const, content: { colour: "red" } });
    const params = { message: "?", requestedSchema: { type: "object", properties } };
    const { answer } = await asking({ elicit }, "elicitation/create", params);
    expect(answer).toEqual({ action: "accept", content: { colour: "red", size: 3 } });
  });

  const said = { type: "text", text: "Hello." };
  const messages = [{ role: "user", content: said }];
  test.each([
    [{ maxTokens: 50 }, {}, 50],
    [{ maxTokens: 5_000 }, {}, 1_000],
    [{ includeContext: "none", tools: [] }, { maxOutputTokens: 70, approve: () => true }, 70],
  ])("MCP-12 a text is evaluated within the bounds: %j", async (params, sampling, maxOutputTokens) => {
    const { answer, evaluated } = await asking({ sampling }, "sampling/createMessage", { messages, ...params });
    expect(answer).toMatchObject({ content: { type: "text", text: "Hello!" }, model: "own", stopReason: "endTurn" });
    expect(evaluated).toEqual([["Hello.", { maxOutputTokens }]]);
  });

  test.each<readonly [string, object, McpConnectOptions["sampling"], string]>([
    ["tools", { messages, tools: [{ name: "a" }] }, {}, "tools are not offered"],
    ["a choice of tools", { messages, toolChoice: { mode: "auto" } }, {}, "tools are not offered"],
    ["other contexts", { messages, includeContext: "allServers" }, {}, "other contexts are not offered"],
    ["a picture", { messages: [{ role: "user", content: { type: "image" } }] }, {}, "texts alone are offered"],
    [
      "a picture too",
      { messages: [{ role: "user", content: [said, { type: "image" }] }] },
      {},
      "texts alone are offered",
    ],
    ["what approve does not allow", { messages }, { approve: () => false }, "it was not approved"],
    ["what approve says no true to", { messages }, { approve: (() => "yes") as never }, "it was not approved"],
    ["what is not offered", { messages }, undefined, "none is offered"],
  ])("MCP-12 %s is refused, and nothing is evaluated", async (_, params, sampling, why) => {
    const { answer, evaluated } = await asking({ sampling } as McpConnectOptions, "sampling/createMessage", params);
    expect(answer).toMatchObject({
      reason: "refused",
      message: `scripted asked for a text of a model: ${why}.`,
    });
    expect(evaluated).toEqual([]);
  });
});
