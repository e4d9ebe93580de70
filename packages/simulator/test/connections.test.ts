import { startSimulator, type Simulator, type SimulatorStep } from "@proviso/simulator";
import { connect, type Socket } from "node:net";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { responses } from "./support.ts";

interface Raw {
  readonly socket: Socket;
  received(): string;
  readonly closed: Promise<void>;
}

function raw({ port }: Simulator, text: string): Raw {
  let received = "";
  const socket = connect(port, "127.0.0.1", () => void socket.write(text));
  socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return { socket, received: () => received, closed };
}

function posted(input: string): string {
  const body = JSON.stringify({ model: "m", input });
  const head = `POST /v1/responses HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key\r\nContent-Length: ${body.length}`;
  return `${head}\r\n\r\n${body}`;
}

const bare = (line: string): string => `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key\r\n\r\n`;

test.each([
  ["HEAD /v1/responses", "405"],
  ["OPTIONS /v1/chat/completions", "405"],
  ["OPTIONS *", "404"],
  ["PRI *", "400"],
  ["no HTTP at all", "400"],
])("SIM-1 %s is refused, and the next request is answered", async (line, status) => {
  await using simulator = await startSimulator();
  const { received } = raw(simulator, bare(line));
  await vi.waitFor(() => expect(received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `)), { timeout: 120_000 });
  expect((await responses(simulator, { input: "a" })).status).toBe(200);
});

test("SIM-1 a 405 says what is allowed", async () => {
  await using simulator = await startSimulator();
  const answer = await fetch(`${simulator.baseURL}/responses`, { headers: { authorization: "Bearer key" } });
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
});

test("SIM-1 pipelined requests are answered in order", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "one", afterMs: 30 }, { text: "two" }] });
  const { received } = raw(simulator, posted("a") + posted("b"));
  await vi.waitFor(() => expect(received().match(/"text":"(one|two)"/g)).toEqual(['"text":"one"', '"text":"two"']), {
    timeout: 300_000,
  });
});

test("SIM-14 a pipelined request whose connection breaks breaks it after the answers before", async () => {
  const steps: readonly SimulatorStep[] = [
    { text: "one", afterMs: 30 },
    { text: "two", fault: "reset_before_headers" },
  ];
  await using simulator = await startSimulator({ steps });
  const { received, closed } = raw(simulator, posted("a") + posted("b"));
  await closed;
  expect(received()).toContain("one");
  expect(simulator.awaited).toBe(0);
});

test("SIM-9 an upload that ends half way is not logged, and no longer awaited", async () => {
  await using simulator = await startSimulator();
  const { socket } = raw(simulator, posted("a").slice(0, -5));
  await vi.waitFor(() => expect(simulator.awaited).toBe(1), { timeout: 120_000 });
  socket.destroy();
  await vi.waitFor(() => expect(simulator.awaited).toBe(0), { timeout: 120_000 });
  expect(simulator.requests).toEqual([]);
});

test("SIM-9 a request whose sender leaves is logged as aborted; one that its fault broke is not", async () => {
  const steps: readonly SimulatorStep[] = [{ text: "one", afterMs: 60_000 }, { text: "two" }];
  await using simulator = await startSimulator({ steps, faults: [{ fault: "reset_in_body", at: 1 }] });
  const left = raw(simulator, posted("a"));
  await vi.waitFor(() => expect(simulator.awaited).toBe(1), { timeout: 120_000 });
  left.socket.destroy();
  await vi.waitFor(() => expect(simulator.requests[0]?.aborted).toBe(true), { timeout: 120_000 });
  await raw(simulator, posted("a")).closed;
  expect(simulator.requests.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test("SIM-11 close ends connections that never asked anything, and frees the port", async () => {
  const first = await startSimulator();
  const { socket, closed } = raw(first, "");
  await vi.waitFor(() => expect(socket.readyState).toBe("open"), { timeout: 120_000 });
  await first.close();
  await closed;
  await using second = await startSimulator({ port: first.port });
  expect(second.port).toBe(first.port);
});

test("SIM-11 when close is done nothing is awaited, and what was cut is in the log, whatever the clock does", async () => {
  const deaf = { now: () => 0, sleep: () => new Promise<void>(() => {}) };
  const steps: readonly SimulatorStep[] = [
    { text: "one", afterMs: 1_000 },
    { text: "two", fault: "hang" },
  ];
  const simulator = await startSimulator({ steps, clock: deaf });
  raw(simulator, posted("a"));
  await vi.waitFor(() => expect(simulator.awaited).toBe(1), { timeout: 120_000 });
  raw(simulator, posted("b"));
  await vi.waitFor(() => expect(simulator.requests).toHaveLength(1), { timeout: 120_000 });
  raw(simulator, posted("c").slice(0, -5));
  await vi.waitFor(() => expect(simulator.awaited).toBe(3), { timeout: 120_000 });
  await simulator.close();
  expect(simulator.awaited).toBe(0);
  expect(simulator.requests.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test("SIM-1 a clock that fails breaks the one request, not the process", async () => {
  const unhandled: unknown[] = [];
  const hear = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", hear);
  onTestFinished(() => void process.off("unhandledRejection", hear));
  let broken = false;
  const now = (): number => {
    if (broken) throw new Error("no time");
    return 0;
  };
  await using simulator = await startSimulator({ clock: { now, sleep: () => Promise.resolve() } });
  broken = true;
  await expect(responses(simulator, { input: "a" })).rejects.toThrow("fetch failed");
  broken = false;
  expect((await responses(simulator, { input: "a" })).status).toBe(200);
  expect(unhandled).toEqual([]);
});

// A machine with little memory takes a minute for it.
test.runIf(inject("exhaustive"))(
  "SIM-1 a body of more than 64 MiB is a 413, and the next request is answered",
  async () => {
    await using simulator = await startSimulator();
    expect((await responses(simulator, { input: "x".repeat(64 * 1024 * 1024) })).status).toBe(413);
    expect((await responses(simulator, { input: "a" })).status).toBe(200);
  },
);

test("SIM-2 a 204 has neither a body nor its headers", async () => {
  await using simulator = await startSimulator({ steps: [{ status: 204 }] });
  const { received } = raw(simulator, posted("a"));
  await vi.waitFor(() => expect(received()).toContain("\r\n\r\n"), { timeout: 120_000 });
  expect(received()).toMatch(/^HTTP\/1.1 204 /);
  expect(received()).not.toMatch(/content-(length|type)/i);
});
