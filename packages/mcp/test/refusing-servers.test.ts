// Servers that refuse the connection, or answer with what is none: the error says what they have written, and they are
// started no more often than that can help.
import { InMemoryTransport, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { DefinitionError, type Tool } from "@proviso/core";
import { connectMcp, mcpTools, pinnedMcp, type McpConnectOptions, type McpServerSpec } from "@proviso/mcp";
import { fakeClock, invokeTool } from "@proviso/runtime/testing";
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { callTool, until } from "./support.ts";

/** A program that writes down that it was started, and then does what its code says. */
function program(code: string) {
  const log = join(tmpdir(), `proviso-mcp-${randomUUID()}.log`);
  const file = `${log}.cjs`;
  onTestFinished(() => [log, file].forEach((each) => rmSync(each, { force: true })));
  const begin = `const log = ${JSON.stringify(log)};
    require("node:fs").appendFileSync(log, process.pid + "\\n");
    setTimeout(() => process.exit(124), 300_000);
    const out = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\\n");`;
  writeFileSync(file, `${begin}\n${code}`);
  return {
    spec: { command: process.execPath, args: [file] },
    starts: () => readFileSync(log, { encoding: "utf8", flag: "a+" }).trim().split("\n").length,
  };
}

/** Does this with each message. */
const onMessage = (code: string): string =>
  `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    ${code}
  });`;
/** Answers whatever comes before \`initialize\` as a server of the older revision does. */
const older = (code: string): string =>
  onMessage(`if (id === undefined) return;
    if (method !== "initialize") return out({ id, error: { code: -32601, message: "no such method" } });
    ${code}`);
const refusal = `out({ id, error: { code: -32602, message: "No licence\\u200b \\u001b[31mfor you." } });`;

test.each([
  ["to every request", onMessage(`if (id !== undefined) ${refusal}`)],
  ["to initialize", older(refusal)],
  ["to initialize, and exits", older(`${refusal} setTimeout(() => process.exit(3), 20);`)],
])("MCP-1 a server that answers with an error %s is quoted, and started once", async (_, code) => {
  const { spec, starts } = program(code);
  const error = await connectMcp(spec).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: "mcp",
    reason: "connect",
    message: expect.stringContaining("could not be reached: No licence [31mfor you."),
  });
  expect(starts()).toBe(1);
});

test("MCP-1 a server that exits when it is asked to begin is quoted, and started once", async () => {
  const { spec, starts } = program(older(`console.error("no key"); process.exit(4);`));
  await expect(connectMcp(spec)).rejects.toThrow(/exited with code 4, after it had written: no key/);
  expect(starts()).toBe(1);
});

test.each([
  ["standard error", `console.error("usage: x");`],
  ["standard output", `console.log("usage: x");`],
])("MCP-1 what exits at once is started once more, and no more: what it wrote to %s is shown", async (_, code) => {
  const { spec, starts } = program(`${code} process.exitCode = 2; process.stdout.write("", () => process.exit());`);
  await expect(connectMcp(spec)).rejects.toThrow(/exited with code 2, after it had written: usage: x/);
  expect(starts()).toBe(2);
});

test.each([
  [
    "lines of text",
    `console.log("what is " + method + "?");`,
    /did not answer with a message of the protocol, but with: what is/,
  ],
  ["JSON that is no answer", `console.log(JSON.stringify({ level: "info", method }));`, /but with: \{"level":"info"/],
  ["another id", `out({ id: 99, nonsense: 1 });`, /but with: .*"nonsense":1/],
])("MCP-1 a server that answers initialize with %s cannot be reached, and is not waited for", async (_, odd, says) => {
  const { spec, starts } = program(older(odd));
  const from = performance.now();
  await expect(connectMcp(spec, { connectMs: 45_000 })).rejects.toThrow(says);
  expect(performance.now() - from).toBeLessThan(30_000);
  expect(starts()).toBe(1);
});

test("MCP-1 an answer to initialize that is none fails at once, with its beginning", async () => {
  const { spec, starts } = program(older(`out({ id, result: "x".repeat(5_000) });`));
  const error = await connectMcp(spec, { connectMs: 45_000 }).catch((thrown: unknown) => thrown as Error);
  expect(error).toMatchObject({
    reason: "connect",
    message: expect.stringMatching(/cannot be used: its answer cannot be read/),
  });
  expect((error as Error).message).toContain('"result":"xxx');
  expect((error as Error).message.length).toBeLessThan(1_000);
  expect(starts()).toBe(1);
});

/** The error of a server that writes this and then nothing: it took too long when all of it was here. */
async function silentAfter(written: string, options: McpConnectOptions = {}): Promise<Error> {
  const { spec, starts } = program(
    `process.stdout.write(${JSON.stringify(written)}, () => require("node:fs").appendFileSync(log, "written\\n"));
    process.stdin.resume();`,
  );
  const clock = fakeClock();
  const connecting = connectMcp(spec, { ...options, clock, connectMs: 20_000 }).catch(
    (error: unknown) => error as Error,
  );
  await until(() => starts() === 2);
  await new Promise((resolve) => void setTimeout(resolve, 200));
  await clock.advance(20_000);
  return (await connecting) as Error;
}

test("MCP-1 what a silent server has written before is in the error, at most 1,000 characters of it", async () => {
  const error = await silentAfter(`${"x".repeat(20_000)}\nLoading\u200b the model…`);
  expect(error).toMatchObject({
    reason: "timeout",
    message: expect.stringMatching(/did not answer within 20000 ms, after it had written: x+\nLoading the model…$/),
  });
  expect(error.message.length).toBeLessThan(1_400);
});

test("MCP-1 lines that are no message are passed over where the answer comes behind them", async () => {
  const { spec } = program(
    onMessage(`if (id === undefined) return;
      console.log("A log: " + method);
      const answer = (result) => setTimeout(out, 100, { id, result });
      if (method === "initialize") return answer({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "chatty", version: "1" } });
      if (method === "tools/list") return answer({ tools: [{ name: "t", inputSchema: { type: "object" } }] });
      if (method === "tools/call") return answer({ content: [{ type: "text", text: "done" }] });
      out({ id, error: { code: -32601, message: "no" } });`),
  );
  await using server = await connectMcp(spec);
  expect((await callTool(server, "t")).result).toMatchObject({ success: true, value: "done" });
});

test("MCP-1 a call that is answered with what is no answer fails at once", async () => {
  const { spec } = program(
    older(
      `out({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } } });`,
    ).replace(
      'if (method !== "initialize")',
      `if (method === "tools/list") return out({ id, result: { tools: [{ name: "t", inputSchema: { type: "object" } }] } });
      if (method === "tools/call") return out({ id, result: 5 });
      if (method !== "initialize")`,
    ),
  );
  await using server = await connectMcp(spec);
  const { result, cause } = await callTool(server, "t");
  expect(result.message).toMatch(/^odd gave no answer that can be read \(it is not of the protocol: .*"result":5/);
  expect(cause).toMatchObject({ reason: "protocol" });
});

const nothing = { version: 1, server: { name: "x" }, tools: [] };

test.each<readonly [string, unknown, RegExp]>([
  ["nothing", undefined, /needs one of command, url and transport/],
  ["a line of a shell", "npx a-server", /needs one of command, url and transport/],
  ["the config of an editor", { mcpServers: { a: { command: "x" } } }, /needs one of command, url and transport/],
  ["a command and an address", { command: "x", url: "http://x/" }, /needs one of/],
  ["an empty command", { command: "" }, /The option command must be the name or path of a program, not ""/],
  ["a blank command", { command: " \t" }, /The option command must be/],
  ["variables with values", { command: "x", env: { KEY: "v" } }, /The option env must be a list of variable names/],
  ["an option of another client", { command: "x", type: "stdio" }, /has no option type/],
  ["no address", { url: "a-server" }, /The option url must be an address of http or https, not "a-server"/],
  ["an address of something else", { url: "ftp://x/" }, /The option url must be an address of http or https/],
  ["a header that has no name", { url: "http://x/", headers: { "a b": "c" } }, /The option headers has "a b"/],
  [
    "a header that breaks its line",
    { url: "http://x/", headers: { key: "sk-1234567890\nb" } },
    /^(?!.*sk-12).*The option headers has "key"/,
  ],
  ["an auth that gives no token", { url: "http://x/", auth: {} }, /The option auth must be an OAuthClientProvider/],
  ["a transport that sends nothing", { transport: {} }, /The option transport must be a Transport/],
])("MCP-1 what cannot be a server is a DefinitionError at its definition: %s", async (_, spec, says) => {
  expect(() => pinnedMcp(spec as McpServerSpec, nothing)).toThrow(says);
  const error = await connectMcp(spec as McpServerSpec).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DefinitionError);
  expect((error as Error).message).toMatch(says);
});

/** A service that answers each method with the fields of a message, or their text, or a status. */
async function service(answer: (method: string, session: boolean) => object | string | number) {
  const http = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const { id, method } = JSON.parse(body) as { readonly id?: unknown; readonly method: string };
      if (id === undefined) return void response.writeHead(202).end();
      const given = answer(method, request.headers["mcp-session-id"] !== undefined);
      if (typeof given === "number") return void response.writeHead(given).end("Not found");
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s1" });
      const rest = typeof given === "string" ? given : JSON.stringify(given).slice(1, -1);
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${rest}}`);
    });
  });
  await new Promise<void>((resolve) => void http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void http.close());
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` };
}

const initialized = {
  result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } },
};
const unknown = { error: { code: -32_601, message: "no" } };

test("MCP-10 a service that does not know the session any more is called by its name", async () => {
  await using server = await connectMcp(
    await service((method, hasSession) => {
      if (method === "initialize") return hasSession ? unknown : initialized;
      if (method === "tools/list") return { result: { tools: [{ name: "t", inputSchema: { type: "object" } }] } };
      return method === "tools/call" ? 404 : unknown;
    }),
  );
  const { result } = await callTool(server, "t");
  expect(result.message).toBe("The connection to notes was lost. What it had done is not known.");
});

/** The text of a schema of 3,000 levels: JSON.stringify would go as deep. */
const deep = `${'{"type":"object","properties":{"a":'.repeat(3_000)}{"type":"object"}${"}}".repeat(3_000)}`;

test.each([
  ["inputSchema", "over HTTP"],
  ["outputSchema", "over HTTP"],
  ["inputSchema", "of a process"],
] as const)(
  "MCP-3 a schema that is nested too deep is refused by its tool's name, and the others can be used: %s %s",
  async (field, way) => {
    const own = field === "inputSchema" ? deep : `{"type":"object"},"${field}":${deep}`;
    const tools = `[{"name":"fine","inputSchema":{"type":"object"}},{"name":"deep","inputSchema":${own}}]`;
    const answers = {
      initialize: JSON.stringify(initialized).slice(1, -1),
      "tools/list": `"result":{"tools":${tools}}`,
      "tools/call": '"result":{"content":[{"type":"text","text":"done"}]}',
    } as Readonly<Record<string, string>>;
    const none = JSON.stringify(unknown).slice(1, -1);
    const write = `const answer = ${JSON.stringify(answers)}[method] ?? ${JSON.stringify(none)};
      if (id !== undefined) process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',' + answer + '}\\n');`;
    const spec =
      way === "over HTTP" ? await service((method) => answers[method] ?? none) : program(onMessage(write)).spec;
    await using server = await connectMcp(spec);
    expect(() => mcpTools(server)).toThrow(
      /tool "deep" cannot be used as JSON Schema: .* is nested deeper than 200 levels/,
    );
    const [fine] = mcpTools(server, { only: ["fine"] });
    const { result } = await invokeTool(fine as Tool, {});
    expect(result).toMatchObject({ success: true, value: "done" });
  },
);

test("MCP-8 an answer that is nested too deep fails its call, and the error names the server", async () => {
  let value: object = {};
  for (let level = 0; level < 20_000; level++) value = { a: value };
  const odd = [
    { result: { content: [], structuredContent: value } },
    { result: { content: [], _meta: value } },
    { error: { code: -1, message: "No.", data: value } },
  ];
  let calls = 0;
  const answer = (method: string): object => {
    if (method === "initialize") return initialized;
    if (method === "tools/list") return { result: { tools: [{ name: "t", inputSchema: { type: "object" } }] } };
    return (method === "tools/call" ? odd[calls++] : undefined) ?? unknown;
  };
  await using server = await connectMcp({ transport: linked(answer) });
  for (const _ of odd) {
    const { result } = await callTool(server, "t");
    expect(result.message).toBe(
      "notes gave no answer that can be read (it is nested deeper than 1000 levels). What it had done is not known.",
    );
  }
});

/** A connection to a server in this process. */
function linked(answer: (method: string) => object): object {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  theirs.onmessage = (message) => {
    const { id, method } = message as { readonly id?: unknown; readonly method: string };
    if (id !== undefined) void theirs.send({ jsonrpc: "2.0", id, ...answer(method) } as JSONRPCMessage);
  };
  void theirs.start();
  return ours;
}

test("MCP-14 MCP-8 no secret is in what fails beside the calls, nor in what a model reads of a tool", async () => {
  const secret = "sk-live-1234567890abcdef";
  const hidden = `${secret.slice(0, 6)}\u200B${secret.slice(6)}\u001B[31m`;
  const inputSchema = { type: "object", properties: { a: { type: "string", description: hidden, default: hidden } } };
  const answer = (method: string): object => {
    if (method === "initialize")
      return { result: { ...initialized.result, capabilities: { tools: {}, resources: {}, prompts: {} } } };
    if (method === "tools/list") return { result: { tools: [{ name: "t", description: hidden, inputSchema }] } };
    return { error: { code: -1, message: `bad key ${hidden}`, data: { hidden } } };
  };
  await using server = await connectMcp({ transport: linked(answer) }, { secrets: [secret] });
  const asked = [server.listResources(), server.readResource("file:///a"), server.listPrompts(), server.prompt("p")];
  const errors = await Promise.allSettled(asked);
  const shown = inspect([errors, mcpTools(server)], { depth: 12, showHidden: true });
  expect(errors.map(({ status }) => status)).toEqual(Array(4).fill("rejected"));
  expect(shown).toContain("bad key [secret][31m");
  expect(shown).not.toContain(secret);
  expect(shown).not.toContain(hidden);
});

test.each([100, 990, 1_000, 1_010])(
  "MCP-14 SEC-1 no part of a key is in the error of a silent server that wrote it to standard output, then %i characters",
  async (more) => {
    const secret = "sk-live-1234567890abcdef";
    const { message } = await silentAfter(secret + "x".repeat(more), { secrets: [secret] });
    expect(message).toContain("did not answer within 20000 ms, after it had written: ");
    for (let at = 0; at + 6 <= secret.length; at++) expect(message).not.toContain(secret.slice(at, at + 6));
  },
);
