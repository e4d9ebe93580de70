import { definePrompt, trackBudget, type ToolContext } from "@proviso/core";
import { mcpTools, type McpConnectOptions, type McpElicitation } from "@proviso/mcp";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { answerAsked } from "../src/asked.ts";
import { callTool, connectScripted } from "./support.ts";

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

describe("MCP-12 what is asked", () => {
  const call = { server: "scripted", tool: "ask", context: {} as ToolContext };
  const asking = (options: McpConnectOptions, method: string, params: object) =>
    answerAsked(options as never, { method, params }, call);

  test("MCP-12 a form that is accepted has the defaults of its schema where nothing was entered", async () => {
    const requestedSchema = {
      type: "object",
      properties: { colour: { default: "blue" }, size: { default: 3 }, name: {} },
    };
    const elicit = async () => ({ action: "accept" as const, content: { colour: "red" } });
    expect(await asking({ elicit }, "elicitation/create", { message: "?", requestedSchema })).toEqual({
      action: "accept",
      content: { colour: "red", size: 3 },
    });
  });

  const messages = [{ role: "user", content: { type: "text", text: "Hello." } }];
  test.each<readonly [string, object, McpConnectOptions["sampling"]]>([
    ["tools", { messages, tools: [{ name: "a" }] }, {}],
    ["a choice of tools", { messages, toolChoice: { mode: "auto" } }, {}],
    ["other contexts", { messages, includeContext: "allServers" }, {}],
    ["a picture", { messages: [{ role: "user", content: { type: "image", data: "" } }] }, {}],
    [
      "a picture behind a text",
      { messages: [{ role: "user", content: [messages[0]?.content, { type: "image" }] }] },
      {},
    ],
    ["what approve does not allow", { messages }, { approve: () => false }],
    ["what approve says anything but true to", { messages }, { approve: (() => "yes") as never }],
    ["what is not offered", { messages }, undefined],
  ])("MCP-12 %s is refused", async (_, params, sampling) => {
    await expect(
      asking(sampling === undefined ? {} : { sampling }, "sampling/createMessage", params),
    ).rejects.toMatchObject({
      reason: "refused",
      message: expect.stringContaining("scripted asked for a text of a model: "),
    });
  });
});
