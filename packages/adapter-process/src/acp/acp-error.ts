import { RequestError } from "@agentclientprotocol/sdk";
import type { ModelFailure, ProviderErrorReason } from "@proviso/core";
import { modelFailureFrom } from "@proviso/adapter-kit";
import { stderrShown } from "../command-line-model.ts";
import { openedSecretsOf } from "../options.ts";
import { whyNotStarted } from "@proviso/node/internal";
import type { Exit } from "@proviso/node/internal";
import type { CheckedAgentOptions } from "./options.ts";
import { shownOf, WireError } from "./wire.ts";

/** How an agent was left, when its turn has failed. */
export interface Left extends Exit {
  readonly stderr: string;
}

/** The agent refused for a reason that we know ourselves. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly reason: ProviderErrorReason;
  constructor(reason: ProviderErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Whether the error is the cause itself, or only the end of the connection. */
export function isCause(error: unknown): boolean {
  return error instanceof RefusedError || error instanceof RequestError || error instanceof WireError;
}

export function timedOut({ exitCode, signal, stderr }: Left, options: CheckedAgentOptions): ModelFailure {
  const { command, timeoutMs } = options;
  const printed = stderrShown(stderr, openedSecretsOf(options));
  const message = `The agent ${JSON.stringify(command)} did not answer within ${timeoutMs} ms.${printed}`;
  return { failure: "throttle", kind: "timeout", message, payload: { exitCode, signal, stderr } };
}

/** Makes the failure of a turn. */
export function failureOf(error: unknown, left: Left, options: CheckedAgentOptions): ModelFailure {
  const name = `The agent ${JSON.stringify(options.command)}`;
  if (error instanceof RefusedError) {
    return { failure: "provider", reason: error.reason, message: `${name} ${error.message}`, cause: error.cause };
  }
  if (error instanceof RequestError) return fromRequestError(error, name, openedSecretsOf(options));
  return fromProcess(error, left, name, options);
}

/** The protocol's codes, and HTTP's, which some agents use in their place. */
function fromRequestError(
  { code, message, data }: RequestError,
  name: string,
  secrets: ReturnType<typeof openedSecretsOf>,
): ModelFailure {
  const failure =
    code >= 400 && code < 600 ? fromStatus(code, data) : { failure: "provider" as const, reason: reasonOf(code) };
  const needsLogin = failure.failure === "provider" && failure.reason === "api_key";
  const help = needsLogin
    ? " Log in with its own command first, or name the variable that holds its key in the option env."
    : "";
  return {
    ...failure,
    message: `${name} refused: ${sentence(shownOf(message, secrets))}${help}`,
    payload: { code, message, data },
  };
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function fromStatus(status: number, data: unknown): ModelFailure {
  return modelFailureFrom({ status, headers: new Headers() }, data);
}

function reasonOf(code: number): ProviderErrorReason {
  if (code === -32_000) return "api_key";
  return code === -32_600 || code === -32_601 || code === -32_602 ? "bad_request" : "unknown";
}

function fromProcess(error: unknown, left: Left, name: string, options: CheckedAgentOptions): ModelFailure {
  const { command, cwd } = options;
  const { exitCode, signal, stderr } = left;
  const printed = stderrShown(stderr, openedSecretsOf(options));
  const failed = (what: string, cause?: unknown): ModelFailure => ({
    failure: "process",
    exitCode,
    signal,
    stderr,
    message: `${name} ${what}`,
    payload: { stdout: error instanceof WireError ? error.printed : "", stderr },
    cause,
  });
  if (left.error !== undefined) return failed(whyNotStarted(left.error, command, cwd), left.error);
  if (error instanceof WireError) return failed(`${error.message}.${printed}`);
  const how = signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
  return failed(`${how} before it had answered.${printed}`);
}
