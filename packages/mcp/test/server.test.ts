import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  defineEvent,
  definePolicy,
  definePrompt,
  DefinitionError,
  defineSlice,
  defineTool,
  deny,
  allow,
  Filesystem,
  provide,
  toolError,
} from "@proviso/core";
import { connectMcp } from "@proviso/mcp";
import { serveMcp, type McpService, type ServeMcpOptions } from "@proviso/mcp/server";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { callTool, until } from "./support.ts";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (list, { text }) => void list.push(text)),
});
const note = defineTool({
  name: "note",
  description: "Keeps a note.",
  input: z.object({ text: z.string() }),
  output: z.object({ count: z.number() }),
  async execute({ text }, { session, resources }) {
    session.dispatch(noted({ text }));
    await resources.find(Filesystem)?.write(`${text}.md`, text);
    if (text.startsWith("bad")) return toolError(`Not ${text}.`);
    return { count: session.get(notes).length };
  },
});
const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  readOnly: true,
  idempotent: true,
  execute: () => "seen",
});

/** The official client, connected over HTTP. */
async function clientOf(
  service: McpService,
  mode: "auto" | "legacy",
  more: { readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Client> {
  const { url, headers } = await service.listen();
  const client = new Client({ name: "official", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { ...headers, ...more.headers } },
    }) as never,
  );
  onTestFinished(async () => {
    await client.close();
    await service.close();
  });
  return client;
}
const served = (options: Partial<ServeMcpOptions> = {}): McpService =>
  serveMcp({ name: "notes", tools: [note, look], ...options });

describe.each(["auto", "legacy"] as const)("SRV-1 SRV-2 the official client, negotiating %s", (mode) => {
  test(`SRV-2 ${mode}: it lists tools with their hints and schemas`, async () => {
    const client = await clientOf(served(), mode);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      {
        name: "note",
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        outputSchema: { type: "object", properties: { count: { type: "number" } } },
        annotations: { readOnlyHint: false, idempotentHint: false },
      },
      { name: "look", annotations: { readOnlyHint: true, idempotentHint: true } },
    ]);
    expect(client.getServerVersion()).toMatchObject({ name: "notes" });
  });

  test(`SRV-1 SRV-2 ${mode}: a call is a transaction: a failure is isError, and the state equals what was before`, async () => {
    const session = createSession({ slices: [notes] });
    const files = memoryFilesystem();
    const client = await clientOf(served({ session, resources: [provide(Filesystem, files)] }), mode);
    const call = (text: string) => client.callTool({ name: "note", arguments: { text } });
    expect(await call("one")).toMatchObject({
      structuredContent: { count: 1 },
      content: [{ type: "text", text: '{"count":1}' }],
    });
    expect(await call("bad two")).toMatchObject({ isError: true, content: [{ type: "text", text: "Not bad two." }] });
    expect(await client.callTool({ name: "note", arguments: { txt: "x" } })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: "gone" })).toMatchObject({ isError: true });
    expect(await call("three")).toMatchObject({ structuredContent: { count: 2 } });
    expect(session.get(notes)).toEqual(["one", "three"]);
    expect((await files.glob("**")).toSorted()).toEqual(["one.md", "three.md"]);
  });
});

test.each(["\n", "  ", ""])("SRV-1 a call that returns %j is done, and its client reads that", async (text) => {
  const session = createSession({ slices: [notes] });
  const print = defineTool({
    name: "print",
    description: "Prints.",
    input: z.object({}),
    execute(_, context) {
      context.session.dispatch(noted({ text: "printed" }));
      return text;
    },
  });
  const client = await clientOf(served({ session, tools: [print] }), "auto");
  const result = await client.callTool({ name: "print" });
  expect(result.isError ?? false).toBe(false);
  expect(result.content).toEqual([{ type: "text", text: text === "" ? "(empty)" : text }]);
  expect(session.get(notes)).toEqual(["printed"]);
});

test("SRV-1 SEC-1 a registered secret is in no part of a result", async () => {
  const key = "sk-served-secret-0123";
  const show = defineTool({
    name: "show",
    description: "Shows.",
    input: z.object({}),
    output: z.object({ key: z.string() }),
    execute: () => ({ key }),
  });
  const client = await clientOf(served({ tools: [show], secrets: [key] }), "auto");
  expect(await client.callTool({ name: "show" })).toMatchObject({
    structuredContent: { key: "[secret]" },
    content: [{ type: "text", text: '{"key":"[secret]"}' }],
  });
});

test("SRV-1 20 calls at once, a third of them failing, leave exactly the others' changes", async () => {
  const session = createSession({ slices: [notes] });
  const files = memoryFilesystem();
  const client = await clientOf(served({ session, resources: [provide(Filesystem, files)] }), "auto");
  const texts = Array.from({ length: 20 }, (_, n) => (n % 3 === 0 ? `bad${n}` : `note${n}`));
  const answers = await Promise.all(texts.map((text) => client.callTool({ name: "note", arguments: { text } })));
  expect(answers.map(({ isError }) => isError === true)).toEqual(texts.map((text) => text.startsWith("bad")));
  const kept = texts.filter((text) => !text.startsWith("bad"));
  expect(session.get(notes).toSorted()).toEqual(kept.toSorted());
  expect((await files.glob("**")).toSorted()).toEqual(kept.map((text) => `${text}.md`).toSorted());
});

describe.each(["auto", "legacy"] as const)(
  "SRV-1 TOOL-1 SEC-2 arguments with a key that no JSON may have, %s",
  (mode) => {
    test.each(["__proto__", "constructor"])(
      `SRV-1 TOOL-1 ${mode}: %s is refused, and the tool does not run`,
      async (key) => {
        const session = createSession({ slices: [notes] });
        const client = await clientOf(served({ session }), mode);
        const given = JSON.parse(`{"text":"x","${key}":{"admin":true}}`) as Record<string, unknown>;
        const { isError, content } = await client.callTool({ name: "note", arguments: given });
        expect([isError, content]).toMatchObject([
          true,
          [{ text: expect.stringContaining(`"${key}" is not allowed`) }],
        ]);
        expect(session.get(notes)).toEqual([]);
      },
    );

    test(`SRV-2 ${mode}: so it is of a prompt`, async () => {
      const ask = definePrompt({ key: "ask", params: z.object({ what: z.string() }), text: "{{what}}" });
      const client = await clientOf(serveMcp({ name: "s", prompts: [ask] }), mode);
      const given = JSON.parse('{"what":"x","__proto__":"y"}') as Record<string, string>;
      await expect(client.getPrompt({ name: "app_ask", arguments: given })).rejects.toThrow(
        'The key "__proto__" is not allowed.',
      );
      await expect(client.getPrompt({ name: "app_ask", arguments: { what: 1 } as never })).rejects.toThrow(
        "The argument what must be a text.",
      );
    });
  },
);

test("SRV-1 policies are asked, and the events are those of any call", async () => {
  const session = createSession({ slices: [notes] });
  const heard: string[] = [];
  session.on("tool.invoked", ({ name, result }) => void heard.push(`${name} ${result.success}`));
  const policy = definePolicy({
    name: "no-secrets",
    check: ({ input }) => ((input as { readonly text?: string }).text === "secret" ? deny("Not that.") : allow()),
  });
  const client = await clientOf(served({ session, policies: [policy] }), "auto");
  const denied = await client.callTool({ name: "note", arguments: { text: "secret" } });
  expect(denied).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("Not that.") }] });
  await client.callTool({ name: "note", arguments: { text: "x" } });
  expect([heard, session.get(notes)]).toEqual([["note false", "note true"], ["x"]]);
});

describe("SRV-2 evaluations and prompts", () => {
  const params = z.object({ diff: z.string(), strict: z.boolean().default(false), most: z.number().optional() });
  const review = definePrompt({
    key: "review",
    params,
    output: z.object({ findings: z.array(z.string()) }),
    text: "Review: {{diff}} ({{strict}})",
  });

  test("SRV-2 an evaluation is a tool with structured content; one that fails has its errorReason and no stack", async () => {
    const model = scriptedModel([{ text: '{"findings":["a"]}' }, { text: "no json" }]);
    const service = serveMcp({ name: "reviewer", evaluations: [review], adapter: modelAdapter(model) });
    const client = await clientOf(service, "auto");
    expect((await client.listTools()).tools[0]).toMatchObject({ name: "app_review", outputSchema: { type: "object" } });
    const good = await client.callTool({ name: "app_review", arguments: { diff: "+1" } });
    expect(good).toMatchObject({ structuredContent: { findings: ["a"] } });
    const bad = await client.callTool({ name: "app_review", arguments: { diff: "+1" } });
    expect(bad).toMatchObject({ isError: true, _meta: { errorReason: "schema_error" } });
    expect(JSON.stringify(bad)).not.toMatch(/\.ts:\d+|at .*\(/);
  });

  test.each(["auto", "legacy"] as const)(
    "SRV-2 %s: a prompt is rendered and not evaluated, its arguments by their types",
    async (mode) => {
      const client = await clientOf(serveMcp({ name: "reviewer", prompts: [review] }), mode);
      expect((await client.listPrompts()).prompts).toMatchObject([
        {
          name: "app_review",
          arguments: [
            { name: "diff", required: true },
            { name: "strict", required: false },
            { name: "most", required: false },
          ],
        },
      ]);
      const { messages } = await client.getPrompt({
        name: "app_review",
        arguments: { diff: "+1", strict: "true", most: "3" },
      });
      expect(messages).toMatchObject([
        { role: "user", content: { type: "text", text: expect.stringContaining("Review: +1 (true)") } },
      ]);
      await expect(client.getPrompt({ name: "app_review", arguments: {} })).rejects.toThrow("diff");
      await expect(client.getPrompt({ name: "other" })).rejects.toThrow("There is no prompt");
    },
  );
});

/** A tool that goes on until it is aborted, and reports its progress. */
function waiting() {
  const state = { begun: false, abortedAt: 0 };
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    input: z.object({ steps: z.number().optional() }),
    async execute({ steps }, { signal, progress }) {
      state.begun = true;
      for (let step = 1; step <= (steps ?? 0); step++) progress({ done: step, total: steps, message: `step ${step}` });
      if (steps !== undefined) return "done";
      return new Promise<string>((resolve) => {
        signal.addEventListener("abort", () => {
          state.abortedAt = performance.now();
          resolve("aborted");
        });
      });
    },
  });
  return { wait, state };
}

test.each(["auto", "legacy"] as const)("SRV-2 %s: progress is notified", async (mode) => {
  const client = await clientOf(serveMcp({ name: "s", tools: [waiting().wait] }), mode);
  const heard: unknown[] = [];
  const options = {
    onprogress: ({ progress, total, message }: object & Record<string, unknown>) =>
      heard.push([progress, total, message]),
  };
  await client.callTool({ name: "wait", arguments: { steps: 3 } }, options as never);
  expect(heard).toEqual([
    [1, 3, "step 1"],
    [2, 3, "step 2"],
    [3, 3, "step 3"],
  ]);
});

describe("SRV-3 a client that cancels or leaves aborts its call", () => {
  test("SRV-3 it cancels", async () => {
    const { wait, state } = waiting();
    const session = createSession();
    const client = await clientOf(serveMcp({ name: "s", tools: [wait], session }), "auto");
    const controller = new AbortController();
    const calling = client.callTool({ name: "wait", arguments: {} }, { signal: controller.signal });
    calling.catch(() => {});
    await until(() => state.begun);
    const from = performance.now();
    controller.abort();
    await expect(calling).rejects.toThrow();
    await until(() => state.abortedAt > 0);
    expect(state.abortedAt - from).toBeLessThan(10_000);
  });

  test.each(["auto", "legacy"] as const)("SRV-3 %s: its connection ends", async (mode) => {
    const { wait, state } = waiting();
    const service = serveMcp({ name: "s", tools: [wait] });
    const { url, headers } = await service.listen();
    const { execFile } = await import("node:child_process");
    const program = `
      import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
      const client = new Client({ name: "leaving", version: "1" }, { versionNegotiation: { mode: ${JSON.stringify(mode)} } });
      const options = { requestInit: { headers: ${JSON.stringify(headers)} } };
      await client.connect(new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)}), options));
      await client.callTool({ name: "wait", arguments: {} });`;
    const child = execFile(
      process.execPath,
      ["--input-type=module", "-e", program],
      { cwd: import.meta.dirname },
      () => {},
    );
    await until(() => state.begun);
    child.kill("SIGKILL");
    await until(() => state.abortedAt > 0);
    await service.close();
  });

  test("SRV-3 a call that takes longer than callMs ends with an error", async () => {
    const { wait } = waiting();
    const client = await clientOf(serveMcp({ name: "s", tools: [wait], callMs: 200 }), "auto");
    expect(await client.callTool({ name: "wait", arguments: {} })).toMatchObject({
      isError: true,
      _meta: { errorReason: "deadline_error" },
    });
  });
});

describe("SRV-3 what is under way when a service is closed", () => {
  /** Changes the session and a file, and goes on until it is aborted. */
  function half() {
    const { promise: changed, resolve: change } = Promise.withResolvers<void>();
    const tool = defineTool({
      name: "half",
      description: "Begins.",
      input: z.object({}),
      async execute(_, { session, resources, signal }) {
        session.dispatch(noted({ text: "half" }));
        await resources.get(Filesystem).write("half.md", "half");
        change();
        return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("too late")));
      },
    });
    const session = createSession({ slices: [notes] });
    const files = memoryFilesystem();
    const service = serveMcp({ name: "s", tools: [tool], session, resources: [provide(Filesystem, files)] });
    const left = async () => [...session.get(notes), ...(await files.glob("**"))];
    return { service, changed, left };
  }

  test.each(["auto", "legacy"] as const)("SRV-3 %s: close ends when its calls have been undone", async (mode) => {
    const { service, changed, left } = half();
    const client = await clientOf(service, mode);
    const calling = client.callTool({ name: "half", arguments: {} }).catch((error: unknown) => error);
    await changed;
    expect(await left()).toEqual(["half", "half.md"]);
    await service.close();
    expect(await left()).toEqual([]);
    await calling;
  });

  test("SRV-3 so it is where a web server of one's own asks fetch, and no call begins afterwards", async () => {
    const { service, changed, left } = half();
    await using client = await connectMcp({
      url: "https://mine.example/mcp",
      fetch: (url, init) => service.fetch(new Request(url, init)),
    });
    const calling = callTool(client, "half");
    await changed;
    await Promise.all([service.close(), service.close()]);
    expect(await left()).toEqual([]);
    expect((await calling).result.success).toBe(false);
    expect((await callTool(client, "half")).result.success).toBe(false);
    expect(await left()).toEqual([]);
  });

  test.each(["leaves", "is left"] as const)("SRV-3 so does stdio(), where its client %s", async (how) => {
    const folder = await mkdtemp(join(tmpdir(), "proviso-mcp-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const program = join(import.meta.dirname, "processes/serve-half.ts");
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: ["--conditions=@proviso/source", program, folder],
      stderr: "pipe",
    });
    let said = "";
    transport.stderr?.on("data", (chunk: Buffer) => void (said += chunk.toString()));
    const client = new Client({ name: "official", version: "1" });
    await client.connect(transport as never);
    client.callTool({ name: "half", arguments: {} }).catch(() => {});
    await until(() => said.includes("begun"));
    if (how === "leaves") await client.close();
    else process.kill(transport.pid ?? 0, "SIGTERM");
    await until(() => said.includes("saved"));
    expect(said).toContain("saved [] []");
  });
});

describe("SRV-4 listen", () => {
  test("SRV-4 it binds to loopback, answers 404 without the secret, and checks Host and Origin", async () => {
    await using service = served();
    const { url, headers } = await service.listen({ secret: "the secret of this test" });
    expect(headers).toEqual({ Authorization: "Bearer the secret of this test" });
    expect(new URL(url).hostname).toBe("127.0.0.1");
    const { request } = await import("node:http");
    const status = (given: Readonly<Record<string, string>>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
        const types = { "content-type": "application/json", accept: "application/json, text/event-stream" };
        const asking = request(url, { method: "POST", headers: { ...types, ...given } }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        });
        asking.on("error", reject);
        asking.end(body);
      });
    expect(await status({})).toBe(404);
    expect(await status({ Authorization: "Bearer the secret of this tesT" })).toBe(404);
    expect(await status({ ...headers, Host: "rebound.example" })).toBe(403);
    expect(await status({ ...headers, Origin: "https://page.example" })).toBe(403);
    expect(await status({ ...headers, Origin: "null" })).toBe(403);
    expect(await status({ ...headers, Origin: new URL(url).origin })).toBe(200);
    expect(await status({ ...headers })).toBe(200);
  });

  test("SRV-4 each listener has a secret of its own, and nothing listens after close", async () => {
    const service = served();
    const [one, other] = await Promise.all([service.listen(), service.listen()]);
    expect(one.headers["Authorization"]).not.toBe(other.headers["Authorization"]);
    expect(one.headers["Authorization"]?.length).toBeGreaterThan(40);
    await service.close();
    await expect(fetch(one.url)).rejects.toThrow();
  });

  test.each([
    [{ host: "0.0.0.0" }, "listen has no option host. It takes port, secret."],
    ["8080", "listen takes its options as an object"],
    [[], "listen takes its options as an object"],
    [{ port: "abc" }, 'The option port of listen must be a whole number from 0 to 65535, not "abc".'],
    [{ port: "" }, "The option port of listen"],
    [{ port: 65_536 }, "The option port of listen"],
    [{ secret: "" }, "The option secret of listen"],
    [{ secret: "behind it " }, "The option secret of listen"],
    [{ secret: "geheimniß" }, "The option secret of listen"],
  ])("SRV-4 ERR-4 %j is refused", async (given, message) => {
    await using service = served();
    const refused = service.listen(given as never);
    await expect(refused).rejects.toThrow(DefinitionError);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow("behind it");
  });

  test("SRV-4 a port that is taken is refused", async () => {
    await using service = served();
    const { url } = await service.listen();
    const again = service.listen({ port: Number(new URL(url).port) });
    await expect(again).rejects.toThrow(DefinitionError);
    await expect(again).rejects.toThrow("EADDRINUSE");
  });

  test("SRV-4 a closed service neither listens nor serves standard input, and one that begins to listen is closed", async () => {
    const service = served();
    const listening = service.listen();
    await service.close();
    await expect(fetch((await listening).url)).rejects.toThrow();
    for (const late of [service.listen(), service.stdio()]) {
      await expect(late).rejects.toThrow(DefinitionError);
      await expect(late).rejects.toThrow("is closed");
    }
  });
});

test("SRV-1 a web server's own fetch, and our client over it", async () => {
  await using service = served();
  await using client = await connectMcp({
    url: "https://mine.example/mcp",
    fetch: (url, init) => service.fetch(new Request(url, init)),
  });
  expect(client.serverName).toBe("notes");
  expect((await callTool(client, "look")).result).toMatchObject({ success: true, value: "seen" });
});

test("SRV-1 over standard input and output, until the other side closes them", async () => {
  const program = join(import.meta.dirname, "processes/serve-notes.ts");
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ["--conditions=@proviso/source", program],
    stderr: "pipe",
  });
  const client = new Client({ name: "official", version: "1" });
  await client.connect(transport as never);
  expect(await client.callTool({ name: "count", arguments: {} })).toMatchObject({ content: [{ text: "1" }] });
  expect(await client.callTool({ name: "count", arguments: {} })).toMatchObject({ content: [{ text: "2" }] });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => void (said += chunk.toString()));
  await client.close();
  await until(() => said.includes("closed"));
});

describe("SRV-2 what cannot be served is refused when it is given", () => {
  const list = definePrompt({ key: "list", params: z.object({ all: z.array(z.string()) }), text: "x" });
  const plain = definePrompt({ key: "plain", text: "x" });
  const adapter = modelAdapter(scriptedModel([]));
  test.each<readonly [Partial<ServeMcpOptions>, string]>([
    [{ tools: [] }, "nothing to serve"],
    [{ evaluations: [plain] }, "give adapter beside evaluations"],
    [{ tools: [look, look] }, "Two tools would be served by the name look"],
    [{ evaluations: [plain, plain], adapter }, "Two tools would be served by the name app_plain"],
    [{ prompts: [list] }, "its param all must be a text, a number or a boolean"],
    [{ callMs: 0 }, "The option callMs"],
    [{ name: "" }, "needs a name"],
    [{ tool: [look] } as never, "has no option tool"],
  ])("%j", (options, message) => {
    const given = {
      name: "s",
      tools: [look],
      ...(options.prompts || options.evaluations ? { tools: [] } : {}),
      ...options,
    };
    expect(() => serveMcp(given)).toThrow(DefinitionError);
    expect(() => serveMcp(given)).toThrow(message);
  });
});
