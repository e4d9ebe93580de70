import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import {
  deadlineIn,
  definePrompt,
  errorReason,
  type Deadline,
  type Tool,
  type ToolCall,
  type ToolInvoked,
} from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { agentAdapter, createSession, type AgentRun } from "@proviso/runtime";
import { systemId } from "@proviso/runtime/internal";
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
  const { clock, random, newId, logger, secrets, session, resources, policies, callMs } = options;
  const environment = { clock, random, newId, logger, secrets };
  const sections = [{ key: "tools", text: "A client calls one of these tools.", tools: [...tools] }];
  const prompt = definePrompt({ ns: "mcp", key: "call", sections }).bind();
  return async (name, input, request) => {
    const call: ToolCall = { id: (newId ?? systemId)(), name, arguments: JSON.stringify(input) };
    const adapter = agentAdapter({ name: "mcp", model: "client", drive: (run) => drive(run, call) }, environment);
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
      const { toolResults, messages } = await stream.response;
      const text = messages.findLast((message) => message.role === "assistant")?.text ?? "";
      return resultOf(
        toolResults.find(({ callId }) => callId === call.id),
        text,
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

/** The answer is what a model would read of the call. */
async function drive(run: AgentRun, call: ToolCall): ReturnType<Parameters<typeof agentAdapter>[0]["drive"]> {
  const { text } = await run.executeToolCall(call);
  return {
    message: { role: "assistant", text: text === "" ? "." : text, toolCalls: [] },
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

function resultOf(invoked: ToolInvoked | undefined, text: string, tools: readonly Tool[]): CallToolResult {
  if (invoked === undefined) return failed(text, undefined);
  const { result, cause, name } = invoked;
  if (!result.success) return failed(result.message, cause);
  const isStructured = isRecord(result.value) && tools.find((tool) => tool.name === name)?.output !== undefined;
  const structured = isStructured ? { structuredContent: result.value as Record<string, unknown> } : {};
  return {
    content: [{ type: "text", text: result.message === "" && result.value === null ? "" : text }],
    ...structured,
  };
}

/** A failure has no stack. `errorReason` is the label of an evaluation that failed inside the call. */
function failed(message: string, cause: unknown): CallToolResult {
  const reason = errorReason(cause);
  return {
    content: [{ type: "text", text: message }],
    isError: true,
    ...(reason === undefined ? {} : { _meta: { errorReason: reason } }),
  };
}
