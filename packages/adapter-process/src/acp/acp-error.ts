import { RequestError } from "@agentclientprotocol/sdk";
import type { ModelFailure, ProviderErrorReason } from "@proviso/core";
import { existsSync } from "node:fs";
import { told, whyNotStarted } from "../command-line-model.ts";
import type { Exit } from "../run-command.ts";
import type { CheckedAgentOptions } from "./options.ts";
import { WireError } from "./wire.ts";

/** How an agent was left, when its turn has failed. */
export interface Left extends Exit {
  readonly stderr: string;
}

/** The agent refused for a reason that we know ourselves. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly reason: ProviderErrorReason;
  constructor(reason: ProviderErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Did the agent say it, or did the connection only end? */
export function wasTold(error: unknown): boolean {
  return error instanceof RefusedError || error instanceof RequestError || error instanceof WireError;
}

export function timedOut(
  { exitCode, signal, stderr }: Left,
  { command, timeoutMs }: CheckedAgentOptions,
): ModelFailure {
  const message = `The agent ${JSON.stringify(command)} did not answer within ${timeoutMs} ms.${told(stderr)}`;
  return { failure: "throttle", kind: "timeout", message, payload: { exitCode, signal, stderr } };
}

/** What a turn that failed is told as. */
export function failureOf(error: unknown, left: Left, options: CheckedAgentOptions): ModelFailure {
  const name = `The agent ${JSON.stringify(options.command)}`;
  if (error instanceof RefusedError) {
    return { failure: "provider", reason: error.reason, message: `${name} ${error.message}` };
  }
  if (error instanceof RequestError) return fromRequestError(error, name);
  return fromProcess(error, left, name, options);
}

/** Its own error codes, and HTTP's, which some agents use in their place. */
function fromRequestError({ code, message, data }: RequestError, name: string): ModelFailure {
  const said = { message: `${name} refused: ${message}`, payload: { code, message, data } };
  const status = code >= 100 && code < 600 ? { status: code } : {};
  if (code === -32_000 || code === 401 || code === 403) {
    const help = "Log in with its own command first, or name the variable that holds its key in the option env.";
    return { failure: "provider", reason: "api_key", ...said, ...status, message: `${said.message}. ${help}` };
  }
  if (code === 429) return { failure: "throttle", kind: "rate_limit", ...said, ...status };
  if (code === 408) return { failure: "throttle", kind: "timeout", ...said, ...status };
  if (code >= 500 && code < 600) return { failure: "throttle", kind: "server_error", ...said, ...status };
  if (code === -32_600 || code === -32_601 || code === -32_602) {
    return { failure: "provider", reason: "bad_request", ...said };
  }
  return { failure: "provider", reason: "unknown", ...said, ...status };
}

function fromProcess(error: unknown, left: Left, name: string, { cwd }: CheckedAgentOptions): ModelFailure {
  const { exitCode, signal, stderr } = left;
  const failed = (what: string, cause?: unknown): ModelFailure => ({
    failure: "process",
    exitCode,
    signal,
    stderr,
    message: `${name} ${what}`,
    cause,
  });
  if (left.error !== undefined) {
    const lost = cwd !== undefined && !existsSync(cwd) ? cwd : undefined;
    return failed(whyNotStarted(left.error, lost), left.error);
  }
  if (error instanceof WireError) return failed(`${error.message}.${told(stderr)}`);
  const how = signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
  return failed(`${how} before it had answered.${told(stderr)}`);
}
