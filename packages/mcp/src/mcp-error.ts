import { visibleText } from "./visible-text.ts";

/** Why a server could not be used. */
export type McpFault = "connect" | "closed" | "timeout" | "protocol" | "changed" | "refused";

/**
 * What went wrong between this program and a server: "connect", it could not be reached; "closed", the connection was
 * lost; "timeout", it was silent for too long; "protocol", it answered with an error or with what is no answer; "changed",
 * a tool is not what it was; "refused", it wants what it may not have. A tool's own failure is none: that is a failed
 * result.
 */
export class McpError extends Error {
  readonly code = "mcp";
  override readonly name = "McpError";
  /** What went wrong. */
  readonly reason: McpFault;
  /** The name of the server, or how it is reached where its name is not known. */
  readonly server: string;

  constructor(reason: McpFault, server: string, message: string, options?: { readonly cause?: unknown }) {
    // A model reads the message of a call that failed, and a server has written a part of it.
    super(visibleText(message), options);
    this.reason = reason;
    this.server = server;
  }
}

/** The error of what could not be sent: the server knows nothing of it, and it may be asked over another connection. */
export class UnsentError extends McpError {
  constructor(server: string, cause: unknown) {
    super("closed", server, `The connection to ${server} was lost before it could be asked.`, { cause });
  }
}

/** The error of what was under way when a connection was lost. */
export function lostError(server: string, cause?: unknown): McpError {
  const message = `The connection to ${server} was lost. What it had done is not known.`;
  return new McpError("closed", server, message, cause === undefined ? undefined : { cause });
}

/** The error without secrets: an McpError stays one, with its reason. The very error where it shows none. */
export function withoutSecrets(error: unknown, redact: <T>(value: T) => T): unknown {
  const shown = redact(error);
  if (shown === error || !(error instanceof McpError)) return shown;
  return new McpError(error.reason, redact(error.server), redact(error.message), { cause: redact(error.cause) });
}
