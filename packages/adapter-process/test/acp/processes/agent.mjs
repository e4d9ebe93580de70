/** An agent on the protocol's own SDK that does what its arguments say: `node agent.mjs <what> [more]`. */
import { agent, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

// Also when nobody ends it.
setTimeout(() => process.exit(124), 300_000).unref();

const [what, more = ""] = process.argv.slice(2);
const forever = () => new Promise(() => setInterval(() => {}, 1_000));
const note = (line) => appendFileSync(more, `${line}\n`);

/** What a deed has at hand: the prompt's text, `say`, `tell` an update, `call` one of our tools, `ask` leave. */
const deeds = {
  echo: async ({ text, say }) => say(text),
  "long-reason": async () => ({ stopReason: "x".repeat(1_000_000) }),
  chunks: async ({ say }) => {
    for (const part of more.split("|")) await say(part);
  },
  usage: async ({ say, tell }) => {
    await say("Counted.");
    await tell({ sessionUpdate: "usage_update", used: 100, size: 1_000, cost: { amount: 0.25, currency: "USD" } });
    return {
      stopReason: "end_turn",
      usage: { inputTokens: 10, outputTokens: 7, totalTokens: 20, cachedReadTokens: 3, thoughtTokens: 2 },
    };
  },
  "usage-elsewhere": async ({ say }) => {
    await say("Counted.");
    return { stopReason: "end_turn", _meta: { quota: { token_count: { input_tokens: 22, output_tokens: 6 } } } };
  },
  /** A list of calls, one after another; says each result. */
  calls: async ({ say, call }) => {
    for (const { name, arguments: given } of JSON.parse(more)) {
      const { content, isError } = await call(name, given);
      await say(`${isError ? "failed" : "worked"}: ${content[0].text}\n`);
    }
  },
  /** All of them at once. */
  volley: async ({ say, call }) => {
    await Promise.all(JSON.parse(more).map(({ name, arguments: given }) => call(name, given)));
    await say("Fired.");
  },
  think: async ({ say, tell }) => {
    const think = (text) => tell({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });
    await think("Hm. ");
    await think("Well.");
    await tell({ sessionUpdate: "tool_call", toolCallId: "1", title: "Look" });
    await think("So it is.");
    await say("Yes.");
  },
  foreign: async ({ say, sayElsewhere }) => {
    await sayElsewhere("Theirs.");
    await say("Mine.");
  },
  tools: async ({ say, list }) => say(JSON.stringify(await list())),
  narrate: async ({ say, tell }) => {
    await say("I look.");
    await tell({ sessionUpdate: "tool_call", toolCallId: "1", title: "Look" });
    await tell({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Hm." } });
    await tell({ sessionUpdate: "of_the_future", anything: 1 });
    await tell({ sessionUpdate: "agent_message_chunk", content: { type: "image", data: "", mimeType: "image/png" } });
    await say("I saw.");
  },
  variables: async ({ say }) => say(Object.keys(process.env).sort().join(",")),
  folder: async ({ say, session }) => say(`${process.cwd()} ${session.cwd}`),
  capabilities: async ({ say, client }) => say(JSON.stringify(client)),
  stop: async ({ say }) => {
    await say("Half.");
    return { stopReason: more };
  },
  answer: () => JSON.parse(more),
  permission: async ({ say, ask }) => {
    const { toolCall, known, options } = JSON.parse(more);
    const { outcome } = await ask(toolCall, known, options);
    await say(outcome.optionId ?? outcome.outcome);
  },
  refuse: () => {
    const [code, message] = more.split("|");
    throw new RequestError(Number(code), message);
  },
  exit: () => {
    process.stderr.write("Something is missing.\n", () => process.exit(Number(more)));
    return forever();
  },
  selfkill: () => (process.kill(process.pid, "SIGKILL"), forever()),
  mute: () => (process.stdout.end(), forever()),
  garbage: () => (process.stdout.write(`${more}\n`), forever()),
  flood: () => {
    const chunk = Buffer.alloc(65_536, "x");
    const go = () => process.stdout.write(chunk, go);
    go();
    return forever();
  },
  chatter: async ({ say }) => {
    for (;;) await say("x".repeat(65_536));
  },
  complain: () => {
    process.stderr.write(`${"e".repeat(300_000)}end`, () => process.exit(1));
    return forever();
  },
  hang: forever,
  /** Gives up when it is told to, and notes that. */
  cancellable: async ({ cancelled }) => {
    note("begun");
    await cancelled;
    note("cancelled");
    return { stopReason: "cancelled" };
  },
  /** Ignores cancel and SIGTERM, with a child that does too; notes both ids. */
  stubborn: () => {
    process.on("SIGTERM", () => {});
    const sleeper = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)';
    const child = spawn(process.execPath, ["-e", sleeper], { stdio: "inherit" });
    note(`${process.pid}\n${child.pid}`);
    return forever();
  },
  /** Asks and asks, in so many bytes each, and waits for no answer. */
  nag: async ({ ask }) => {
    const rawInput = { text: "x".repeat(Number(more)) };
    for (let asked = 0; ; asked++) {
      void ask({ toolCallId: `${asked}`, title: "x", rawInput }, undefined, []).catch(() => {});
      await new Promise((resolve) => void setImmediate(resolve));
    }
  },
  /** Asks 3,000 times, one after another, in so many bytes each. */
  inquire: async ({ ask, say }) => {
    const rawInput = { text: "x".repeat(Number(more)) };
    for (let asked = 0; asked < 3_000; asked++)
      await ask({ toolCallId: `${asked}`, title: "x", rawInput }, undefined, []);
    await say("I asked.");
  },
  /** Asks and asks, and reads no answer. */
  deaf: async ({ ask }) => {
    process.stdin.pause();
    for (let asked = 0; asked < 900; asked++) void ask({ toolCallId: `${asked}`, title: "x" }, undefined, []);
    setTimeout(() => note(process.pid), 100);
    return forever();
  },
  /** Tells the tool `spy` where the tools are. */
  "tell-address": async ({ call, session, say }) => {
    const [{ url, headers }] = session.mcpServers;
    await call("spy", { url, secret: headers[0].value });
    await say("Told.");
  },
  address: async ({ say, session }) => say(JSON.stringify(session.mcpServers)),
  /** Answers and goes, though what it started stays. */
  leave: async ({ say }) => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
    note(child.pid);
    await say("Gone.");
    setTimeout(() => process.exit(0), 20);
  },
};

async function withTools(session, use) {
  const [{ url, headers }] = session.mcpServers;
  // Most agents need none, and loading it takes as long as everything else.
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const mcp = new Client({ name: "agent", version: "1" });
  const requestInit = { headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])) };
  await mcp.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  try {
    return await use(mcp);
  } finally {
    await mcp.close();
  }
}

let told = {};
let session = {};
let cancel = () => {};
const cancelled = new Promise((resolve) => (cancel = resolve));

const early = new Map([
  ["initialize-version", () => ({ protocolVersion: 7, agentCapabilities: {} })],
  ["initialize-plain", () => ({ protocolVersion: 1, agentCapabilities: {} })],
]);

if (what === "silent") await forever();
if (what === "banner") process.stdout.write("Welcome!\n");
if (what === "early-exit") process.stderr.write("No licence.\n", () => process.exit(4));

agent({ name: "test-agent" })
  .onRequest(methods.agent.initialize, ({ params }) => {
    told = params;
    const more = early.get(what)?.();
    return more ?? { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } };
  })
  .onRequest(methods.agent.session.new, ({ params }) => {
    if (what === "long-refusal") throw new RequestError(-32_603, "x".repeat(1_000_000));
    if (what === "auth") throw RequestError.authRequired();
    if (what === "auth-http") throw new RequestError(401, "Gemini API key is missing or not configured.");
    if (what === "no-session") return {};
    session = params;
    return { sessionId: "session-1" };
  })
  .onNotification(methods.agent.session.cancel, () => cancel())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const tell = (update) => client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    const hands = {
      text: params.prompt.map(({ text }) => text).join(""),
      client: told.clientCapabilities,
      session,
      cancelled,
      tell,
      sayElsewhere: (text) =>
        client.notify(methods.client.session.update, {
          sessionId: "another",
          update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
        }),
      say: (text) => tell({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }),
      call: (name, given) => withTools(session, (mcp) => mcp.callTool({ name, arguments: given })),
      list: () => withTools(session, async (mcp) => (await mcp.listTools()).tools),
      ask: async (toolCall, known, options) => {
        if (known !== undefined) await tell({ sessionUpdate: "tool_call", ...known });
        const request = { sessionId: params.sessionId, toolCall, options };
        return client.request(methods.client.session.requestPermission, request);
      },
    };
    return (await (deeds[what] ?? deeds.echo)(hands)) ?? { stopReason: "end_turn" };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
