import { messageOf } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { withShownAddresses } from "@proviso/runtime/internal";
import { unreadable } from "./corrected-answers.ts";
import { lostError, McpError, UnsentError } from "./mcp-error.ts";
import { visibleText, visibleValue } from "./visible-text.ts";

/** The client of the protocol's own SDK. */
export type Sdk = typeof import("@modelcontextprotocol/client");

/** Loaded with the first connection: a program that only names a server does not pay for it. */
export const loadSdk = (): Promise<Sdk> => import("@modelcontextprotocol/client");

/** Longer than any evaluation: times are ours, and not the SDK's. */
export const noTimeout = 2 ** 31 - 1;

/** What went wrong, as an McpError; an abort stays what it is. */
export function errorOf(error: unknown, server: string, sdk: Sdk): unknown {
  if (error instanceof McpError) return error;
  if (error instanceof sdk.ProtocolError) {
    const cause = visibleError(error);
    if (cause.message.startsWith(unreadable))
      return unreadableError(server, cause.message.slice(unreadable.length), cause);
    return new McpError("protocol", server, `${server} answered with an error: ${cause.message}`, { cause });
  }
  const code = isRecord(error) ? error["code"] : undefined;
  const { SdkErrorCode } = sdk;
  if (code === SdkErrorCode.NotConnected || code === SdkErrorCode.SendFailed) return new UnsentError(server, error);
  if (code === SdkErrorCode.ConnectionClosed) return lostError(server, error);
  const status = isRecord(error) && isRecord(error["data"]) ? error["data"]["status"] : undefined;
  const isServersFault = typeof status === "number" && (status >= 500 || status < 300);
  if (isServersFault || isUnreadable(error, sdk)) {
    return unreadableError(server, isServersFault ? `status ${status}` : "it is not of the protocol", error);
  }
  return new McpError("protocol", server, `${server} could not be asked: ${withShownAddresses(messageOf(error))}`, {
    cause: error,
  });
}

function unreadableError(server: string, what: string, cause: unknown): McpError {
  const message = `${server} gave no answer that can be read (${what}). What it had done is not known.`;
  return new McpError("protocol", server, message, { cause });
}

/** Whether an answer came that is not one of the protocol. */
export function isUnreadable(error: unknown, { SdkErrorCode }: Sdk): boolean {
  const { code, name } = isRecord(error) ? error : ({} as Record<string, unknown>);
  if (code === SdkErrorCode.InvalidResult || code === SdkErrorCode.ClientHttpUnexpectedContent) return true;
  // The SDK passes on what reading a body throws: JSON.parse, or the schema of its messages.
  return name === "SyntaxError" || name === "ZodError" || name === "$ZodError";
}

/** The server has written its message and its data: a secret with an invisible character in it would not be recognised. */
function visibleError(error: Error): Error {
  const { message, stack = "" } = error;
  error.message = visibleText(message);
  error.stack = visibleText(stack);
  if ("data" in error) Object.defineProperty(error, "data", { value: visibleValue(error.data), configurable: true });
  return error;
}
