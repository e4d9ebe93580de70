import { definePrompt, type ModelRequest, type ToolMessage } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { call, promptWith, rejection } from "../support.ts";
import { calls, chat, context, modelOf, reader } from "./support.ts";

const resultsIn = ({ messages }: ModelRequest): readonly ToolMessage[] =>
  messages.filter((message) => message.role === "tool");
const readResult = (ref: string, from?: number) => ({
  toolCalls: [
    {
      ...call("read_result", from === undefined ? { ref } : { ref, from }),
      id: `read_${ref}_${from}`,
      arguments: JSON.stringify({ ref, from }),
    },
  ],
});
const refIn = (text: string): string => /"ref": "([0-9a-f]+)"/.exec(text)?.[1] ?? "";

test("CTX-12 of a long result the model sees both ends, and read_result pages through the rest", async () => {
  const whole = `page 1 ${"abc".repeat(2_000)}`.slice(0, 5_000);
  const tool = { ...reader(5_000), execute: () => whole };
  let read = "";
  let from = 0;
  const { adapter, requests } = modelOf((request, turn) => {
    if (turn === 1) return calls(1);
    const [first] = resultsIn(request);
    const last = resultsIn(request).at(-1);
    if (turn > 2) {
      read += last?.text.slice((last?.text.indexOf("\n") ?? 0) + 1) ?? "";
      from = Number(/goes on from (\d+)\]/.exec(last?.text ?? "")?.[1] ?? 0);
      if (from === 0) return { text: "Read." };
    }
    return readResult(refIn(first?.text ?? ""), from);
  });
  const response = await adapter.evaluate(promptWith(tool), {
    context: { window: 50_000, toolResultCharacters: 1_000 },
  });
  expect(read).toBe(whole);
  const [first] = resultsIn(requests[1] as ModelRequest);
  expect(first?.text.length).toBeLessThanOrEqual(1_000);
  expect(first?.text.startsWith(whole.slice(0, 300))).toBe(true);
  expect(first?.text.endsWith(whole.slice(-300))).toBe(true);
  expect(first?.text).toContain("5000 characters in all");
  expect(first?.full).toMatchObject({ kind: "stored", bytes: 5_000 });
  expect(response.toolResults.filter(({ name }) => name === "read_result").every(({ result }) => result.success)).toBe(
    true,
  );
});

test("CTX-12 read_result is offered from the first request on, and nothing is offered to a prompt without tools", async () => {
  const withTools = modelOf(() => ({ text: "Done." }));
  await withTools.adapter.evaluate(promptWith(reader(10)), { context });
  expect(withTools.requests[0]?.tools.map(({ name }) => name)).toEqual(["read", "read_result"]);
  const without = modelOf(() => ({ text: "Done." }));
  await without.adapter.evaluate("And now?", { context });
  expect(without.requests[0]?.tools).toEqual([]);
  const noContext = modelOf(() => ({ text: "Done." }));
  await noContext.adapter.evaluate(promptWith(reader(10)));
  expect(noContext.requests[0]?.tools.map(({ name }) => name)).toEqual(["read"]);
});

test("CTX-12 a stub is read again whole, by the reference that it names", async () => {
  const { adapter, requests } = modelOf((request, turn) => {
    if (turn <= 20) return calls(turn);
    const [first] = resultsIn(request);
    return turn === 21 ? readResult(refIn(first?.text ?? "")) : { text: "Done." };
  });
  await adapter.evaluate(promptWith(reader(1_500)), { context: { window: 8_000, compactTo: 0.6 } });
  const page = resultsIn(requests.at(-1) as ModelRequest).at(-1);
  const first = resultsIn(requests[20] as ModelRequest)[0];
  const number = Number(first?.callId.slice("call_".length));
  expect(page?.text).toBe(`[Characters 0 to 1500 of 1500]\n${`page ${number} `.padEnd(1_500, String(number % 10))}`);
});

test("CTX-12 the stub of a result that was shown in part says how long the whole was", async () => {
  const { adapter, requests } = modelOf((_, turn) => (turn <= 40 ? calls(turn) : { text: "Done." }));
  const policy = { window: 8_000, toolResultCharacters: 1_000 };
  await adapter.evaluate(promptWith(reader(5_000)), { context: policy, maxTurns: 41 });
  const stubs = requests.flatMap((request) => resultsIn(request).filter(({ text }) => text.startsWith("[Left out")));
  expect(stubs.length).toBeGreaterThan(0);
  for (const { text, full } of stubs) {
    expect(text).toMatch(/^\[Left out: a result of 5000 characters\. read_result/);
    expect(full).toMatchObject({ kind: "stored", bytes: 5_000 });
  }
});

test("CTX-12 a reference that this history does not have is answered with those that there are", async () => {
  const { adapter, requests } = modelOf((_, turn) =>
    turn === 1 ? calls(1) : turn === 2 ? readResult("0123456789ab") : { text: "Done." },
  );
  await adapter.evaluate(promptWith(reader(5_000)), { context: { window: 50_000, toolResultCharacters: 1_000 } });
  const [first, second] = resultsIn(requests[2] as ModelRequest);
  expect(second).toMatchObject({ isError: true });
  expect(second?.text).toBe(
    `"0123456789ab" is no reference of this conversation. There are: ${refIn(first?.text ?? "")}.`,
  );
});

test("CTX-12 the next evaluation reads what the one before has left out", async () => {
  const first = modelOf((_, turn) => (turn === 1 ? calls(1) : { text: "Done." }));
  const policy = { window: 50_000, toolResultCharacters: 1_000 };
  const { messages } = await first.adapter.evaluate(promptWith(reader(5_000)), { context: policy });
  const second = modelOf((request, turn) =>
    turn === 1 ? readResult(refIn(resultsIn(request)[0]?.text ?? "")) : { text: "Done." },
  );
  await second.adapter.evaluate("And now?", { context: policy, messages });
  expect(second.requests[0]?.tools.map(({ name }) => name)).toEqual(["read_result"]);
  expect(resultsIn(second.requests[1] as ModelRequest)[1]?.text).toMatch(
    /^\[Characters 0 to 1000 of 5000; it goes on from 1000\]\npage 1 /,
  );
});

test("CTX-12 a text that is not kept any more is answered as gone", async () => {
  const first = modelOf((_, turn) => (turn === 1 ? calls(1) : { text: "Done." }));
  const policy = { window: 50_000, toolResultCharacters: 1_000 };
  const { messages } = await first.adapter.evaluate(promptWith(reader(5_000)), { context: policy });
  const second = modelOf((request, turn) =>
    turn === 1 ? readResult(refIn(resultsIn(request)[0]?.text ?? "")) : { text: "Done." },
  );
  const restored = JSON.parse(JSON.stringify(messages)) as typeof messages;
  await second.adapter.evaluate("And now?", { context: policy, messages: restored });
  expect(resultsIn(second.requests[1] as ModelRequest)[1]).toMatchObject({ isError: true });
  expect(resultsIn(second.requests[1] as ModelRequest)[1]?.text).toContain("is not kept any more");
});

test("CTX-12 a half of a character is never shown: pages and ends begin and end between characters", async () => {
  const whole = "😀".repeat(3_001);
  const tool = { ...reader(1), execute: () => `x${whole}` };
  const { adapter, requests } = modelOf((request, turn) => {
    if (turn === 1) return calls(1);
    const ref = refIn(resultsIn(request)[0]?.text ?? "");
    return turn === 2 ? readResult(ref, 500) : { text: "Done." };
  });
  await adapter.evaluate(promptWith(tool), { context: { window: 50_000, toolResultCharacters: 1_001 } });
  for (const { text } of resultsIn(requests[2] as ModelRequest)) expect(text).not.toContain("\uFFFD");
});

test("CTX-12 a prompt cannot have a tool with the name of the framework's", () => {
  const tool = { ...reader(1), name: "read_result" };
  expect(() => definePrompt({ key: "p", sections: [{ key: "s", text: "Hello.", tools: [tool] }] })).toThrow(
    "read_result",
  );
});

test("CTX-12 a model that takes no tools gets stubs that name no reference", async () => {
  const first = modelOf((_, turn) => (turn <= 6 ? calls(turn) : { text: "Done." }));
  const { messages } = await first.adapter.evaluate(promptWith(reader(1_500)));
  const second = modelOf(() => ({ text: "Done." }), { capabilities: { tools: false, nativeOutput: false } });
  const session = createSession();
  await second.adapter.evaluate("And now?", { context: { window: 4_000, keepTurns: 1 }, messages, session });
  const [stub] = resultsIn(second.requests[0] as ModelRequest);
  expect(stub?.text).toBe("[Left out: a result of 1500 characters.]");
  expect(second.requests[0]?.tools).toEqual([]);
});

test("CTX-12 a policy of the prompt watches read_result as it watches every tool", async () => {
  const { adapter, requests } = modelOf((request, turn) => {
    if (turn === 1) return calls(1);
    return turn === 2 ? readResult(refIn(resultsIn(request)[0]?.text ?? "")) : { text: "Done." };
  });
  const deny = {
    name: "deny",
    check: ({ tool }: { tool: { name: string } }) =>
      tool.name === "read_result" ? { allowed: false as const, reason: "not now" } : undefined,
  };
  const policies = [deny as never];
  await adapter.evaluate(promptWith(reader(5_000)), {
    context: { window: 50_000, toolResultCharacters: 1_000 },
    policies,
  });
  expect(resultsIn(requests[2] as ModelRequest)[1]).toMatchObject({ isError: true });
});

test("CTX-12 a prompt without tools can read the results of the messages before it", async () => {
  const first = modelOf((_, turn) => (turn <= 6 ? calls(turn) : { text: "Done." }));
  const { messages } = await first.adapter.evaluate(promptWith(reader(1_500)));
  const second = modelOf((request, turn) =>
    turn === 1 ? readResult(refIn(resultsIn(request)[0]?.text ?? "")) : { text: "Done." },
  );
  await second.adapter.evaluate("And now?", { context: { window: 4_000, keepTurns: 1 }, messages });
  expect(second.requests[0]?.tools.map(({ name }) => name)).toEqual(["read_result"]);
  expect(resultsIn(second.requests[1] as ModelRequest).at(-1)).toMatchObject({ name: "read_result", isError: false });
});

test("CTX-4 a chat of words alone gives way to a note, the newest exchanges stay", async () => {
  const { adapter, requests } = modelOf(() => ({ text: "Yes." }));
  const messages = chat(20);
  await adapter.evaluate("And now?", { context, messages });
  const sent = requests[0]?.messages ?? [];
  expect(sent[0]).toEqual({ role: "user", text: "[32 earlier messages were left out here.]" });
  expect(sent.slice(1, -1)).toEqual(messages.slice(-8));
  expect(sent.at(-1)).toEqual({ role: "user", text: "And now?" });
});

test("CTX-13 an agent refuses context as a bad request, and nothing begins", async () => {
  const { agentAdapter } = await import("@proviso/runtime");
  let driven = 0;
  const agent = agentAdapter({
    name: "driver",
    model: "driver-1",
    async drive() {
      driven += 1;
      return { message: { role: "assistant", text: "Done.", toolCalls: [] }, finishReason: "stop" };
    },
  });
  const error = await rejection(agent.evaluate("Begin.", { context: {} }));
  expect(error).toMatchObject({ code: "provider", reason: "bad_request", phase: "request" });
  expect(error.message).toContain("context");
  expect(driven).toBe(0);
});
