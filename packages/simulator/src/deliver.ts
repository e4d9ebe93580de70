import type { ServerResponse } from "node:http";
import { pause, systemClock, type SimulatorClock } from "./clock.ts";
import type { FaultName } from "./faults.ts";

/** What is sent, and how. */
export interface Delivery {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Written one after another. */
  readonly pieces: readonly (string | Buffer)[];
  readonly fault: FaultName | undefined;
  /** Milliseconds between two pieces. */
  readonly pieceMs: number;
}

type Ending = "end" | "open" | "close" | "reset";
const endings: { readonly [name in FaultName]?: Ending } = {
  hang: "open",
  hang_after_headers: "open",
  stream_stalls: "open",
  body_stalls: "open",
  short_body: "close",
  closed_before_headers: "close",
  reset_before_headers: "reset",
  reset_after_headers: "reset",
  reset_in_body: "reset",
};
/** Whether the fault itself ends the connection before the answer's end. */
export function breaksOff(fault: FaultName | undefined): boolean {
  const ending = fault && endings[fault];
  return ending === "close" || ending === "reset";
}

const nothing: ReadonlySet<unknown> = new Set<FaultName>(["hang", "reset_before_headers", "closed_before_headers"]);
const headersOnly: ReadonlySet<unknown> = new Set<FaultName>(["hang_after_headers", "reset_after_headers"]);
const half: ReadonlySet<unknown> = new Set<FaultName>(["reset_in_body", "cut_body", "short_body", "body_stalls"]);

/** Milliseconds between two pieces of a body that drips. */
const dripMs = 5;
const drips = 20;

/** Sends until it is sent, or the other side is gone; then the signal has fired. */
export async function deliver(
  response: ServerResponse,
  delivery: Delivery,
  clock: SimulatorClock,
  gone: AbortSignal,
): Promise<void> {
  const { status, headers, pieces, fault } = delivery;
  if (gone.aborted) return;
  const ending = (fault && endings[fault]) ?? "end";
  if (!nothing.has(fault)) {
    response.writeHead(status, headers);
    if (ending === "end" && pieces.length === 1 && !half.has(fault) && fault !== "slow_body") {
      response.end(pieces[0]);
      return;
    }
    response.flushHeaders();
    if (!headersOnly.has(fault)) await sendPieces(response, delivery, clock, gone);
  }
  if (gone.aborted) return;
  if (ending === "end") response.end();
  else if (ending !== "open") await cut(response, ending, gone);
}

/** The time that what was written has to reach the client before the connection breaks. */
const flushMs = 10;

async function cut(response: ServerResponse, how: "close" | "reset", gone: AbortSignal): Promise<void> {
  if (response.socket === null) await itsTurn(response, gone);
  if (response.headersSent) await pause(systemClock, flushMs, gone);
  if (how === "reset") response.socket?.resetAndDestroy();
  else response.socket?.destroySoon();
}

/** A pipelined request's answer has the connection when those before it are sent. */
function itsTurn(response: ServerResponse, gone: AbortSignal): Promise<void> {
  return settled(gone, (done) => response.once("socket", done));
}

function sendPieces(
  response: ServerResponse,
  delivery: Delivery,
  clock: SimulatorClock,
  gone: AbortSignal,
): Promise<void> {
  const { pieces, pieceMs, fault } = delivery;
  if (half.has(fault) || fault === "slow_body") {
    const bytes = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
    if (fault === "slow_body") return sendApart(response, slices(bytes), dripMs, clock, gone);
    return sendAtOnce(response, [bytes.subarray(0, Math.floor(bytes.length / 2))], gone);
  }
  return pieceMs > 0 ? sendApart(response, pieces, pieceMs, clock, gone) : sendAtOnce(response, pieces, gone);
}

function slices(bytes: Buffer): readonly Buffer[] {
  const size = Math.max(1, Math.ceil(bytes.length / drips));
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

async function sendApart(
  response: ServerResponse,
  pieces: readonly (string | Buffer)[],
  pieceMs: number,
  clock: SimulatorClock,
  gone: AbortSignal,
): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await pause(clock, pieceMs, gone);
    if (gone.aborted) return;
    response.write(piece);
  }
}

/** Characters that are gathered for one write to the socket. */
const gathered = 64 * 1024;

/** Bytes that were cut on purpose stay apart; texts are put together. */
async function sendAtOnce(
  response: ServerResponse,
  pieces: readonly (string | Buffer)[],
  gone: AbortSignal,
): Promise<void> {
  let text = "";
  for (const piece of pieces) {
    if (typeof piece === "string") text += piece;
    else await write(response, piece, gone);
    if (text.length < gathered) continue;
    await write(response, text, gone);
    text = "";
  }
  await write(response, text, gone);
}

async function write(response: ServerResponse, piece: string | Buffer, gone: AbortSignal): Promise<void> {
  if (gone.aborted || piece.length === 0 || response.write(piece)) return;
  await drained(response, gone);
}

function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  return settled(gone, (done) => response.once("drain", done));
}

/** When it happens, or the other side is gone. */
function settled(gone: AbortSignal, listen: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      gone.removeEventListener("abort", done);
      resolve();
    };
    listen(done);
    gone.addEventListener("abort", done, { once: true });
  });
}
