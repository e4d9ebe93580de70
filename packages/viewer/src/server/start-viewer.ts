// 1. Nothing but 127.0.0.1 is listened on, and nothing of a request is believed before the guard has looked at it.
// 2. The token is in no answer and in no log: it is in the address alone, behind "#".
// 3. Everything is read; no request changes anything.
import { DefinitionError, JournalError, systemClock, type Clock, type EvalReader, type RunReader } from "@proviso/core";
import { describeValue, messageOf } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerApi, ApiFault } from "./api.ts";
import { pageAsset } from "./assets.ts";
import { answer, answerJson, refusal } from "./guard.ts";
import { streamRun, streamRuns } from "./live.ts";
import { RunViews, type RowsOf } from "./run-views.ts";
import { hasToken, newToken } from "./secret.ts";

/** What the viewer shows, and where. */
export interface ViewerOptions {
  /** The runs. */
  readonly runs: RunReader;
  /** The results of evals. Default: none are shown. */
  readonly evals?: EvalReader | undefined;
  /** The port, from 0 to 65,535. Default 0: a free one. */
  readonly port?: number | undefined;
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock | undefined;
}

/** A viewer that is open. */
export interface Viewer extends AsyncDisposable {
  /**
   * The address with the token after "#", where it is in no request and no log. With `&/run/<id>` behind it, the id as
   * `encodeURIComponent` has it, it opens that run.
   */
  readonly url: string;
  /** The port that it listens on. */
  readonly port: number;
  /** Ends it, and the live streams with it. */
  close(): Promise<void>;
}

/**
 * Serves the viewer on 127.0.0.1, read-only, until it is closed.
 * @throws {DefinitionError} for a port that is taken or out of range, and for runs that are no reader.
 */
export async function startViewer(options: ViewerOptions): Promise<Viewer> {
  const { runs, evals, port = 0, clock = systemClock } = checked(options);
  const token = newToken();
  const closing = new AbortController();
  const views = new RunViews(runs);
  const parts: Parts = { runs, evals, views, clock, token, signal: closing.signal, port: () => bound };
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    handle(request, response, parts).catch((error: unknown) => failed(response, error));
  };
  // Node would answer by itself, without our headers, where there is no host, or something is expected.
  const server = createServer({ requireHostHeader: false }, take);
  server.on("checkContinue", take);
  server.on("checkExpectation", (request, response) => answer(response, refusal(request, bound) ?? 417));
  server.on("clientError", (_error, socket) => socket.destroy());
  for (const event of ["upgrade", "connect"] as const) server.on(event, (_request, socket) => socket.destroy());
  const bound = await listening(server, port);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closed ??= new Promise((done) => {
      closing.abort();
      server.close(() => done());
      server.closeAllConnections();
    }));
  return Object.freeze({
    url: `http://127.0.0.1:${bound}/#t=${token}`,
    port: bound,
    close,
    [Symbol.asyncDispose]: close,
  });
}

interface Parts {
  readonly runs: RunReader;
  readonly evals: EvalReader | undefined;
  readonly views: RunViews;
  readonly clock: Clock;
  readonly token: string;
  readonly signal: AbortSignal;
  port(): number;
}

function checked(options: ViewerOptions): ViewerOptions {
  checkOptionNames("startViewer", options, { runs: true, evals: true, port: true, clock: true });
  const { runs, evals, port = 0 } = options;
  checkReader("runs", runs, ["list", "summary", "records", "follow"]);
  if (evals !== undefined) checkReader("evals", evals, ["list", "report", "attempts"]);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new DefinitionError(`The port has to be a whole number from 0 to 65535, not ${describeValue(port)}.`);
  }
  return options;
}

function checkReader(option: string, reader: unknown, names: readonly string[]): void {
  const missing = names.find(
    (name) => typeof (reader as Readonly<Record<string, unknown>> | undefined)?.[name] !== "function",
  );
  if (missing === undefined) return;
  throw new DefinitionError(
    `The option ${option} of startViewer is no reader of ${option}: it has no function "${missing}".`,
  );
}

async function listening(server: Server, port: number): Promise<number> {
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen({ port, host: "127.0.0.1", exclusive: true }, done);
  }).catch((error: unknown) => {
    throw new DefinitionError(`The viewer cannot listen on port ${port}: ${messageOf(error)}`, { cause: error });
  });
  return (server.address() as AddressInfo).port;
}

/** Targets of requests are read as paths of it. */
const origin = "http://127.0.0.1";

/** Answers a request. Rejects where that fails: nothing may be left unhandled. */
async function handle(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  // What a page that has left still would get is dropped.
  response.on("error", () => {});
  const refused = refusal(request, parts.port());
  if (refused !== undefined) return answer(response, refused);
  const target = URL.parse(request.url ?? "/", origin);
  // A backslash is read as a slash, so what begins with "/\" may have a host of its own too, or be no address.
  if (target?.origin !== origin) return answer(response, 400);
  const { pathname, searchParams } = target;
  const isApi = pathname.startsWith("/api/");
  if (isApi && !hasToken(request.headers.authorization, parts.token)) return answer(response, 401);
  if (!isApi) {
    const asset = pageAsset(pathname);
    return asset === undefined ? answer(response, 404) : answer(response, 200, asset.body, asset.type);
  }
  const path = pathname.slice("/api/".length).split("/").map(decodeURIComponent);
  if (path[0] === "follow") return follow(response, searchParams, parts);
  const value = await answerApi(parts, path, searchParams);
  return value === undefined ? answer(response, 404) : answerJson(response, value);
}

async function follow(response: ServerResponse, query: URLSearchParams, parts: Parts): Promise<void> {
  const leaving = new AbortController();
  response.on("close", () => leaving.abort());
  const signal = AbortSignal.any([parts.signal, leaving.signal]);
  const { runs: reader, views, clock } = parts;
  const runId = query.get("run");
  const after = Number(query.get("after") ?? -1);
  if (!Number.isSafeInteger(after)) throw new ApiFault(400, "after has to be a whole number.");
  if (runId === null) return streamRuns(response, { reader, views, clock, signal });
  return streamRun(response, { reader, views, clock, runId, after, shown: shownIn(query), signal });
}

/** What the page that follows a run shows of it; undefined: it does not say. */
function shownIn(query: URLSearchParams): RowsOf | undefined {
  const version = query.get("version");
  if (version === null) return undefined;
  return { begunBy: query.get("begunBy") ?? undefined, version: Number(version) };
}

function failed(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  if (error instanceof ApiFault) return answer(response, error.status, error.message);
  if (error instanceof DefinitionError || error instanceof URIError) return answer(response, 400, messageOf(error));
  const isGone = error instanceof JournalError && error.reason === "not_found";
  answer(response, isGone ? 404 : 500, messageOf(error));
}
