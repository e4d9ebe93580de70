/**
 * An agent that plays a script: `node player.mjs <folder>`. It takes the first step in `<folder>/script.json` that no
 * other run has taken, notes what it knows then, calls our tools where the step has calls, and takes the next one, until
 * a step is its answer.
 */
import { agent, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";
import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

// Also when nobody ends it.
setTimeout(() => process.exit(124), 300_000).unref();

const [folder] = process.argv.slice(2);
const script = JSON.parse(readFileSync(join(folder, "script.json"), "utf8"));

/** The next number; of several runs at the same time each gets its own. */
function taken() {
  for (let number = 0; ; number++) {
    try {
      closeSync(openSync(join(folder, `step-${number}`), "wx"));
      return number;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
}

function note(number, known) {
  const path = join(folder, `request-${number}.json`);
  writeFileSync(`${path}.new`, JSON.stringify({ id: process.pid, ...known }));
  renameSync(`${path}.new`, path);
}

async function toolsAt([server]) {
  if (server === undefined) return undefined;
  // Most agents need none, and loading it takes as long as everything else.
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const mcp = new Client({ name: "player", version: "1" });
  const requestInit = { headers: Object.fromEntries(server.headers.map(({ name, value }) => [name, value])) };
  await mcp.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }));
  return mcp;
}

/** A file as the suite reads it: its bytes by their hash. */
function fileOf({ mimeType, data, resource, uri }) {
  if (uri !== undefined) return { mediaType: mimeType, url: uri };
  const bytes = Buffer.from(data ?? resource.blob, "base64");
  return { mediaType: mimeType ?? resource.mimeType, hash: createHash("sha256").update(bytes).digest("hex") };
}

const forever = () => new Promise(() => setInterval(() => {}, 1_000));
const reasons = { length: "max_tokens" };

function fail(fault, line) {
  if (fault === "hang") return forever();
  if (fault === "wrong_shape") return { object: "list" };
  if (fault === "html") process.stdout.write("<!doctype html><p>Bad gateway</p>\n");
  else if (fault === "malformed_json") process.stdout.write(`${line.slice(0, -5)}\n`);
  else process.exit(1);
  return forever();
}

/** Of the whole turn, as agents tell it; nothing where a step tells none. */
function usageOf(usages) {
  if (usages.some((usage) => !usage)) return {};
  const sum = (name) => usages.reduce((total, usage) => total + (usage[name] ?? 0), 0);
  const usage = {
    inputTokens: sum("inputTokens") - sum("cachedInputTokens"),
    outputTokens: sum("outputTokens"),
    totalTokens: sum("totalTokens"),
    cachedReadTokens: sum("cachedInputTokens"),
    thoughtTokens: sum("reasoningTokens"),
  };
  return { usage };
}

let mcpServers = [];

agent({ name: "player" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: {
      mcpCapabilities: { http: true },
      promptCapabilities: { image: true, audio: true, embeddedContext: true },
    },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    ({ mcpServers } = params);
    return { sessionId: "session" };
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    const tell = (update) => client.notify(methods.client.session.update, { sessionId, update });
    const say = async ({ text = "", eventMs, fault }) => {
      const size = fault === "stream_split" ? 3 : 20;
      for (let from = 0; from < text.length; from += size) {
        await tell({
          sessionUpdate: "agent_message_chunk",
          content: { type: "text", text: text.slice(from, from + size) },
        });
        if (eventMs !== undefined) await sleep(eventMs);
      }
    };
    const mcp = await toolsAt(mcpServers);
    const turns = [];
    const usages = [];
    for (;;) {
      const number = taken();
      const step = script[number] ?? { status: 500, body: { error: { message: "The script is used up." } } };
      const offered = mcp === undefined ? [] : (await mcp.listTools()).tools;
      note(number, { prompt: prompt[0].text, files: prompt.slice(1).map(fileOf), offered, turns });
      const { fault, toolCalls = [], finishReason, refusal, usage } = step;
      if (step.status !== undefined) {
        throw new RequestError(step.status, step.body?.error?.message ?? `Refused with ${step.status}.`, step.body);
      }
      const said = step.output === undefined ? step : { ...step, text: JSON.stringify(step.output) };
      if (fault === "unknown_fields") await tell({ sessionUpdate: "brand_new", kind: "thing" });
      if (fault !== undefined && !["unknown_fields", "stream_split", "missing_call_id"].includes(fault)) {
        return fail(fault, JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: said }));
      }
      usages.push(usage);
      await say(refusal === undefined ? said : { text: refusal });
      if (toolCalls.length === 0) {
        const stopReason = refusal === undefined ? (reasons[finishReason] ?? "end_turn") : "refusal";
        return { stopReason, ...usageOf(usages) };
      }
      const results = [];
      for (const { name, arguments: given = {} } of toolCalls) {
        const { content, isError } = await mcp.callTool({ name, arguments: given });
        results.push({ name, isError: isError === true, text: content[0].text, files: content.slice(1).map(fileOf) });
      }
      turns.push({ text: said.text ?? "", toolCalls, results });
    }
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
