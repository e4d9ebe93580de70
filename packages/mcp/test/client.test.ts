import { definePrompt } from "@proviso/core";
import { connectMcp, McpError, mcpInfoOf, mcpTools } from "@proviso/mcp";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeClock, scriptedModel } from "@proviso/runtime/testing";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { whileMeasuring } from "../../adapter-process/test/support/yardstick.ts";
import { callTool, connectScripted, isRunning, scriptedServer, until } from "./support.ts";

describe.each(["2026", "2025", "hasty"] as const)("MCP-1 a server of revision %s", (mode) => {
  test(`MCP-1 MCP-4 ${mode}: it is connected, listed and called, and no process is left`, async () => {
    const server = await connectScripted(mode);
    expect(server.serverName).toBe("scripted");
    expect(server.definitions.map(({ name }) => name)).toContain("echo");
    const { result } = await callTool(server, "echo", { text: "hello" });
    expect(result).toMatchObject({ success: true, value: "hello" });
    await server.close();
    const pids = server.log().flatMap((line) => (line.startsWith("started ") ? [Number(line.slice(8))] : []));
    // What ends at the first message is started once more, and nothing else is.
    expect(pids).toHaveLength(mode === "hasty" ? 2 : 1);
    expect(pids.filter(isRunning)).toEqual([]);
  });
});

test("MCP-1 a server and what it has started are gone within 2 seconds of closing, also where it ignores SIGTERM", async () => {
  const connecting = performance.now();
  const server = await connectScripted("stubborn");
  // How slow the machine is: a process takes a tenth of a second to begin.
  const connectMs = performance.now() - connecting;
  const { result } = await callTool(server, "spawn");
  const child = Number(result.success ? result.value : 0);
  const [own] = server.log().map((line) => Number(line.replace("started ", "")));
  expect([isRunning(child), isRunning(own ?? 0)]).toEqual([true, true]);
  const from = performance.now();
  await server.close();
  expect(performance.now() - from).toBeLessThan(2_000 + 10 * connectMs);
  expect([isRunning(child), isRunning(own ?? 0)]).toEqual([false, false]);
});

test("MCP-1 a process sees PATH and the named variables alone", async () => {
  process.env["PROVISO_SEEN"] = "yes, this one";
  process.env["PROVISO_HIDDEN"] = "no";
  try {
    const { spec } = scriptedServer();
    await using server = await connectMcp({ ...spec, env: ["PROVISO_SEEN"] });
    const { result } = await callTool(server, "environment");
    const seen = JSON.parse(String(result.success && result.value)) as Record<string, string>;
    expect(
      Object.keys(seen)
        .filter((name) => !name.startsWith("__"))
        .toSorted(),
    ).toEqual(["PATH", "PROVISO_SEEN"]);
  } finally {
    delete process.env["PROVISO_SEEN"];
    delete process.env["PROVISO_HIDDEN"];
  }
});

test("MCP-1 a server that cannot be started, exits or is silent is an McpError that says why", async () => {
  await expect(connectMcp({ command: "no-such-program-of-proviso" })).rejects.toMatchObject({
    code: "mcp",
    reason: "connect",
    message: "no-such-program-of-proviso was not found: give its path, or put its folder on PATH.",
  });
  const exits = { command: process.execPath, args: ["-e", "console.error('no key'); process.exit(4)"] };
  await expect(connectMcp(exits)).rejects.toThrow(/exited with code 4, after it had written: no key/);
  const silent = { command: process.execPath, args: ["-e", "setTimeout(() => {}, 60_000)"] };
  const failed = await connectMcp(silent, { connectMs: 300 }).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(McpError);
  expect(failed).toMatchObject({ reason: "timeout" });
});

/** A server that lists nothing, and says why; its process writes down that it was started. */
const refusing = (started: string): readonly string[] => [
  "-e",
  `require("fs").appendFileSync(${JSON.stringify(started)}, process.pid + "\\n");
  require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    const out = (more) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...more }) + "\\n");
    const serverInfo = { name: "refusing", version: "1" };
    if (method === "initialize") out({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
    else if (id !== undefined) out({ error: { code: -32000, message: "The token is not valid any more." } });
  });`,
];

test("MCP-1 a server that refuses to list its tools is started once, and the error says why", async () => {
  const folder = await mkdtemp(join(tmpdir(), "proviso-mcp-"));
  try {
    const started = join(folder, "started");
    const connecting = connectMcp({ command: process.execPath, args: [...refusing(started)] });
    await expect(connecting).rejects.toThrow(/could not be reached: .*The token is not valid any more/);
    expect((await readFile(started, "utf8")).trim().split("\n")).toHaveLength(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("MCP-1 closing does not wait for a server that is silent while it is connected anew", async () => {
  const folder = await mkdtemp(join(tmpdir(), "proviso-mcp-"));
  try {
    const started = join(folder, "started");
    // It dies in a call. What is started after it says nothing.
    const code = refusing(started)[1]
      ?.replace(
        'require("readline")',
        `if (require("fs").readFileSync(${JSON.stringify(started)}, "utf8").split("\\n").length > 2) setInterval(() => {}, 1000); else require("readline")`,
      )
      .replace(
        "else if (id !== undefined)",
        `else if (method === "tools/list") out({ result: { tools: [{ name: "die", inputSchema: { type: "object" } }] } }); else if (method === "tools/call") process.exit(3); else if (id !== undefined)`,
      );
    const server = await connectMcp({ command: process.execPath, args: ["-e", code ?? ""] });
    await callTool(server, "die");
    const again = callTool(server, "die");
    await until(() => readFileSync(started, "utf8").trim().split("\n").length === 2);
    const from = performance.now();
    await server.close();
    expect(performance.now() - from).toBeLessThan(10_000);
    expect((await again).result).toMatchObject({ success: false });
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("MCP-4 what a server answers with", () => {
  test("MCP-4 MCP-8 texts are joined by blank lines, pictures and data are files of the result, and hidden characters are gone", async () => {
    await using server = await connectScripted();
    const { result } = await callTool(server, "blocks");
    expect(result.success && result.value).toBe(["one", "two", "embedded", "Link: d https://x.example/d"].join("\n\n"));
    expect(result.success && result.files).toMatchObject([
      { kind: "stored", name: "image-1.png", mediaType: "image/png", bytes: 70 },
      { kind: "stored", name: "b.bin", mediaType: "application/octet-stream", bytes: 3 },
    ]);
  });

  test("MCP-4 structured content is the value and is checked with the output schema; isError is a failed result", async () => {
    await using server = await connectScripted();
    expect((await callTool(server, "structured")).result).toMatchObject({
      success: true,
      value: { n: 1 },
      message: "",
    });
    expect((await callTool(server, "structured", { wrong: true })).result).toMatchObject({
      success: false,
      message: "The tool returned a value that does not fit its output schema: n: must be a number, not a string.",
    });
    expect((await callTool(server, "fail")).result).toEqual({ success: false, message: "it failed" });
  });
});

test("MCP-3 the arguments are checked with the server's schema before it is asked, and unknown keys are refused", async () => {
  await using server = await connectScripted();
  const { result } = await callTool(server, "echo", { txt: "x" });
  expect(result.message).toBe("The arguments of echo do not fit: text: is missing; txt: unknown key.");
  expect(server.log()).not.toContain("called echo");
});

test("MCP-5 hints are believed only where trust says so", async () => {
  await using server = await connectScripted();
  const echo = (trust?: boolean | readonly string[]) => mcpTools(server, { only: ["echo"], trust })[0];
  expect(echo()).not.toHaveProperty("readOnly");
  expect(echo()).not.toHaveProperty("idempotent");
  expect(echo(["echo"])).toMatchObject({ readOnly: true, idempotent: true });
  expect(mcpTools(server, { trust: true }).find(({ name }) => name === "wait")).not.toHaveProperty("readOnly");
  const tool = echo();
  expect(tool && mcpInfoOf(tool as never)).toMatchObject({ server: "scripted", annotations: { readOnlyHint: true } });
});

describe("MCP-9 time", () => {
  test.each(["2026", "2025"] as const)("MCP-9 an abort reaches a server of %s within 100 ms", async (mode) => {
    await using server = await connectScripted(mode);
    const tools = mcpTools(server);
    const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Wait.", tools }] });
    const model = scriptedModel([{ toolCalls: [{ name: "wait", arguments: {} }] }]);
    const controller = new AbortController();
    const evaluating = modelAdapter(model).evaluate(prompt.bind(), { signal: controller.signal });
    await until(() => server.log().includes("waiting"));
    let abortedAt = 0;
    const { slowest } = await whileMeasuring(async () => {
      abortedAt = Date.now();
      controller.abort();
      await expect(evaluating).rejects.toMatchObject({ code: "aborted" });
      await until(() => server.log().some((line) => line.startsWith("aborted ")));
    });
    const arrived = Number(
      server
        .log()
        .find((line) => line.startsWith("aborted "))
        ?.slice(8),
    );
    expect(arrived - abortedAt).toBeLessThan(100 + 10 * slowest);
  });

  test("MCP-9 progress is emitted, and renews callMs", async () => {
    // Five seconds in all, and three more than a message of progress needs.
    await using server = await connectScripted("2026", { callMs: 4_000 });
    const session = createSession();
    const heard: string[] = [];
    session.on("tool.progress", ({ done, total, message }) => void heard.push(`${done}/${total} ${message}`));
    const { result } = await callTool(server, "wait", { progressMs: 1_000 }, { session });
    expect(result).toMatchObject({ success: true, value: "waited" });
    expect(heard).toEqual(["1/5 step 1", "2/5 step 2", "3/5 step 3", "4/5 step 4", "5/5 step 5"]);
  });

  test("MCP-9 a server that is silent for callMs fails the call, and receives the abort", async () => {
    const clock = fakeClock();
    await using server = await connectScripted("2026", { callMs: 1_000, clock });
    const waiting = callTool(server, "wait");
    await until(() => server.log().includes("waiting"));
    await clock.advance(1_000);
    const silent = await waiting;
    expect(silent.result.message).toBe("scripted was silent for 1000 ms in a call of wait.");
    expect(silent.cause).toMatchObject({ code: "mcp", reason: "timeout" });
    await until(() => server.log().some((line) => line.startsWith("aborted ")));
  });
});

test("MCP-10 kill -9 of a server fails the call under way, repeats none, and the next call opens it anew", async () => {
  await using server = await connectScripted();
  const waiting = callTool(server, "wait");
  await until(() => server.log().includes("waiting"));
  process.kill(Number(server.log()[0]?.replace("started ", "")), "SIGKILL");
  const { result, cause } = await waiting;
  expect(result.message).toBe("The connection to scripted was lost. What it had done is not known.");
  expect(cause).toMatchObject({ reason: "closed" });
  expect((await callTool(server, "echo", { text: "again" })).result).toMatchObject({ value: "again" });
  expect(server.log().filter((line) => line === "called wait")).toHaveLength(1);
  expect(server.log().filter((line) => line.startsWith("started"))).toHaveLength(2);
});

test("MCP-2 two servers at once: each tool calls its own, by its own prefix", async () => {
  await using one = await connectScripted();
  await using other = await connectScripted("2025");
  const tools = [
    ...mcpTools(one, { prefix: "one_", only: ["echo"] }),
    ...mcpTools(other, { prefix: "other_", only: ["echo"] }),
  ];
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Echo.", tools }] });
  const calls = ["one_echo", "other_echo"].map((name) => ({ name, arguments: { text: name } }));
  const { toolResults } = await modelAdapter(scriptedModel([{ toolCalls: calls }, { text: "." }])).evaluate(
    prompt.bind(),
  );
  expect(toolResults.map(({ result }) => result.success && result.value)).toEqual(["one_echo", "other_echo"]);
  expect([one.log(), other.log()].map((log) => log.filter((line) => line === "called echo").length)).toEqual([1, 1]);
});

test("MCP-15 importing the package loads no SDK", async () => {
  const { execFileSync } = await import("node:child_process");
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { mcpTools } = await import("@proviso/mcp");
    console.log(typeof mcpTools, loaded.filter((url) => url.includes("@modelcontextprotocol")).length);`;
  const args = ["--conditions=@proviso/source", "--input-type=module", "-e", program];
  const options = { cwd: import.meta.dirname, encoding: "utf8" } as const;
  expect(execFileSync(process.execPath, args, options).trim()).toBe("function 0");
});
