// What a server asks in the middle of a call: something of a person, or a text of a model.
import { isEvaluationFailure, type ToolContext } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { McpError } from "./mcp-error.ts";
import type { CheckedConnectOptions, McpElicited } from "./options.ts";
import { visibleText, visibleValue } from "./visible-text.ts";

/** The call to which what is asked belongs. */
export interface AskedCall {
  readonly server: string;
  /** The server's own name of the tool. */
  readonly tool: string;
  readonly context: ToolContext;
}

const defaultMaxOutputTokens = 1_000;

/**
 * The answer to a request of the server.
 * @throws {McpError} "refused" for what is not offered, or not approved.
 */
export async function answerAsked(
  options: CheckedConnectOptions,
  { method, params }: { readonly method: string; readonly params: unknown },
  call: AskedCall,
): Promise<Record<string, unknown>> {
  const given = isRecord(params) ? params : {};
  if (method === "elicitation/create") return { ...(await elicited(options, given, call)) };
  if (method === "sampling/createMessage") return sampled(options, given, call);
  throw new McpError("refused", call.server, `${call.server} asked for ${method}, which is not offered.`);
}

async function elicited(
  { elicit }: CheckedConnectOptions,
  { message, requestedSchema, url }: Readonly<Record<string, unknown>>,
  { server, tool, context }: AskedCall,
): Promise<McpElicited> {
  if (elicit === undefined) return { action: "decline" };
  const answer = await elicit(
    {
      server,
      tool,
      message: visibleText(typeof message === "string" ? message : ""),
      ...(isRecord(requestedSchema) ? { schema: visibleValue(requestedSchema) as Record<string, unknown> } : {}),
      ...(typeof url === "string" ? { url } : {}),
    },
    context,
  );
  return answer.action === "accept" && isRecord(requestedSchema) ? withDefaults(answer, requestedSchema) : answer;
}

/** A form that was accepted has its defaults where nothing was entered. */
function withDefaults(
  answer: Extract<McpElicited, { action: "accept" }>,
  { properties }: Readonly<Record<string, unknown>>,
): McpElicited {
  const defaults = Object.entries(isRecord(properties) ? properties : {}).flatMap(([name, field]) =>
    isRecord(field) && Object.hasOwn(field, "default") ? [[name, field["default"]] as const] : [],
  );
  return defaults.length === 0
    ? answer
    : { ...answer, content: { ...Object.fromEntries(defaults), ...answer.content } };
}

async function sampled(
  { sampling }: CheckedConnectOptions,
  params: Readonly<Record<string, unknown>>,
  { server, context }: AskedCall,
): Promise<Record<string, unknown>> {
  const refuse = (why: string, cause?: unknown): McpError =>
    new McpError("refused", server, `${server} asked for a text of a model: ${why}.`, { cause });
  if (sampling === undefined) throw refuse("none is offered");
  const { tools, toolChoice, includeContext, maxTokens } = params;
  if ((Array.isArray(tools) && tools.length > 0) || toolChoice !== undefined) throw refuse("tools are not offered");
  if (includeContext !== undefined && includeContext !== "none") throw refuse("other contexts are not offered");
  const text = textOf(params);
  if (text === undefined) throw refuse("texts alone are offered");
  if (sampling.approve !== undefined && (await sampling.approve(text, context)) !== true)
    throw refuse("it was not approved");
  const most = sampling.maxOutputTokens ?? defaultMaxOutputTokens;
  const wanted = typeof maxTokens === "number" && maxTokens >= 1 ? Math.floor(maxTokens) : most;
  const { adapter = context.adapter } = sampling;
  const answer = (output: string, stopReason: "endTurn" | "maxTokens"): Record<string, unknown> => ({
    role: "assistant",
    content: { type: "text", text: output },
    model: adapter.name,
    stopReason,
  });
  try {
    const { output } = await context.evaluate(text, { adapter, budget: { maxOutputTokens: Math.min(wanted, most) } });
    return answer(output, "endTurn");
  } catch (error) {
    const cut = isEvaluationFailure(error) && error.code === "budget" ? error.text : undefined;
    if (cut === undefined) throw refuse(messageOf(error), error);
    return answer(cut, "maxTokens");
  }
}

/** undefined where it holds anything but texts. */
function textOf({ systemPrompt, messages }: Readonly<Record<string, unknown>>): string | undefined {
  const turns: { readonly role: string; readonly text: string }[] = [];
  for (const message of Array.isArray(messages) ? (messages as readonly unknown[]) : []) {
    if (!isRecord(message)) return undefined;
    for (const part of [message["content"]].flat()) {
      if (!isRecord(part) || part["type"] !== "text" || typeof part["text"] !== "string") return undefined;
      turns.push({ role: String(message["role"]), text: visibleText(part["text"]) });
    }
  }
  const [only] = turns;
  if (only === undefined) return undefined;
  const conversation = turns.length === 1 ? only.text : turns.map(({ role, text }) => `${role}: ${text}`).join("\n\n");
  return typeof systemPrompt === "string" ? `${visibleText(systemPrompt)}\n\n${conversation}` : conversation;
}
