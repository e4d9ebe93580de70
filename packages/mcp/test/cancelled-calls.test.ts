// Calls that clients cancel over HTTP: those of the newer revision close their request, those of the older one send another.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { defineEvent, defineSlice, defineTool } from "@proviso/core";
import { serveMcp, type McpService } from "@proviso/mcp/server";
import { createSession } from "@proviso/runtime";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (list, { text }) => [...list, text]),
});

/** Tools whose calls are watched: one that goes on until it is aborted, and two that end at once. */
function served() {
  const begun: (() => void)[] = [];
  const log: string[] = [];
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    input: z.object({ text: z.string() }),
    readOnly: true,
    execute: ({ text }, { signal }) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => {
          log.push(`${text} aborted`);
          reject(signal.reason as Error);
        });
        log.push(`${text} begun`);
        begun.shift()?.();
      }),
  });
  const half = defineTool({
    name: "half",
    description: "Changes the session, and waits.",
    input: z.object({ text: z.string() }),
    execute: ({ text }, { session, signal }) =>
      new Promise<string>((_, reject) => {
        session.dispatch(noted({ text }));
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        begun.shift()?.();
      }),
  });
  const list = defineTool({
    name: "list",
    description: "Lists.",
    input: z.object({}),
    execute: (_, { session }) => session.get(notes).join(),
  });
  const session = createSession({ slices: [notes] });
  const service = serveMcp({ name: "s", tools: [wait, half, list], session });
  onTestFinished(() => service.close());
  /** Ends when the next call has begun. */
  const nextBegun = (): Promise<void> => new Promise((resolve) => void begun.push(resolve));
  return { service, log, nextBegun };
}

async function clientOf(
  service: McpService,
  more: { readonly mode?: "auto" | "legacy" | undefined; readonly drops?: string } = {},
): Promise<Client> {
  const client = new Client(
    { name: "official", version: "1" },
    more.mode === undefined ? {} : { versionNegotiation: { mode: more.mode } },
  );
  const send = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const sent = new Headers(init?.headers);
    if (more.drops !== undefined) sent.delete(more.drops);
    return service.fetch(new Request(url, { ...init, headers: sent }));
  };
  await client.connect(new StreamableHTTPClientTransport(new URL("https://x.example/mcp"), { fetch: send }) as never);
  onTestFinished(() => client.close());
  return client;
}

/** Calls, and cancels once the call has begun. */
async function cancelled(client: Client, name: string, text: string, begun: Promise<void>): Promise<void> {
  const controller = new AbortController();
  const calling = client.callTool({ name, arguments: { text } }, { signal: controller.signal });
  await begun;
  controller.abort();
  await expect(calling).rejects.toThrow();
}

test.each([undefined, "auto", "legacy"] as const)(
  "SRV-3 a call that a client cancels is aborted and undone, and another client's that waits for it begins: %s",
  async (mode) => {
    const { service, nextBegun } = served();
    const [one, other] = [await clientOf(service, { mode }), await clientOf(service, { mode })];
    await cancelled(one, "half", "one", nextBegun());
    expect(await other.callTool({ name: "list", arguments: {} })).toMatchObject({ content: [{ text: "(empty)" }] });
  },
);

test("SRV-3 a client that cancels aborts no call of another client, although their requests have the same ids", async () => {
  const { service, log, nextBegun } = served();
  const [one, other] = [await clientOf(service), await clientOf(service)];
  const begun = nextBegun();
  const going = other.callTool({ name: "wait", arguments: { text: "other" } }).catch(() => {});
  await begun;
  await cancelled(one, "wait", "one", nextBegun());
  await expect.poll(() => log).toEqual(["other begun", "one begun", "one aborted"]);
  await service.close();
  expect(log.at(-1)).toBe("other aborted");
  await going;
});

test("SRV-3 a client that shows no id, or one that is not known, is served", async () => {
  const { service } = served();
  const client = await clientOf(service, { drops: "mcp-session-id" });
  const list = { name: "list", arguments: {} };
  expect(await client.callTool(list)).toMatchObject({ content: [{ text: "(empty)" }] });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: list });
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const request = { method: "POST", body, headers: { ...headers, "mcp-session-id": "from before a restart" } };
  const answer = await service.fetch(new Request("https://x.example/mcp", request));
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('"content":[{"type":"text"');
  expect(answer.headers.has("mcp-session-id")).toBe(false);
});

test("SRV-3 SRV-4 the id that a client gets is random, and one of the newer revision gets none", async () => {
  const { service } = served();
  const ids: (string | null)[] = [];
  for (const more of [{}, {}, { "mcp-method": "server/discover" }]) {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...more };
    const answer = await service.fetch(new Request("https://x.example/mcp", { method: "POST", body, headers }));
    ids.push(answer.headers.get("mcp-session-id"));
    await answer.text();
  }
  expect(ids).toEqual([expect.stringMatching(/^[\w-]{43}$/), expect.stringMatching(/^[\w-]{43}$/), null]);
  expect(ids[0]).not.toBe(ids[1]);
});

test("SRV-3 an empty id is none: clients that send one are not taken for the same", async () => {
  const { service } = served();
  const ids = await Promise.all(
    [1, 2].map(async () => {
      const answer = await service.fetch(
        new Request("https://x.example/mcp", {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            "mcp-session-id": "",
          },
          body: JSON.stringify({
            jsonrpc: "2.0",
            id: 0,
            method: "initialize",
            params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } },
          }),
        }),
      );
      await answer.text();
      return answer.headers.get("mcp-session-id");
    }),
  );
  expect(new Set(ids).size).toBe(2);
  expect(ids.every((id) => (id ?? "").length > 20)).toBe(true);
});

test.each<readonly [status: number, body: string, headers: Record<string, string>]>([
  [400, "{", {}],
  [406, '{"jsonrpc":"2.0","id":1,"method":"ping"}', { accept: "text/html" }],
])("SRV-3 a request that is refused with %d gives no id", async (status, body, more) => {
  const { service } = served();
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...more };
  const answer = await service.fetch(new Request("https://x.example/mcp", { method: "POST", body, headers }));
  expect(answer.status).toBe(status);
  expect(answer.headers.has("mcp-session-id")).toBe(false);
});
