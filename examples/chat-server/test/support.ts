import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openai } from "@proviso/adapter-openai";
import { sqliteConversations } from "@proviso/node";
import type { ConversationStore } from "@proviso/runtime";
import { startSimulator, type SimulatorRule } from "@proviso/simulator";
import { onTestFinished } from "vitest";
import { chatServer } from "../server.ts";
import { simulatedFriend } from "../simulated-friend.ts";

export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "chat-server-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

export interface Started {
  readonly url: string;
  readonly store: ConversationStore;
  readonly simulator: Awaited<ReturnType<typeof startSimulator>>;
  readonly errors: readonly unknown[];
  stop(): void;
}

/** The server over a file, with a simulated model that the rules come before. */
export async function start(file: string, rules: readonly SimulatorRule[] = []): Promise<Started> {
  const simulator = await startSimulator({ rules: [...rules, simulatedFriend] });
  const adapter = openai({
    model: "simulated",
    baseURL: simulator.baseURL,
    apiKey: "none",
    maxOutputTokens: 1_000,
    throttle: { maxAttempts: 1 },
  });
  const store = sqliteConversations(file);
  const errors: unknown[] = [];
  const server = chatServer({ adapter, store, onError: (error) => errors.push(error) });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
    store.close();
  };
  onTestFinished(async () => {
    stop();
    await simulator.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, store, simulator, errors, stop };
}

export interface ServerEvent {
  readonly name: string;
  readonly data: unknown;
}

/** A browser of one user: it keeps its cookie. */
export interface User {
  request(path: string, init?: RequestInit): Promise<Response>;
  say(conversation: string, said: string, init?: RequestInit): Promise<Response>;
  /** A whole turn. */
  turn(conversation: string, said: string): Promise<readonly ServerEvent[]>;
}

export async function userAt(url: string, known?: string): Promise<User & { readonly cookie: string }> {
  const first = await fetch(url);
  await first.arrayBuffer();
  const cookie = known ?? first.headers.get("set-cookie")?.split(";")[0] ?? "";
  const user: User & { readonly cookie: string } = {
    cookie,
    request(path, init = {}) {
      const headers = new Headers(init.headers);
      headers.set("cookie", cookie);
      return fetch(url + path, { ...init, headers });
    },
    say: (conversation, said, init = {}) =>
      user.request(`/conversations/${conversation}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ said }),
        ...init,
      }),
    async turn(conversation, said) {
      return eventsIn(await (await user.say(conversation, said)).text());
    },
  };
  return user;
}

function eventsIn(text: string): readonly ServerEvent[] {
  return [...text.matchAll(/^event: (.+)\ndata: (.*)$/gm)].map(([, name = "", data = "null"]) => ({
    name,
    data: JSON.parse(data) as unknown,
  }));
}

export function answerIn(events: readonly ServerEvent[]): string {
  return events
    .filter(({ name }) => name === "text")
    .map(({ data }) => data)
    .join("");
}
