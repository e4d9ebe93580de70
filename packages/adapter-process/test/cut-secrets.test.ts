import { acpAgent, commandLine } from "@proviso/adapter-process";
import type { ProcessError } from "@proviso/core";
import { afterEach, expect, test, vi } from "vitest";
import { failureOf, hello } from "./support/command.ts";

const key = "qz7Jx-0123456789-QZXJVKWBGH";
const kept = 64 * 1024;

const running = (adapter: typeof commandLine, code: string) =>
  adapter({ command: process.execPath, args: ["-e", code], secrets: [key], throttle: { maxAttempts: 1 } });
const printing = (stream: "stdout" | "stderr", text: string, then = "process.exit(1)"): string =>
  `process.${stream}.write(${text}, () => { ${then} });`;
/** How many letters of the key in a row are shown. */
function shownOf(error: object): number {
  const { message, stderr, providerPayload, cause } = error as ProcessError;
  const all = JSON.stringify([message, stderr, providerPayload, String(cause)]);
  for (let length = key.length; length > 0; length--) {
    for (let at = 0; at + length <= key.length; at++) if (all.includes(key.slice(at, at + length))) return length;
  }
  return 0;
}
const letters = (count: number): string => `"y".repeat(${count})`;
const whole = JSON.stringify(key);

test.each([
  ["a command", commandLine],
  ["an agent", acpAgent],
])("SEC-1 CMD-7 standard error of %s is cut behind a secret, wherever it stands", async (_, adapter) => {
  for (const before of [1, 20, key.length - 1]) {
    const code = printing("stderr", `"y\\n" + ${whole} + ${letters(kept - before)}`);
    const error = (await failureOf(running(adapter, code).evaluate(hello))) as ProcessError;
    expect(error.stderr).toBe("y".repeat(kept - before));
    expect(shownOf(error)).toBeLessThan(3);
  }
  const last = printing("stderr", `${whole} + ${letters(500 - key.length + 4)}`);
  expect(shownOf(await failureOf(running(adapter, last).evaluate(hello)))).toBeLessThan(3);
});

test("SEC-1 CMD-4 the output that is kept is cut before a secret", async () => {
  for (const [begin, then] of [
    ["", "process.exit(1)"],
    ['{"text":', "process.exit(0)"],
  ] as const) {
    const text = `${JSON.stringify(begin)} + ${letters(4_096 - begin.length - key.length + 1)} + ${whole} + ${letters(99)}`;
    const error = await failureOf(running(commandLine, printing("stdout", text, then)).evaluate(hello));
    expect(error.providerPayload).toMatchObject({
      stdout: `${begin}${"y".repeat(4_096 - begin.length - key.length + 1)}`,
    });
    expect(shownOf(error)).toBeLessThan(3);
  }
});

test("SEC-1 CMD-4 why an output is no JSON is described without an excerpt that ends inside a secret", async () => {
  const code = printing("stdout", `'{"text":' + ${whole} + ${letters(99)}`, "process.exit(0)");
  const error = await failureOf(running(commandLine, code).evaluate(hello));
  expect(error.message).toContain("cannot be read: not JSON");
  expect(shownOf(error)).toBeLessThan(3);
});

test("SEC-1 CMD-29 a line that is no message is shown and kept up to a secret", async () => {
  for (const before of [170, 4_070]) {
    const code = printing("stdout", `${letters(before)} + ${whole} + "tail\\n"`, "setTimeout(() => {}, 5_000)");
    const error = await failureOf(running(acpAgent, code).evaluate(hello));
    expect(error.message).toContain("printed a line that is no message");
    expect(shownOf(error)).toBeLessThan(3);
  }
});

/** Answers what nobody asked, and sends notifications that there are not. */
const chatty = `
const out = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "initialize") return out({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
  if (method === "session/new") return out({ id, result: { sessionId: "s" } });
  if (method !== "session/prompt") return;
  for (const other of [${whole}, "\\u001b[31m", { key: ${whole} }, null, 99]) out({ id: other, result: {} });
  out({ id: 98, error: { code: 1, message: ${whole} } });
  out({ method: "x/y", params: { k: ${whole} } });
  out({ method: "session/request_permission", params: { k: ${whole} } });
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "done" } };
  out({ method: "session/update", params: { sessionId: "s", update } });
  out({ id, result: { stopReason: "end_turn" } });
  out({ id, result: { stopReason: "end_turn" } });
});`;

afterEach(() => void vi.restoreAllMocks());

test("CMD-29 SEC-1 what an agent answers to nothing is passed over, and printed nowhere", async () => {
  const printed = (["error", "warn", "log"] as const).map((name) => vi.spyOn(console, name));
  const { output } = await running(acpAgent, chatty).evaluate(hello);
  expect(output).toBe("done");
  expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([]);
});
