import {
  returnedResult,
  toJsonValue,
  type AssistantMessage,
  type RejectedParams,
  type Tool,
  type ToolCall,
  type ToolInvoked,
  type ToolMessage,
  type ToolResult,
} from "@proviso/core";
import { firing } from "../limits.ts";
import { messageOf, isFailure, type Failure } from "../failures.ts";
import type { CallResources } from "../resources/context.ts";
import type { Run } from "../run.ts";
import { parseArguments, validateInput, type Arguments } from "./arguments.ts";
import { callContext, type RevocableContext } from "./context.ts";
import { toolMessage } from "./message.ts";
import { checkPolicies } from "./policies.ts";
import { beginTransaction, commit, rollback, type Transaction } from "./transaction.ts";

/** What came of a call: the model's answer, and the limit that ended the evaluation meanwhile. */
interface CallOutcome {
  readonly message: ToolMessage;
  readonly stop: Failure | undefined;
}

/** One call after another in the model's order; every call is answered, whatever happens. */
export async function executeToolCalls(run: Run, message: AssistantMessage): Promise<Failure | undefined> {
  const answers: ToolMessage[] = [];
  let stop = run.limits.check("tool");
  for (const call of message.toolCalls) {
    if (stop !== undefined) {
      answers.push(toolMessage(call, { success: false, message: `Not run: ${stop.message}` }));
      continue;
    }
    const outcome = await executeToolCall(run, call);
    answers.push(outcome.message);
    stop = outcome.stop ?? run.limits.check("tool");
  }
  run.conversation.append(message, answers);
  return stop;
}

/** What is told of a call in `tool.invoked`. */
interface Invocation {
  readonly params: unknown;
  readonly result: ToolResult;
  readonly stop?: Failure | undefined;
}

/** One call, wholly done or wholly undone. */
async function executeToolCall(run: Run, call: ToolCall): Promise<CallOutcome> {
  const startedAt = run.world.clock.now();
  const transaction = await run.limits.race(begin(run, call), "tool");
  if (isFailure(transaction) || "error" in transaction) return notBegun(run, call, transaction, startedAt);
  const invocation = await invoke(run, call, transaction);
  let { result } = invocation;
  if (result.success) {
    const beforeEvent = run.core.mark("all");
    const errors = record(run, call, invocation.params, result, startedAt);
    if (errors.length === 0) commit(run, transaction);
    else {
      // Recorded means committed: what could not be recorded did not happen.
      run.core.rollback(beforeEvent);
      await rollback(run, transaction);
      result = {
        success: false,
        message: `The call of ${call.name} could not be recorded: ${errors.map(messageOf).join("; ")}`,
      };
      record(run, call, invocation.params, result, startedAt);
    }
  } else {
    await rollback(run, transaction);
    record(run, call, invocation.params, result, startedAt);
  }
  return { message: toolMessage(call, result), stop: invocation.stop };
}

async function begin(run: Run, call: ToolCall): Promise<Transaction | { readonly error: unknown }> {
  try {
    return await beginTransaction(run, call.name);
  } catch (error) {
    return { error };
  }
}

/** Without a snapshot nothing may change: the handler is not run. */
function notBegun(
  run: Run,
  call: ToolCall,
  why: Failure | { readonly error: unknown },
  startedAt: number,
): CallOutcome {
  const stop = isFailure(why) ? why : undefined;
  const message = isFailure(why)
    ? `Not run: ${why.message}`
    : `Not run: no snapshot could be made: ${messageOf(why.error)}`;
  const params: RejectedParams = { rawArguments: String(call.arguments), error: message };
  const result = failed(message);
  record(run, call, params, result, startedAt);
  return { message: toolMessage(call, result), stop };
}

async function invoke(run: Run, call: ToolCall, transaction: Transaction): Promise<Invocation> {
  const tool = run.tools.get(call.name);
  const parsed =
    tool === undefined ? unknownTool(run, call) : await run.limits.race(parseArguments(tool, call), "tool");
  if (isFailure(parsed))
    return { ...rejected(run, call, { ok: false, error: `Not run: ${parsed.message}` }), stop: parsed };
  if (tool === undefined || !parsed.ok) return rejected(run, call, parsed);
  run.emit({ type: "tool.requested", turn: run.turn, callId: call.id, name: call.name, arguments: call.arguments });

  const resources = run.resources.forCall();
  const timeout = new AbortController();
  const signal =
    tool.timeoutMs === undefined ? run.limits.signal : AbortSignal.any([run.limits.signal, timeout.signal]);
  const context = callContext(run, call, transaction, resources.resources, signal);
  try {
    const work = withTimeout(run, tool, timeout, parsed.input, handle(run, tool, parsed.input, context, resources));
    const invocation = await run.limits.race(work, "tool");
    if (!isFailure(invocation)) return invocation;
    const result = { success: false, message: `Stopped: ${invocation.message}` } as const;
    return { params: jsonOf(parsed.input), result, stop: invocation };
  } finally {
    context.revoke();
    await run.withinGrace(resources.close(), (error) =>
      run.log("error", { tool: call.name, error: messageOf(error) }, "resource.close.failed"),
    );
  }
}

/** Policies, then the handler; never rejects. */
async function handle(
  run: Run,
  tool: Tool,
  given: unknown,
  { context }: RevocableContext,
  resources: CallResources,
): Promise<Invocation> {
  let input = given;
  try {
    await resources.open();
    const verdict = await checkPolicies(run, tool, input, context);
    if (verdict.denied !== undefined) return { params: jsonOf(input), result: failed(verdict.denied) };
    if (verdict.replaced) {
      const checked = await validateInput(tool, verdict.input);
      if (!checked.ok) return { params: jsonOf(input), result: failed(checked.error) };
      input = checked.input;
    }
    const returned: unknown = await tool.execute(input, context);
    return { params: jsonOf(input), result: resultOf(returned) };
  } catch (error) {
    run.log("warn", { tool: tool.name, error: messageOf(error) }, "tool.failed");
    return { params: jsonOf(input), result: failed(messageOf(error)) };
  }
}

/** The invocation, or a failed one when the tool's own time is up first. */
async function withTimeout(
  run: Run,
  tool: Tool,
  timeout: AbortController,
  input: unknown,
  work: Promise<Invocation>,
): Promise<Invocation> {
  const { timeoutMs } = tool;
  if (timeoutMs === undefined) return work;
  const done = new AbortController();
  const message = `${tool.name} took longer than ${timeoutMs} ms and was stopped.`;
  const timer = run.world.clock.sleep(timeoutMs, done.signal).then(
    () => timeout.abort(new DOMException(message, "TimeoutError")),
    () => {},
  );
  const fired = firing(timeout.signal);
  try {
    const first = await Promise.race([work, fired.promise]);
    return first ?? { params: jsonOf(input), result: failed(message) };
  } finally {
    fired.release();
    done.abort();
    await timer;
  }
}

function rejected(run: Run, call: ToolCall, parsed: Arguments): Invocation {
  const error = parsed.ok ? "" : parsed.error;
  run.log("warn", { tool: call.name, callId: call.id, error }, "tool.rejected");
  const params: RejectedParams = { rawArguments: String(call.arguments ?? ""), error };
  return { params, result: failed(error) };
}

function unknownTool(run: Run, call: ToolCall): Arguments {
  const names = [...run.tools.keys()].join(", ");
  return {
    ok: false,
    error: `There is no tool "${call.name}". ${names === "" ? "There are none." : `The tools are: ${names}.`}`,
  };
}

/** Only what toolOk and toolError made is a result; all else is a value. */
function resultOf(returned: unknown): ToolResult {
  const result = returnedResult(returned) ?? { success: true, message: "", value: returned, hideValue: false };
  if (!result.success) return result;
  const json = toJsonValue(result.value);
  if (json === undefined) return failed("The tool returned a value that is not JSON.");
  return { ...result, value: json.value ?? null };
}

function failed(message: string): ToolResult {
  return { success: false, message: message === "" ? "The tool failed." : message };
}

function jsonOf(value: unknown): unknown {
  return toJsonValue(value)?.value ?? null;
}

/** `tool.invoked`, reduced and heard. */
function record(run: Run, call: ToolCall, params: unknown, result: ToolResult, startedAt: number): readonly unknown[] {
  const { event, errors } = run.emit({
    type: "tool.invoked",
    turn: run.turn,
    callId: call.id,
    name: call.name,
    params,
    result,
    durationMs: run.world.clock.now() - startedAt,
  });
  // A vetoed success is followed by the failed result of the same call.
  if (errors.length === 0 || !result.success) run.toolResults.push(event as ToolInvoked);
  return errors;
}
