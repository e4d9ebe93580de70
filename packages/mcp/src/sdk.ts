import { messageOf } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { McpError } from "./mcp-error.ts";

/** The client of the protocol's own SDK. */
export type Sdk = typeof import("@modelcontextprotocol/client");

/** Loaded with the first connection: a program that only names a server does not pay for it. */
export const loadSdk = (): Promise<Sdk> => import("@modelcontextprotocol/client");

/** Longer than any evaluation: times are ours, and not the SDK's. */
export const noTimeout = 2 ** 31 - 1;

/** What went wrong, as an McpError; an abort stays what it is. */
export function errorOf(error: unknown, server: string, sdk: Sdk): unknown {
  if (error instanceof McpError) return error;
  if (error instanceof sdk.ProtocolError)
    return new McpError("protocol", server, `${server} answered with an error: ${error.message}`, { cause: error });
  const code = isRecord(error) ? error["code"] : undefined;
  const { SdkErrorCode } = sdk;
  if (code === SdkErrorCode.ConnectionClosed || code === SdkErrorCode.NotConnected || code === SdkErrorCode.SendFailed)
    return new McpError("closed", server, `The connection to ${server} was lost. What it had done is not known.`, {
      cause: error,
    });
  return new McpError("protocol", server, `${server} could not be asked: ${messageOf(error)}`, { cause: error });
}
