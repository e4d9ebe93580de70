import {
  client,
  methods,
  PROTOCOL_VERSION,
  type ClientContext,
  type InitializeResponse,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { ModelFailure, ModelResponse } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import type { AgentRun } from "@proviso/runtime";
import { logSafely } from "@proviso/runtime/internal";
import { resolve } from "node:path";
import { openedSecretsOf } from "../options.ts";
import { toPrompt } from "../to-prompt.ts";
import { within } from "@proviso/node/internal";
import { RefusedError, isCause } from "./acp-error.ts";
import type { GroupProcess } from "@proviso/node/internal";
import { promptBlocks } from "./files.ts";
import { collectUpdates, fromTurn } from "./from-updates.ts";
import type { CheckedAgentOptions } from "./options.ts";
import { answerPermission, cancelled } from "./permissions.ts";
import { serveTools, type ToolServer, type ToolSource } from "./tool-server.ts";
import { wireOf } from "./wire.ts";

/** How a turn ended: an answer, or why there is none. */
export type TurnEnd = { readonly answer: ModelResponse | ModelFailure } | { readonly error: unknown };

export interface Turn {
  /** Never rejects. */
  readonly ended: Promise<TurnEnd>;
  /** Asks the agent to give up, and waits a little until it has. No tool of ours is called any more. */
  cancel(): Promise<void>;
  /** Closes the connection and the tool server. */
  close(): Promise<void>;
}

/** Whether an update is of the session that this turn has begun. */
function isOfTurn(params: unknown, { sessionId }: State): boolean {
  return sessionId !== undefined && isRecord(params) && (params["sessionId"] ?? sessionId) === sessionId;
}

/** Milliseconds in which an agent may give up a turn after it was asked to cancel. */
const cancelMs = 300;

/** One session of one prompt with an agent that was just started. */
export function beginTurn(options: CheckedAgentOptions, run: AgentRun, agent: GroupProcess): Turn {
  const updates = collectUpdates(run.onDelta);
  const state: State = { over: false, sessionId: undefined, tools: undefined };
  const permit = async (request: RequestPermissionRequest): Promise<RequestPermissionResponse> => {
    if (state.over) return cancelled;
    const names = run.rendered.tools.map(({ name }) => name);
    const title = updates.titleOf(request.toolCall.toolCallId);
    const answer = await answerPermission(options.permissions, request, names, title);
    return state.over ? cancelled : answer;
  };
  const onUpdate = (params: unknown): void => void (isOfTurn(params, state) && updates.read(params));
  const secrets = openedSecretsOf(options);
  const connection = client({ name: "proviso" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => permit(params))
    .connect(wireOf(agent, onUpdate, secrets));
  const failed = (error: unknown): TurnEnd => {
    if (connection.signal.aborted || isCause(error)) return { error };
    return { error: new RefusedError("unknown", `could not be driven: ${String(error)}`, { cause: error }) };
  };
  const ended = converse(connection.agent, options, run, state)
    .then((response): TurnEnd => ({ answer: fromTurn(response, updates, secrets) }))
    .catch(failed);
  return {
    ended,
    async cancel() {
      state.over = true;
      await closeTools(state);
      if (state.sessionId === undefined) return;
      const { sessionId } = state;
      // Not waited for: it may read no more.
      connection.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {});
      await within(cancelMs, () => ended);
    },
    async close() {
      state.over = true;
      connection.close();
      await ended;
      await closeTools(state);
    },
  };
}

interface State {
  over: boolean;
  sessionId: string | undefined;
  tools: Promise<ToolServer> | undefined;
}

/** Runs the conversation from `initialize` to the answer to `session/prompt`. */
async function converse(
  agent: ClientContext,
  options: CheckedAgentOptions,
  run: AgentRun,
  state: State,
): Promise<PromptResponse> {
  const initialized = await initialize(agent);
  const prompt = promptBlocks(toPrompt({ messages: run.messages, tools: [], toolChoice: undefined }), run, initialized);
  if (run.rendered.tools.length > 0 && !state.over) {
    checkTransport(initialized);
    state.tools = serveTools(sourceOf(options, run));
  }
  const tools = await state.tools;
  const cwd = resolve(options.cwd ?? ".");
  const mcpServers = tools === undefined ? [] : [tools.declaration];
  const session = await agent.request(methods.agent.session.new, { cwd, mcpServers });
  const sessionId = textOr(session?.sessionId, "opened a session without an id");
  state.sessionId = sessionId;
  const response = await agent.request(methods.agent.session.prompt, { sessionId, prompt });
  const { command, logger } = options;
  if (tools?.asked() === false && logger !== undefined) {
    logSafely(logger, "warn", () => ({ command }), "acp.tools.unseen");
  }
  return response;
}

function sourceOf({ permissions }: CheckedAgentOptions, run: AgentRun): ToolSource {
  return {
    rendered: () => run.rendered,
    trusted: permissions === "own-tools" || permissions === "all",
    executeToolCall: (call) => run.executeToolCall(call),
  };
}

/** We have no terminals and no files for it: what it did with them would be in no transaction. */
async function initialize(agent: ClientContext): Promise<InitializeResponse> {
  const initialized = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: "proviso", version: "0.0.0" },
  });
  const version: unknown = initialized?.protocolVersion;
  if (version === PROTOCOL_VERSION) return initialized;
  throw new RefusedError(
    "bad_request",
    `speaks version ${JSON.stringify(version)} of the Agent Client Protocol, and this adapter speaks ${PROTOCOL_VERSION}.`,
  );
}

function checkTransport({ agentCapabilities }: InitializeResponse): void {
  if (agentCapabilities?.mcpCapabilities?.http === true) return;
  throw new RefusedError(
    "bad_request",
    "takes no MCP servers over HTTP, so the prompt's tools cannot reach it. Use a newer one, or a prompt without tools.",
  );
}

function textOr(value: unknown, otherwise: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new RefusedError("invalid_response", `${otherwise}.`);
}

async function closeTools({ tools }: State): Promise<void> {
  const server = await tools?.catch(() => undefined);
  await server?.close();
}
