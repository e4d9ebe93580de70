import { allow, definePolicy, definePrompt, defineTool, deny } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import { request } from "node:http";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { z } from "zod";
import { failureOf } from "../support/command.ts";
import { acting, calling, hello, note, notes, nothingIsLeft, withTools } from "./support.ts";

nothingIsLeft();

test("CMD-24 TX-1 TX-2 its calls run in transactions: what works stays, what fails leaves no trace", async () => {
  const session = createSession({ slices: [notes] });
  const events = recordEvents(session);
  const calls = ["good", "bad", "better"].map((text) => ({ name: "note", arguments: { text } }));
  const response = await calling([...calls, { name: "note", arguments: { txt: 1 } }]).evaluate(withTools, { session });
  expect(session.get(notes)).toEqual(["good", "better"]);
  expect(response.text).toContain("worked: noted good");
  expect(response.text).toContain("failed: Not this one.");
  expect(response.text).toContain("failed: ");
  expect(response.toolResults.map(({ result }) => result.success)).toEqual([true, false, true, false]);
  expect(events.filter(({ type }) => type === "tool.invoked")).toHaveLength(4);
  const turns = response.messages.map(({ role }) => role).join(" ");
  expect(turns).toBe(`user ${"assistant tool ".repeat(4)}assistant`);
});

test("CMD-24 TOOL-3 a tool that there is not is a failed result", async () => {
  const { text } = await calling([{ name: "nope", arguments: {} }]).evaluate(withTools);
  expect(text).toContain("failed: ");
  expect(text).toContain("note");
});

test("CMD-24 TOOL-1 SEC-2 arguments with a key that no JSON may have are refused, and the tool does not run", async () => {
  const session = createSession({ slices: [notes] });
  const given = ["__proto__", "constructor"].map((key) => JSON.parse(`{"text":"x","${key}":{"admin":true}}`) as object);
  const calls = given.map((input) => ({ name: "note", arguments: input }));
  const { text } = await calling(calls).evaluate(withTools, { session });
  expect(text).toContain('the key "__proto__" is not allowed');
  expect(text).toContain('the key "constructor" is not allowed');
  expect(session.get(notes)).toEqual([]);
});

test("CMD-24 TOOL-10 policies are asked, and a denial reaches the agent", async () => {
  const session = createSession({ slices: [notes] });
  const policy = definePolicy({
    name: "no-secrets",
    tools: [note],
    check: ({ input }) => (input.text === "secret" ? deny("Not that.") : allow()),
  });
  const adapter = calling([{ name: "note", arguments: { text: "secret" } }]);
  const { text } = await adapter.evaluate(withTools, { session, policies: [policy] });
  expect(text).toContain("failed: Not that.");
  expect(session.get(notes)).toEqual([]);
});

test("CMD-24 TOOL-6 calls at the same time run one after another", async () => {
  const session = createSession({ slices: [notes] });
  const texts = ["a", "b", "c", "d"];
  const calls = JSON.stringify(texts.map((text) => ({ name: "note", arguments: { text } })));
  const { toolResults } = await acting("volley", calls).evaluate(withTools, { session });
  expect([...session.get(notes)].toSorted()).toEqual(texts);
  expect(toolResults).toHaveLength(4);
});

test("CMD-24 the agent lists the tools with what they are for and what they take", async () => {
  const tools = JSON.parse((await acting("tools").evaluate(withTools)).output) as readonly Record<string, unknown>[];
  expect(tools).toMatchObject([
    { name: "note", description: "Keeps a note.", inputSchema: { type: "object", required: ["text"] } },
  ]);
  expect(tools[0]?.["annotations"]).toMatchObject({
    readOnlyHint: false,
    destructiveHint: false,
    openWorldHint: false,
  });
  const { output } = await acting("tools", "", { permissions: () => true }).evaluate(withTools);
  expect(output).not.toContain("destructiveHint");
});

test("CMD-24 an agent that never looks at the tools is logged as such", async () => {
  const warned: unknown[] = [];
  const quiet = () => {};
  const logger = { debug: quiet, info: quiet, warn: (...told: unknown[]) => void warned.push(told[1]), error: quiet };
  await acting("echo", "", { logger }).evaluate(withTools);
  expect(warned).toEqual(["acp.tools.unseen"]);
  await acting("tools", "", { logger }).evaluate(withTools);
  await acting("echo", "", { logger }).evaluate(hello);
  expect(warned).toHaveLength(1);
});

test("CMD-24 VIS-3 a section that a call opens is in its result, and its tools are there from then on", async () => {
  const sections = [
    { key: "guide", text: "Work." },
    { key: "manual", text: "Keep notes.", summary: "How to.", visibility: "summary", tools: [note], slices: [notes] },
  ] as const;
  const session = createSession({ slices: [notes] });
  const prompt = definePrompt({ ns: "acp", key: "runbook", sections }).bind();
  const { output: text } = await calling([
    { name: "open_sections", arguments: { keys: ["manual"], reason: "needed" } },
    { name: "note", arguments: { text: "one" } },
  ]).evaluate(prompt, { session });
  const [opened, noted] = text.split("worked: noted");
  expect(opened).toContain("the tools are listed anew:\n\nWork.\n\nKeep notes.");
  expect(noted).toBe(" one\n");
  expect(session.get(notes)).toEqual(["one"]);
});

test("CMD-24 without tools no server is named, and an agent that takes none over HTTP serves", async () => {
  expect((await acting("address").evaluate(hello)).text).toBe("[]");
  expect((await acting("initialize-plain").evaluate(hello)).text).toBe("Say hello.");
  const error = await failureOf(acting("initialize-plain").evaluate(withTools));
  expect(error).toMatchObject({ code: "provider", reason: "bad_request" });
  expect(error.message).toContain("takes no MCP servers over HTTP");
});

test("CMD-25 the tools listen on the loopback interface alone, to who shows the secret, for as long as the turn", async () => {
  const seen: unknown[] = [];
  let address = new URL("http://nowhere");
  const spy = defineTool({
    name: "spy",
    description: "Knocks at its own door.",
    input: z.strictObject({ url: z.string(), secret: z.string() }),
    async execute({ url, secret }) {
      address = new URL(url);
      const port = Number(address.port);
      for (const shown of [undefined, "", "Bearer wrong", `${secret}x`, secret]) seen.push(await knock(port, shown));
      expect(secret).toMatch(/^Bearer [\w-]{43}$/);
    },
  });
  const sections = [{ key: "task", text: "Knock.", tools: [spy] }] as const;
  const prompt = definePrompt({ ns: "acp", key: "spy", sections }).bind();
  const { toolResults } = await acting("tell-address").evaluate(prompt);
  expect(toolResults[0]?.result).toMatchObject({ success: true });
  // The last one was let in, and says something that is no request.
  expect(seen).toEqual([404, 404, 404, 404, expect.toSatisfy((status) => status !== 404)]);
  expect([address.hostname, address.pathname]).toEqual(["127.0.0.1", "/mcp"]);
  expect(await refused(Number(address.port))).toBe(true);
});

function knock(port: number, authorization?: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = authorization === undefined ? {} : { authorization };
    request({ host: "127.0.0.1", port, path: "/mcp", method: "POST", headers }, ({ statusCode }) => resolve(statusCode))
      .on("error", reject)
      .end("{}");
  });
}

function refused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("connect", () => (socket.destroy(), resolve(false)));
    socket.on("error", () => resolve(true));
  });
}
