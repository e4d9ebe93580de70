import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}
export interface LoopbackServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1` */
  readonly baseURL: string;
  readonly requests: readonly Received[];
}
export type Respond = (response: ServerResponse) => void;

/** A server on the loopback that answers in order, the last answer again and again. */
export async function startServer(...answers: readonly Respond[]): Promise<LoopbackServer> {
  const requests: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Received["body"];
      requests.push({ path: request.url ?? "", headers: request.headers, body });
      answers[Math.min(requests.length, answers.length) - 1]?.(response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers with a status, JSON (or a text as it is) and headers. */
export function answering(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Respond {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}
