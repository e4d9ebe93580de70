import type { IncomingMessage } from "node:http";

const largestBody = 64 * 1024 * 1024;

/** The text; "too large" for one over 64 MiB; undefined when the client left before its end. */
export function readBody(request: IncomingMessage): Promise<{ readonly text: string } | "too large" | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= largestBody) chunks.push(chunk);
      else chunks.length = 0;
    });
    request.once("end", () => resolve(size > largestBody ? "too large" : { text: textOf(chunks) }));
    request.once("close", () => resolve(undefined));
    request.on("error", () => resolve(undefined));
  });
}

function textOf(chunks: readonly Buffer[]): string {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only.toString("utf8") : Buffer.concat(chunks).toString("utf8");
}
