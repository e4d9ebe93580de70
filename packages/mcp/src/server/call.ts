import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import {
  deadlineIn,
  definePrompt,
  errorReason,
  type Deadline,
  type Tool,
  type ToolCall,
  type ToolInvoked,
  type ToolMessage,
} from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { agentAdapter, createSession, type AgentRun } from "@proviso/runtime";
import { systemId } from "@proviso/runtime/internal";
import { redactionFor } from "../source.ts";
import { blockOf, everyFile, textWithoutFiles } from "./file-blocks.ts";
import type { Served } from "./options.ts";

/** A caller of the served tools. */
export type ToolCaller = (
  name: string,
  input: Readonly<Record<string, unknown>>,
  request: ServerContext["mcpReq"],
) => Promise<CallToolResult>;

/**
 * Every call is an evaluation of an agent that makes this call and no other: what it changes is a transaction, and its
 * policies, events and limits are those of any call.
 */
export function toolCaller({ options, tools }: Served): ToolCaller {
  const { clock, random, newId, logger, observers, secrets, session, resources, policies, callMs } = options;
  const environment = { clock, random, newId, logger, observers, secrets };
  const sections = [{ key: "tools", text: "A client calls one of these tools.", tools: [...tools] }];
  const prompt = definePrompt({ ns: "mcp", key: "call", sections }).bind();
  const hide = redactionFor(secrets ?? []);
  return async (name, input, request) => {
    const call: ToolCall = { id: (newId ?? systemId)(), name, arguments: JSON.stringify(input) };
    // The references of its files have their bytes with them.
    let answer: ToolMessage | undefined;
    const answered = (message: ToolMessage): void => void (answer = message);
    const capabilities = { files: everyFile };
    const adapter = agentAdapter(
      { name: "mcp", model: "client", capabilities, drive: (run) => drive(run, call, answered) },
      environment,
    );
    const stream = adapter.stream(prompt, {
      session: session ?? createSession(),
      resources,
      policies,
      signal: request.signal,
      deadline: deadlineFor(callMs, clock),
    });
    try {
      for await (const event of stream) {
        if (event.type === "tool.progress" && event.callId === call.id) await notify(request, event);
      }
      const { toolResults } = await stream.response;
      const text = answer === undefined ? "" : hide(textWithoutFiles(answer));
      const blocks = await Promise.all(answer?.files?.map(({ file }) => blockOf(file, hide)) ?? []);
      return resultOf(
        toolResults.find(({ callId }) => callId === call.id),
        { text, blocks },
        tools,
      );
    } catch (error) {
      return failed(messageOf(error), error);
    }
  };
}

function deadlineFor(ms: number, clock: Parameters<typeof deadlineIn>[1]): Deadline {
  return clock === undefined ? deadlineIn(ms) : deadlineIn(ms, clock);
}

/** The client reads the result of the call; the answer only ends the evaluation, which accepts no blank one. */
async function drive(
  run: AgentRun,
  call: ToolCall,
  answered: (message: ToolMessage) => void,
): ReturnType<Parameters<typeof agentAdapter>[0]["drive"]> {
  const message = await run.executeToolCall(call);
  answered(message);
  const text = textWithoutFiles(message);
  return {
    message: { role: "assistant", text: text.trim() === "" ? "." : text, toolCalls: [] },
    usage: { inputTokens: 0, outputTokens: 0 },
    finishReason: "stop",
  };
}

async function notify(
  { _meta, notify: send }: ServerContext["mcpReq"],
  {
    done,
    total,
    message,
  }: { readonly done: number; readonly total?: number | undefined; readonly message?: string | undefined },
): Promise<void> {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return;
  const params = {
    progressToken,
    progress: done,
    ...(total === undefined ? {} : { total }),
    ...(message === undefined ? {} : { message }),
  };
  // A client that has left reads no progress.
  await send({ method: "notifications/progress", params }).catch(() => {});
}

function resultOf(
  invoked: ToolInvoked | undefined,
  { text, blocks }: { readonly text: string; readonly blocks: CallToolResult["content"] },
  tools: readonly Tool[],
): CallToolResult {
  if (invoked === undefined) return failed(text, undefined);
  const { result, cause, name } = invoked;
  if (!result.success) return failed(result.message, cause);
  const isShown = result.hideValue !== true && isRecord(result.value);
  const isStructured = isShown && tools.find((tool) => tool.name === name)?.output !== undefined;
  const structured = isStructured ? { structuredContent: result.value as Record<string, unknown> } : {};
  const isSilent = result.message === "" && result.value === null;
  return {
    content: isSilent && blocks.length > 0 ? blocks : [{ type: "text", text: isSilent ? "" : text }, ...blocks],
    ...structured,
  };
}

/** A failure has no stack. `errorReason` is the label of an evaluation that failed inside the call. */
export function failed(message: string, cause: unknown): CallToolResult {
  const reason = errorReason(cause);
  return {
    content: [{ type: "text", text: message }],
    isError: true,
    ...(reason === undefined ? {} : { _meta: { errorReason: reason } }),
  };
}
