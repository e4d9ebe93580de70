import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface GeminiRequest {
  readonly path: string;
  readonly key: string | undefined;
  readonly body: {
    readonly generationConfig: Readonly<Record<string, unknown>>;
    readonly tools: readonly { readonly functionDeclarations: readonly Readonly<Record<string, unknown>>[] }[];
    readonly contents: readonly {
      readonly role: string;
      readonly parts: readonly Readonly<Record<string, unknown>>[];
    }[];
  };
}

/** Never answered: the request hangs. */
export const silence = "silence";
export type Reply =
  | typeof silence
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> };

/** Source: https://ai.google.dev/api/generate-content, the response of generateContent. */
export function says(parts: readonly object[], finishReason = "STOP"): Reply {
  const candidates = [{ content: { role: "model", parts }, finishReason, index: 0 }];
  const usageMetadata = { promptTokenCount: 20, candidatesTokenCount: 5, totalTokenCount: 25 };
  return { status: 200, body: { candidates, usageMetadata, modelVersion: "gemini-2.0-flash" } };
}

export function calls(name: string, args: object): Reply {
  return says([{ functionCall: { name, args } }]);
}

/** An error as Google tells it. Source: https://cloud.google.com/apis/design/errors */
export function refuses(status: number, name: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers, body: { error: { code: status, message: `It is ${name}.`, status: name } } };
}

/** A server on this machine that replies in this order. */
export async function startGemini(...replies: readonly Reply[]) {
  const requests: GeminiRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as GeminiRequest["body"];
      const key = request.headers["x-goog-api-key"];
      requests.push({ path: request.url ?? "", key: Array.isArray(key) ? key[0] : key, body });
      const reply = replies[requests.length - 1];
      if (reply === silence) return;
      const {
        status,
        body: answer,
        headers,
      } = reply ?? { status: 404, body: "nothing more was expected", headers: {} };
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: requests as readonly GeminiRequest[],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
