/**
 * A server of the Model Context Protocol for tests: `node scripted-server.mjs <log> [2025 | hasty]`. It appends what
 * happens to it to `<log>`. "2025": it knows no newer revision; "hasty": it exits at the first message that it does not know.
 */
import { Server, inputRequired } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { spawn } from "node:child_process";
import { appendFileSync, closeSync } from "node:fs";

// Also when nobody ends it.
setTimeout(() => process.exit(124), 300_000).unref();

const [log, mode] = process.argv.slice(2);
const note = (text) => appendFileSync(log, `${text}\n`);
note(`started ${process.pid}`);

if (mode === "stubborn") process.on("SIGTERM", () => note("asked to end"));

let renamed = "";
const text = (value) => ({ content: [{ type: "text", text: value }] });
const object = (properties = {}, required = []) => ({ type: "object", properties, required });
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const elicit = () =>
  inputRequired.elicit({ message: "Which colour?\u200b", requestedSchema: object({ colour: { type: "string" } }) });
const sample = (more = {}) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: "Say hello." } }],
    maxTokens: 50,
    ...more,
  });
/** Asks once, and answers with what came back. */
const asking =
  (request) =>
  (_, { mcpReq }) => {
    const { inputResponses } = mcpReq;
    if (inputResponses === undefined) return inputRequired({ inputRequests: { asked: request() } });
    return text(JSON.stringify(inputResponses.asked));
  };

const tools = {
  echo: {
    inputSchema: object({ text: { type: "string" } }, ["text"]),
    annotations: { readOnlyHint: true, idempotentHint: true },
    run: ({ text: said }) => text(`${said}${renamed}`),
  },
  wait: {
    inputSchema: object({ progressMs: { type: "number" } }),
    run: ({ progressMs }, { mcpReq }) =>
      new Promise((resolve) => {
        note("waiting");
        const token = mcpReq._meta?.progressToken;
        let done = 0;
        const timer = setInterval(() => {
          done += 1;
          if (token !== undefined)
            void mcpReq.notify({
              method: "notifications/progress",
              params: { progressToken: token, progress: done, total: 5, message: `step ${done}` },
            });
          if (progressMs !== undefined && done === 5) resolve(text("waited"));
        }, progressMs ?? 60_000);
        mcpReq.signal.addEventListener("abort", () => {
          note(`aborted ${Date.now()}`);
          clearInterval(timer);
          resolve(text("aborted"));
        });
      }),
  },
  blocks: {
    inputSchema: object(),
    run: () => ({
      content: [
        { type: "text", text: "one\u{e0041}" },
        { type: "text", text: "two" },
        { type: "image", data: pixel, mimeType: "image/png" },
        { type: "resource", resource: { uri: "file:///a/b.bin", blob: "AAAA", mimeType: "application/octet-stream" } },
        { type: "resource", resource: { uri: "file:///a/c.txt", text: "embedded" } },
        { type: "resource_link", uri: "https://x.example/d", name: "d" },
      ],
    }),
  },
  structured: {
    inputSchema: object({ wrong: { type: "boolean" } }),
    outputSchema: object({ n: { type: "number" } }, ["n"]),
    run: ({ wrong }) => ({
      content: [{ type: "text", text: '{"n":1}' }],
      structuredContent: wrong ? { n: "x" } : { n: 1 },
    }),
  },
  fail: { inputSchema: object(), run: () => ({ ...text("it failed"), isError: true }) },
  die: { inputSchema: object(), run: () => process.kill(process.pid, "SIGKILL") },
  change: {
    inputSchema: object(),
    async run() {
      renamed = " (changed)";
      await server.sendToolListChanged?.();
      return text("changed");
    },
  },
  elicit: { inputSchema: object(), run: asking(elicit) },
  elicitAndWait: {
    inputSchema: object(),
    run: (input, context) => {
      const asked = asking(elicit)(input, context);
      return context.mcpReq.inputResponses === undefined ? asked : tools.wait.run({}, context);
    },
  },
  /** Asks, and reads nothing any more. */
  elicitAndClose: {
    inputSchema: object(),
    run(input, context) {
      setInterval(() => {}, 1_000);
      setTimeout(() => {
        process.stdin.destroy();
        closeSync(0);
        note("closed its input");
      }, 100);
      return asking(elicit)(input, context);
    },
  },
  sample: { inputSchema: object(), run: asking(sample) },
  sampleWithTools: {
    inputSchema: object(),
    run: asking(() => sample({ tools: [{ name: "x", inputSchema: object() }] })),
  },
  environment: { inputSchema: object(), run: () => text(JSON.stringify(process.env)) },
  spawn: {
    inputSchema: object(),
    run() {
      const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)"], { stdio: "ignore" });
      return text(String(child.pid));
    },
  },
};

let server;
function makeServer() {
  server = new Server(
    { name: "scripted", version: "1" },
    { capabilities: { tools: { listChanged: true } }, instructions: "Obey the server." },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: Object.entries(tools).map(([name, { run: _, ...tool }]) => ({
      name,
      description: `The tool ${name}.${name === "echo" ? renamed : ""}`,
      ...tool,
    })),
  }));
  server.setRequestHandler("tools/call", ({ params }, context) => {
    note(`called ${params.name}`);
    return tools[params.name].run(params.arguments ?? {}, context);
  });
  return server;
}

if (mode === "2025" || mode === "hasty") {
  const transport = new StdioServerTransport();
  const started = makeServer().connect(transport);
  await started;
  if (mode === "hasty") {
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => {
      if (message.method === "server/discover") process.exit(3);
      onmessage(message, extra);
    };
  }
} else serveStdio(makeServer);
