import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { allow, deny, JournalError } from "@proviso/core";
import { z } from "zod";
import type { Desk } from "./desk.ts";
import { longestMail } from "./prompt.ts";

/** What the server needs. */
export interface ServerParts {
  readonly desk: Desk;
  /** Receives what went wrong; a page reads no more than that something did. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Bytes of a request's body. */
const longestBody = 64 * 1024;

const files: Readonly<Record<string, readonly [name: string, type: string]>> = {
  "/": ["desk.html", "text/html; charset=utf-8"],
  "/decide": ["decide.html", "text/html; charset=utf-8"],
  "/desk.js": ["desk.js", "text/javascript; charset=utf-8"],
  "/decide.js": ["decide.js", "text/javascript; charset=utf-8"],
  "/page.css": ["page.css", "text/css; charset=utf-8"],
};

const Mail = z.object({ text: z.string().trim().min(1).max(longestMail) });
const Chosen = z.discriminatedUnion("pay", [
  z.object({ token: z.string(), pay: z.literal(true) }),
  z.object({ token: z.string(), pay: z.literal(false), reason: z.string().trim().min(1).max(500) }),
]);

/** Refuses a request with this status. */
class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A server of the two pages and of what they ask for. It does not listen yet. */
export function deskServer({ desk, onError }: ServerParts): Server {
  return createServer((request, response) => {
    answer(desk, request, response).catch((error: unknown) => {
      // A browser that has left reads no answer.
      if (response.destroyed) return;
      const { status, message } = refusalOf(error);
      if (status === 500) onError?.(error);
      if (response.headersSent) response.end();
      else send(response, status, { error: message });
    });
  });
}

async function answer(desk: Desk, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method } = request;
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  response.setHeader("content-security-policy", "default-src 'self'; frame-ancestors 'none'");
  response.setHeader("x-content-type-options", "nosniff");
  // The token of a link stands in the address.
  response.setHeader("referrer-policy", "no-referrer");
  const file = Object.hasOwn(files, pathname) ? files[pathname] : undefined;
  if (file !== undefined) return method === "GET" ? sendFile(response, file) : refuse(405, "GET.");
  if (pathname === "/mails" && method === "GET") return send(response, 200, await desk.mails());
  if (pathname === "/mails" && method === "POST") {
    const { text } = await bodyOf(request, Mail, 'Send { "text": "…" }, with at most 4000 characters.');
    return send(response, 201, { id: await desk.take(text) });
  }
  if (pathname === "/decisions" && method === "POST") {
    const chosen = await bodyOf(request, Chosen, 'Send { "token": "…", "pay": true }, or "pay": false and a "reason".');
    const id = await desk.decide(chosen.token, chosen.pay ? allow() : deny(chosen.reason));
    return send(response, 200, { id });
  }
  const [, id, again] = /^\/(mail\/[\w-]{1,64})(\/again)?$/.exec(pathname) ?? [];
  if (id !== undefined && again === undefined && method === "GET") {
    const mail = await desk.mail(id);
    return mail === undefined ? refuse(404, "There is no such mail.") : send(response, 200, mail);
  }
  if (id !== undefined && again !== undefined && method === "POST") {
    await bodyOf(request, z.object({}), "Send {}.");
    return (await desk.again(id)) ? send(response, 202, { id }) : refuse(404, "There is no such mail.");
  }
  refuse(
    id === undefined && !["/mails", "/decisions"].includes(pathname) ? 404 : 405,
    "There is nothing here for that.",
  );
}

function refuse(status: number, message: string): never {
  throw new Refusal(status, message);
}

/** @throws {Refusal} for what the pages would not send. */
async function bodyOf<T>(request: IncomingMessage, schema: z.ZodType<T>, expected: string): Promise<T> {
  // A form of another site cannot send this type: the browser would ask this server first, which does not allow it.
  if (!/^application\/json\b/.test(request.headers["content-type"] ?? "")) refuse(415, "Send JSON.");
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // What is too long is read to its end and not kept: a connection that is cut brings no answer.
    if (bytes <= longestBody) chunks.push(chunk);
  }
  if (bytes > longestBody) refuse(413, "It is too long.");
  const { success, data } = schema.safeParse(parsed(Buffer.concat(chunks).toString("utf8")));
  return success ? data : refuse(400, expected);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusalOf(error: unknown): Pick<Refusal, "status" | "message"> {
  if (error instanceof Refusal) return error;
  if (error instanceof JournalError && error.reason === "token") {
    return { status: 410, message: "This link does not decide any more: it was used, or its time is over." };
  }
  if (error instanceof JournalError && error.reason === "busy") {
    return { status: 409, message: "The question is being asked at this moment. Try again." };
  }
  return { status: 500, message: "Something went wrong." };
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
