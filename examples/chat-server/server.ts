import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { DefinitionError, isEvaluationFailure, type ProviderAdapter } from "@proviso/core";
import { ConversationError, type ConversationStore } from "@proviso/runtime";
import { longestMessage } from "./chat.ts";
import { conversationOf, conversationsOf, takeTurn } from "./turns.ts";
import { userOf } from "./users.ts";

/** What the server needs. */
export interface ChatParts {
  readonly adapter: ProviderAdapter;
  readonly store: ConversationStore;
  /** Receives what went wrong; a page reads no more than a code. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Bytes of a request's body. */
const longestBody = 64 * 1024;

const files: Readonly<Record<string, readonly [name: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/page.css": ["page.css", "text/css; charset=utf-8"],
};

/** Refuses a request with this status. */
class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A server of the page, and of the conversations that it shows. It does not listen yet. */
export function chatServer(parts: ChatParts): Server {
  return createServer((request, response) => {
    answer(parts, request, response).catch((error: unknown) => {
      // A browser that has left reads no answer.
      if (response.destroyed) return;
      const { status, message } = refusalOf(error);
      if (status === 500) parts.onError?.(error);
      if (response.headersSent) response.end();
      else send(response, status, { error: message });
    });
  });
}

async function answer(parts: ChatParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  // The page's own scripts and styles, and nothing from elsewhere: also where a model's text would name it.
  response.setHeader("content-security-policy", "default-src 'self'; frame-ancestors 'none'");
  response.setHeader("x-content-type-options", "nosniff");
  const user = userOf(request, response);
  const file = Object.hasOwn(files, pathname) ? files[pathname] : undefined;
  if (file !== undefined && request.method === "GET") return sendFile(response, file);
  const [, id] = /^\/conversations\/([\w-]{1,64})$/.exec(pathname) ?? [];
  if (pathname === "/conversations" && request.method === "GET") {
    return send(response, 200, await conversationsOf(parts.store, user));
  }
  if (id === undefined) throw new Refusal(404, "There is no such page.");
  // An id of the store begins with its user: no user can name the conversation of another.
  const conversation = { store: parts.store, id: `${user}/${id}` };
  const { method } = request;
  if (method === "GET") return send(response, 200, await conversationOf(conversation));
  if (method === "POST") return takeTurn({ ...parts, ...conversation, said: await saidIn(request), response });
  if (method !== "DELETE") throw new Refusal(405, "GET, POST or DELETE.");
  send(response, 200, { deleted: await parts.store.delete(conversation.id) });
}

/** @throws {Refusal} for what the page would not send. */
async function saidIn(request: IncomingMessage): Promise<string> {
  // A form of another site cannot send this type: the browser would ask this server first.
  if (!/^application\/json\b/.test(request.headers["content-type"] ?? "")) throw new Refusal(415, "Send JSON.");
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // What is too long is read to its end and not kept: a connection that is cut brings no answer.
    if (bytes <= longestBody) chunks.push(chunk);
  }
  if (bytes > longestBody) throw new Refusal(413, "The message is too long.");
  const { said } = parsed(Buffer.concat(chunks).toString("utf8"));
  if (typeof said !== "string" || said.trim() === "") throw new Refusal(400, 'Send { "said": "…" }.');
  if (said.length > longestMessage) throw new Refusal(413, "The message is too long.");
  return said;
}

function parsed(text: string): { readonly said?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function refusalOf(error: unknown): Pick<Refusal, "status" | "message"> {
  if (error instanceof Refusal) return error;
  if (error instanceof ConversationError && error.reason === "busy") {
    return { status: 409, message: "Another window is waiting for an answer in this conversation." };
  }
  if (error instanceof ConversationError && error.reason === "lost") {
    return { status: 410, message: "The conversation was deleted." };
  }
  if (error instanceof DefinitionError || isEvaluationFailure(error)) return { status: 500, message: error.code };
  return { status: 500, message: "internal" };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}

async function sendFile(response: ServerResponse, [name, type]: readonly [string, string]): Promise<void> {
  const bytes = await readFile(new URL(`page/${name}`, import.meta.url));
  response.writeHead(200, { "content-type": type, "cache-control": "no-cache" });
  response.end(bytes);
}
