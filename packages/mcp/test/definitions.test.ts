import { InMemoryTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { DefinitionError } from "@proviso/core";
import { connectMcp, mcpTools, type McpConnection, type McpServerSpec } from "@proviso/mcp";
import { describe, expect, test } from "vitest";
import { visibleDescription, visibleSchema, visibleText } from "../src/visible-text.ts";

/** A server in this process that lists what it is given. */
async function listing(...tools: readonly object[]): Promise<McpConnection> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = new Server({ name: "hostile", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: tools as never }));
  await server.connect(theirs);
  return connectMcp({ transport: ours });
}
const tool = (name: string, more: object = {}): object => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: { type: "object" },
  ...more,
});
const named = async (names: readonly string[], prefix?: string): Promise<readonly string[]> => {
  await using server = await listing(...names.map((name) => tool(name)));
  return mcpTools(server, { prefix }).map(({ name }) => name);
};

describe("MCP-2 names", () => {
  test("MCP-2 other characters become _, and a longer name ends in 8 digits of its hash, the same every time", async () => {
    const long = "x".repeat(80);
    const names = await named(["files/read.text", "größe", long]);
    expect(names.slice(0, 2)).toEqual(["files_read_text", "gr__e"]);
    expect(names[2]).toMatch(/^x{56}[0-9a-f]{8}$/);
    expect(await named(["files/read.text", "größe", long])).toEqual(names);
    expect(await named([long.slice(0, 60), `${long}b`], "pre_")).not.toContain(names[2]);
    // The hash is of the name as the server has it.
    const alike = await named([`${long}/`, `${long}.`, `${long}_`]);
    expect(new Set(alike).size).toBe(3);
    expect((await named(["y".repeat(64), "y".repeat(65)])).map((name) => name === "y".repeat(64))).toEqual([
      true,
      false,
    ]);
  });

  test("MCP-2 two that meet are refused, and both are named", async () => {
    await expect(named(["a.b", "a/b"])).rejects.toThrow(
      'The tools "a.b" and "a/b" of hostile would both be called a_b',
    );
    await using server = await listing(tool("read_resource"));
    for (const prefix of ["", "my_", "my server ", "y".repeat(80)]) {
      expect(() => mcpTools(server, { resources: true, prefix }), prefix).toThrow(DefinitionError);
    }
  });

  test("MCP-2 an unknown name in only or trust is refused with those there are", async () => {
    await using server = await listing(tool("a"));
    expect(() => mcpTools(server, { only: ["b"] })).toThrow(
      'The option only names "b", and the tools of hostile are: a.',
    );
    expect(() => mcpTools(server, { trust: ["b"] })).toThrow("The option trust names");
    // A part of a text is no name.
    for (const option of ["only", "trust"]) {
      expect(() => mcpTools(server, { [option]: "a b" } as never)).toThrow(
        `The option ${option} must be a list of tools' names, not "a b".`,
      );
    }
    expect(() => mcpTools(server, { only: true } as never)).toThrow("The option only must be a list");
  });
});

describe("MCP-8 hostile descriptions", () => {
  const hidden = "Adds.\u200b\u202e\u2066\u{e0041}\u{e007f}\ufe0f\u00ad\u0007\u3164 Then\nmore.";

  test("MCP-8 invisible, direction and tag characters are taken out of descriptions, schemas' too", async () => {
    const inputSchema = {
      type: "object",
      properties: { a: { type: "string", description: hidden, title: "A\u200b", default: "x\u202e" } },
      default: { "a\u200b": ["b\u202e"] },
      examples: [{ "\u{e0041}a": { "c\u00ad": "d" } }],
    };
    await using server = await listing(tool("add", { description: hidden, inputSchema }));
    const [add] = mcpTools(server);
    expect(add?.description).toBe("Adds. Then\nmore.");
    const schema = add?.input["~standard"].jsonSchema.input({ target: "draft-2020-12" });
    expect(schema).toMatchObject({ properties: { a: { description: "Adds. Then\nmore.", title: "A", default: "x" } } });
    expect(schema).toMatchObject({ default: { a: ["b"] }, examples: [{ a: { c: "d" } }] });
    // What is pinned is what the server says, hidden characters included.
    expect(server.pins.tools[0]?.description).toBe(hidden);
  });

  test("MCP-8 a description of more than 8,192 characters is refused, a property's too", async () => {
    const long = "x".repeat(8_193);
    await using server = await listing(tool("a", { description: long }));
    expect(() => mcpTools(server)).toThrow('The tool "a" of hostile has a description of 8193 characters');
    const inputSchema = { type: "object", properties: { p: { description: long } } };
    await using other = await listing(tool("b", { inputSchema }));
    expect(() => mcpTools(other)).toThrow(DefinitionError);
    await using third = await listing(tool("c", { description: "x".repeat(8_192) }));
    expect(mcpTools(third)).toHaveLength(1);
  });

  test("MCP-8 line breaks and tabs stay, and the bounds are 8,192 characters of a description and 262,144 of a schema", () => {
    expect(visibleText("a\tb\r\nc\u000b\u0000d")).toBe("a\tb\r\ncd");
    expect(visibleDescription("a".repeat(8_192), "it")).toHaveLength(8_192);
    expect(() => visibleDescription("a".repeat(8_193), "it")).toThrow(DefinitionError);
    const schema = (length: number) => ({ const: "a".repeat(length - JSON.stringify({ const: "" }).length) });
    expect(visibleSchema(schema(262_144), "it")).toEqual(schema(262_144));
    expect(() => visibleSchema(schema(262_145), "it")).toThrow(DefinitionError);
  });

  test("MCP-8 a property or an allowed value with invisible characters is refused: it could not be changed", async () => {
    await using server = await listing(tool("a", { inputSchema: { type: "object", properties: { "p\u200b": {} } } }));
    expect(() => mcpTools(server)).toThrow("invisible characters in its schema");
    const inputSchema = { type: "object", properties: { p: { enum: ["x\u{e0041}"] } } };
    await using other = await listing(tool("b", { inputSchema }));
    expect(() => mcpTools(other)).toThrow("invisible characters in its schema");
  });
});

test("MCP-3 a schema that cannot be used is refused with the tool's name", async () => {
  const inputSchema = { type: "object", properties: { a: { $ref: "https://x.example/schema" } } };
  await using server = await listing(tool("a"), tool("odd", { inputSchema }));
  expect(() => mcpTools(server)).toThrow('The input of tool "odd" cannot be used as JSON Schema');
  expect(mcpTools(server, { only: ["a"] })).toHaveLength(1);
});

describe("MCP-1 a server that cannot be is refused before anything is started", () => {
  test.each<readonly [unknown, string]>([
    [{}, "A server needs one of command, url and transport"],
    [{ command: "x", url: "http://x" }, "needs one of"],
    [{ command: "" }, "The option command must be"],
    [{ command: "x", args: "-y" }, 'The option args must be a list of texts without NUL characters, not "-y".'],
    [{ command: "x", args: ["-y", 1] }, "The option args[1] must be a text without NUL characters."],
    [{ command: "x", env: "HOME" }, "The option env must be a list of variable names"],
    [{ command: "x", env: ["A", "A=b"] }, 'The option env[1] must be the name of a variable, "HOME" for example.'],
    [{ command: "x", environment: {} }, "has no option environment"],
    [{ url: "file:///x" }, "The option url must be an address of http or https"],
    [{ url: "http://x", headers: { a: 1 } }, "The option headers.a must be a text without NUL characters."],
  ])("MCP-1 %j", async (spec, message) => {
    await expect(connectMcp(spec as McpServerSpec)).rejects.toThrow(DefinitionError);
    await expect(connectMcp(spec as McpServerSpec)).rejects.toThrow(message);
  });
});
