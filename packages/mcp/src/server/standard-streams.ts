import type { Server } from "@modelcontextprotocol/server";
import type { CallGroup } from "./call-group.ts";

/** Serves this process's standard input and output until the other side closes them, or `close` is called. */
export interface StandardStreams {
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export function serveStandardStreams(
  serveStdio: (server: () => Server) => { close(): Promise<void> },
  server: () => Server,
  calls: CallGroup,
): StandardStreams {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  const serving = serveStdio(server);
  for (const event of ["end", "close"] as const) process.stdin.once(event, end);
  const close = async (): Promise<void> => {
    for (const event of ["end", "close"] as const) process.stdin.off(event, end);
    await Promise.all([calls.close(), serving.close()]);
    end();
  };
  let closing: Promise<void> | undefined;
  return { ended, close: () => (closing ??= close()) };
}
