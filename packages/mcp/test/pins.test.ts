import { definePrompt, DefinitionError } from "@proviso/core";
import { connectMcp, mcpTools, parsePins, pinnedMcp, type McpChange, type McpPins } from "@proviso/mcp";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { hashOf } from "../src/definitions.ts";
import { callTool, connectScripted, isRunning, scriptedServer, until } from "./support.ts";

/** The pins of the server as it is. */
let current: McpPins;
beforeAll(async () => {
  await using server = await connectScripted();
  current = server.pins;
});

/** Pins in which one tool is not what the server lists, with hashes of their own. */
function pinsOf(change: (tools: McpPins["tools"]) => readonly object[]): McpPins {
  const tools = change(current.tools).map((tool) => ({ ...tool, hash: hashOf(tool as never) }));
  return { ...current, tools } as unknown as McpPins;
}

describe("MCP-6 a definition that changes while the connection lasts", () => {
  test.each(["2026", "2025"] as const)(
    "MCP-6 %s: the next call of that tool fails and says so, and others go on",
    async (mode) => {
      await using server = await connectScripted(mode);
      await callTool(server, "change");
      const { result, cause } = await callTool(server, "echo", { text: "x" });
      expect(result.message).toBe(
        "echo of scripted has changed its description since it was offered: it is not called.",
      );
      expect(cause).toMatchObject({ code: "mcp", reason: "changed" });
      expect(server.log()).not.toContain("called echo");
      expect((await callTool(server, "structured")).result.success).toBe(true);
    },
  );

  test("MCP-6 MCP-7 onChange is asked once for each change, and an accepted one is called", async () => {
    const asked: (readonly McpChange[])[] = [];
    await using server = await connectScripted("2026", { onChange: (changes) => asked.push(changes) > 0 });
    await callTool(server, "change");
    expect((await callTool(server, "echo", { text: "x" })).result).toMatchObject({ value: "x (changed)" });
    await callTool(server, "change");
    await callTool(server, "echo", { text: "x" });
    expect(asked.map((changes) => changes.map(({ tool, what }) => [tool, what]))).toEqual([[["echo", "changed"]]]);
  });
});

describe("MCP-7 pins", () => {
  test("MCP-7 pins of the server as it is are taken, also after they were JSON", async () => {
    const pins = parsePins(JSON.parse(JSON.stringify(current)));
    await using server = await connectScripted("2026", { pins });
    expect(server.pins).toEqual(current);
    expect((await callTool(server, "echo", { text: "x" })).result.success).toBe(true);
  });

  test.each<readonly [string, (tools: McpPins["tools"]) => readonly object[], string]>([
    [
      "a changed description",
      (tools) => tools.map((tool) => ({ ...tool, description: `${tool.description} Or not.` })),
      "echo has changed its description",
    ],
    [
      "a changed schema",
      (tools) => tools.map((tool) => ({ ...tool, inputSchema: { type: "object" } })),
      "echo has changed its inputSchema",
    ],
    [
      "changed hints",
      (tools) => tools.map((tool) => ({ ...tool, annotations: {} })),
      "echo has changed its annotations",
    ],
    ["a new tool", (tools) => tools.filter(({ name }) => name !== "echo"), "echo is new"],
    ["a tool that is gone", (tools) => [...tools, { ...tools[0], name: "old" }], "old is gone"],
    [
      "a renamed tool",
      (tools) => tools.map((tool) => ({ ...tool, name: tool.name === "echo" ? "say" : tool.name })),
      "say is gone, echo is new",
    ],
  ])("MCP-7 %s is refused at connecting, and nothing is left running", async (_, change, message) => {
    const pins = pinsOf(change);
    const { spec, log } = scriptedServer();
    const failed = await connectMcp(spec, { pins }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(DefinitionError);
    expect((failed as Error).message).toContain(message);
    expect(isRunning(Number(log()[0]?.replace("started ", "")))).toBe(false);
  });

  test("MCP-7 an accepted change at connecting makes the server's definitions those that are offered", async () => {
    const pins = pinsOf((tools) => tools.filter(({ name }) => name !== "echo"));
    await using server = await connectScripted("2026", { pins, onChange: () => true });
    expect(server.definitions.map(({ name }) => name)).toContain("echo");
  });

  test.each<readonly [string, (pins: McpPins) => unknown, string]>([
    [
      "a hash of something else",
      (pins) => ({ ...pins, tools: [{ ...pins.tools[0], description: "Else." }] }),
      "the hash of tools.0",
    ],
    ["another version", (pins) => ({ ...pins, version: 2 }), "version must be 1"],
    ["no tools", (pins) => ({ ...pins, tools: undefined }), "tools must be a list"],
    ["a tool twice", (pins) => ({ ...pins, tools: [pins.tools[0], pins.tools[0]] }), "is there twice"],
    ["a text", () => "pins", "they must be an object"],
  ])("MCP-7 damaged pins are refused: %s", (_, damage, message) => {
    expect(() => parsePins(damage(current))).toThrow(DefinitionError);
    expect(() => parsePins(damage(current))).toThrow(message);
  });
});

describe("MCP-13 tools by their pins alone", () => {
  test("MCP-13 nothing is connected before the first call; each evaluation has a connection of its own, closed at its end", async () => {
    const { spec, log } = scriptedServer();
    const source = pinnedMcp(spec, current);
    expect(source.serverName).toBe("scripted");
    const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Echo.", tools: mcpTools(source) }] });
    expect(log()).toEqual([]);
    const call = (text: string) => ({ toolCalls: [{ name: "echo", arguments: { text } }] });
    const evaluate = async (): Promise<unknown> => {
      const adapter = modelAdapter(scriptedModel([call("a"), call("b"), { text: "Done." }]));
      const { toolResults } = await adapter.evaluate(prompt.bind());
      return toolResults.map(({ result }) => result.success && result.value);
    };
    expect(await Promise.all([evaluate(), evaluate()])).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
    const pids = log().flatMap((line) => (line.startsWith("started ") ? [Number(line.slice(8))] : []));
    expect(pids).toHaveLength(2);
    expect(pids.filter(isRunning)).toEqual([]);
    await modelAdapter(scriptedModel([{ text: "No tools." }])).evaluate(prompt.bind());
    expect(log().filter((line) => line.startsWith("started "))).toHaveLength(2);
  });

  test("MCP-13 two evaluations of one id, as forks of one run are, have a connection each, and keep it until their own end", async () => {
    const { spec, log } = scriptedServer();
    const source = pinnedMcp(spec, current);
    const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Echo.", tools: mcpTools(source) }] });
    const evaluate = async (call: { readonly name: string; readonly arguments: object }, between: () => unknown) => {
      const model = scriptedModel([{ toolCalls: [call] }, { text: "Done." }]);
      let asked = 0;
      const generate: typeof model.generate = async (...given) => {
        if (++asked === 2) await between();
        return model.generate(...given);
      };
      const adapter = modelAdapter({ ...model, generate }, { newId: () => "same" });
      const { evaluationId, toolResults } = await adapter.evaluate(prompt.bind());
      return [evaluationId, ...toolResults.map(({ result }) => (result.success ? result.value : result.message))];
    };
    // The first one ends while the other's call is under way.
    const isWaiting = () => until(() => log().includes("waiting"));
    const first = evaluate({ name: "echo", arguments: { text: "a" } }, isWaiting);
    const second = evaluate({ name: "wait", arguments: { progressMs: 100 } }, () => {});
    expect(await first).toEqual(["same", "a"]);
    expect(await second).toEqual(["same", "waited"]);
    const pids = log().flatMap((line) => (line.startsWith("started ") ? [Number(line.slice(8))] : []));
    expect(pids).toHaveLength(2);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test("MCP-13 MCP-7 tools that are not what was pinned fail the call, and say so", async () => {
    const pins = pinsOf((tools) => tools.map((tool) => ({ ...tool, description: "Harmless." })));
    const { result, cause } = await callTool(pinnedMcp(scriptedServer().spec, pins), "echo", { text: "x" });
    expect(result.message).toContain("The tools of scripted are not what was pinned: echo has changed its description");
    expect(cause).toBeInstanceOf(DefinitionError);
  });

  test("MCP-13 damaged pins are refused when the source is made", () => {
    expect(() => pinnedMcp(scriptedServer().spec, {})).toThrow(DefinitionError);
  });
});
