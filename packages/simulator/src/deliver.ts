import type { ServerResponse } from "node:http";
import { pause } from "./clock.ts";
import type { FaultName } from "./faults.ts";
import type { WireStream } from "./stream-faults.ts";
import type { HttpStep } from "./types.ts";

/** What is sent, and how. */
export interface Delivery extends HttpStep {
  /** In place of a body. */
  readonly stream?: WireStream | undefined;
  readonly fault?: FaultName | undefined;
  /** Milliseconds between two events of a stream. */
  readonly eventMs?: number | undefined;
}

/** Milliseconds between two pieces of a body that drips. */
const dripMs = 5;
const drips = 20;

/** Sends until it is sent, or the other side is gone. */
export async function deliver(
  response: ServerResponse,
  delivery: Delivery,
  headers: Readonly<Record<string, string>>,
  gone: AbortSignal,
): Promise<void> {
  const { status, fault, stream, body } = delivery;
  if (gone.aborted || fault === "hang") return;
  if (fault === "reset_before_headers") return void response.destroy();
  const isText = typeof body === "string";
  const type = stream === undefined ? (isText ? "text/plain; charset=utf-8" : "application/json") : "text/event-stream";
  response.writeHead(status, {
    "content-type": fault === "wrong_content_type" ? "text/plain" : type,
    ...(stream === undefined ? {} : { "cache-control": "no-cache" }),
    ...headers,
    ...delivery.headers,
  });
  if (fault === "reset_after_headers" || fault === "hang_after_headers") {
    response.flushHeaders();
    if (fault === "hang_after_headers") return;
    await pause(dripMs, gone);
    return void response.destroy();
  }
  const pieces = stream?.pieces ?? [isText ? body : JSON.stringify(body ?? {})];
  if (fault === "reset_in_body" || fault === "cut_body") {
    const text = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
    response.write(text.subarray(0, Math.floor(text.length / 2)));
    await pause(dripMs, gone);
    return fault === "cut_body" ? void response.end() : void response.destroy();
  }
  if (fault === "slow_body") return drip(response, pieces, gone);
  return sendAll(response, pieces, delivery, gone);
}

async function drip(response: ServerResponse, pieces: readonly (string | Buffer)[], gone: AbortSignal): Promise<void> {
  const text = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
  const size = Math.max(1, Math.ceil(text.length / drips));
  for (let from = 0; from < text.length && !gone.aborted; from += size) {
    response.write(text.subarray(from, from + size));
    await pause(dripMs, gone);
  }
  response.end();
}

async function sendAll(
  response: ServerResponse,
  pieces: readonly (string | Buffer)[],
  { stream, eventMs = 0 }: Delivery,
  gone: AbortSignal,
): Promise<void> {
  // Pieces that were cut on purpose have to arrive apart.
  const apart = stream !== undefined && pieces.some((piece) => typeof piece !== "string");
  if (eventMs === 0 && !apart) response.write(pieces.length === 1 ? (pieces[0] ?? "") : pieces.join(""));
  else {
    for (const piece of pieces) {
      if (gone.aborted) return;
      response.write(piece);
      await pause(Math.max(1, eventMs), gone);
    }
  }
  if (stream?.staysOpen !== true) response.end();
}
