import type { CallToolResult, Client, Progress } from "@modelcontextprotocol/client";
import { isRecord } from "@proviso/core/provider";
import { answerAsked, type AskedCall } from "./asked.ts";
import type { McpToolInfo } from "./definitions.ts";
import { lostError, McpError, UnsentError } from "./mcp-error.ts";
import type { CheckedConnectOptions } from "./options.ts";
import { errorOf, noTimeout, type Sdk } from "./sdk.ts";
import type { Silence } from "./silence.ts";
import { visibleText, visibleValue } from "./visible-text.ts";

/** Times that a server may ask for something in one call. */
const mostRounds = 16;

interface Calling {
  readonly sdk: Sdk;
  readonly client: Client;
  readonly options: CheckedConnectOptions;
  readonly call: AskedCall;
  readonly silence: Silence;
  /** Takes the server's secrets out. */
  redact<T>(value: T): T;
}

/**
 * Calls a tool and answers what the server asks meanwhile. The end of the call's signal reaches the server at once, and so
 * does `callMs` without progress.
 * @throws {McpError} or what the signal was aborted with
 */
export async function callTool(
  calling: Calling,
  tool: McpToolInfo,
  input: Readonly<Record<string, unknown>>,
): Promise<CallToolResult> {
  const { call, sdk, silence } = calling;
  const { signal } = call.context;
  const stop = (): void => silence.controller.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    return await rounds(calling, tool, input);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (silence.controller.signal.aborted) throw silence.controller.signal.reason;
    throw errorOf(error, call.server, sdk);
  } finally {
    signal.removeEventListener("abort", stop);
    silence.end();
  }
}

async function rounds(
  { client, options, call, sdk, silence, redact }: Calling,
  { name, inputSchema }: McpToolInfo,
  input: Readonly<Record<string, unknown>>,
): Promise<CallToolResult> {
  // The output schema is left out: the tool checks it.
  const toolDefinition = { name, inputSchema } as never;
  let params: Readonly<Record<string, unknown>> = { name, arguments: input };
  for (let round = 0; round <= mostRounds; round++) {
    const asking = client.callTool(params as never, {
      toolDefinition,
      allowInputRequired: true,
      signal: silence.controller.signal,
      timeout: noTimeout,
      onprogress(progress) {
        silence.begin();
        report(call, redact, progress);
      },
    });
    const answer: unknown = await asking.catch((cause: unknown) => {
      const error = errorOf(cause, call.server, sdk);
      // The server knows of the call since its first round.
      throw error instanceof UnsentError && round > 0 ? lostError(call.server, error) : error;
    });
    if (!sdk.isInputRequiredResult(answer)) return answer as CallToolResult;
    // An answer to it would not be sent.
    if (round === mostRounds) break;
    const { inputRequests, requestState } = answer as {
      readonly inputRequests?: unknown;
      readonly requestState?: unknown;
    };
    const inputResponses: Record<string, unknown> = {};
    for (const [id, asked] of Object.entries(isRecord(inputRequests) ? inputRequests : {})) {
      const { method, params: what } = isRecord(asked) ? asked : {};
      const request = { method: String(method), params: redact(visibleValue(what)) };
      inputResponses[id] = await silence.paused(() => answerAsked(options, request, call));
    }
    params = { name, arguments: input, inputResponses, ...(requestState === undefined ? {} : { requestState }) };
  }
  throw new McpError("protocol", call.server, `${call.server} asked more than ${mostRounds} times in one call.`);
}

function report({ context }: AskedCall, redact: Calling["redact"], { progress, total, message }: Progress): void {
  const isAmount = (value: unknown): value is number =>
    typeof value === "number" && Number.isFinite(value) && value >= 0;
  if (!isAmount(progress)) return;
  context.progress({
    done: progress,
    ...(isAmount(total) ? { total } : {}),
    ...(typeof message === "string" ? { message: redact(visibleText(message)) } : {}),
  });
}
