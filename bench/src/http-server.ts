import { createServer } from "node:http";

// Answers Chat Completions after 20 ms: one tool call, then a text. As cheap as can be, in a process of its own.
const latencyMs = 20;
const completion = (message: object, finish_reason: string): string =>
  JSON.stringify({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason }],
    usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  });
const call = { id: "c1", type: "function", function: { name: "add", arguments: '{"a":1,"b":2}' } };
const first = completion({ role: "assistant", content: null, tool_calls: [call] }, "tool_calls");
const last = completion({ role: "assistant", content: "The sum is 3." }, "stop");

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const answer = Buffer.concat(chunks).includes('"role":"tool"') ? last : first;
    setTimeout(() => {
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
      response.end(answer);
    }, latencyMs);
  });
});
// Longer than the others' turns take: a connection that is closed meanwhile fails its next request.
server.keepAliveTimeout = 600_000;
// On a busy machine some of 2,000 requests arrive later than a minute after their connections.
server.headersTimeout = 0;
server.requestTimeout = 0;
server.listen(0, "127.0.0.1", 4_096, () => {
  const address = server.address();
  process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
});
