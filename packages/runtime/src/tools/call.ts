import {
  encodeJson,
  isThenable,
  returnedResult,
  toJsonValue,
  VisibilityExpansionRequired,
  type FrameworkEvent,
  type RejectedParams,
  type Tool,
  type ToolCall,
  type ToolPolicy,
  type ToolResult,
} from "@proviso/core";
import { failureBehind, isFailure, messageOf, type Failure } from "../failures.ts";
import { isA } from "../is-a.ts";
import type { Run } from "../run.ts";
import { runAsPartOf } from "../transactions/async-context.ts";
import { LockFault, type Transaction } from "../transactions/transaction.ts";
import { parseArguments, type Arguments } from "./arguments.ts";
import { startCallTime, type CallTime } from "./call-time.ts";
import { callContext, type CallContext } from "./context.ts";
import { openingOf, type Opening } from "./disclosure.ts";
import { checkPolicies } from "./policies.ts";

/** What is recorded of a call in `tool.invoked`, and the limit that ended the evaluation meanwhile. */
export interface Invocation {
  readonly params: unknown;
  readonly result: ToolResult;
  readonly stop?: Failure | undefined;
  /** Sections that are to be open from the next request on. */
  readonly opens?: Opening | undefined;
}

/** A call whose arguments fit; its input is frozen. */
export interface Accepted {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly input: unknown;
  /** Given: its `tool.requested` was emitted before the transaction began. */
  readonly announced?: FrameworkEvent | undefined;
}

/** What the policies have to do with a call. */
export interface Watched {
  readonly policies: readonly ToolPolicy[];
  /** The input that was approved, where somebody had to. */
  readonly approved?: { readonly input: unknown } | undefined;
  /** Only the policies' checks are asked: the handler comes later, once the call is approved. */
  readonly checksOnly?: boolean;
}

/** The call with its arguments read, or why it cannot be run; at once where its schema validates at once. */
export function prepare(run: Run, call: ToolCall): Accepted | Invocation | Promise<Accepted | Invocation> {
  try {
    const tool = run.tools.get(call.name);
    if (tool === undefined) return rejected(run, call, unknownTool(run, call));
    const parsing = parseArguments(tool, call);
    if (!isThenable(parsing)) return accepted(run, call, tool, parsing);
    return run.limits.race(parsing, "tool").then((parsed) => accepted(run, call, tool, parsed));
  } catch (cause) {
    return unforeseen(run, call, cause);
  }
}

/** What threw where nobody expected it is the failed result of this call, and of no other. */
function unforeseen(run: Run, call: ToolCall, cause: unknown): Invocation {
  return rejected(run, call, `The call of ${call.name} failed where nothing should: ${messageOf(cause)}`);
}

function accepted(run: Run, call: ToolCall, tool: Tool, parsed: Arguments | Failure): Accepted | Invocation {
  if (isFailure(parsed)) return { ...rejected(run, call, `Not run: ${parsed.message}`), stop: parsed };
  if (!parsed.ok) return rejected(run, call, parsed.error);
  const stop = run.limits.stopped("tool");
  if (stop !== undefined) return { ...rejected(run, call, `Not run: ${stop.message}`), stop };
  return { call, tool, input: parsed.input };
}

/** Emits `tool.requested`; inside the call's transaction, so that what reducers make of it is undone with the call. */
export function announceCall(run: Run, { id: callId, name, arguments: given }: ToolCall): FrameworkEvent {
  return run.emit({ type: "tool.requested", turn: run.turn, callId, name, arguments: given }).event;
}

/**
 * Runs what was prepared, within the evaluation's limits and its own; afterwards nothing of its context works. Where only
 * the checks are asked, a success holds the input that they let through.
 */
export async function invoke(
  run: Run,
  accepted: Accepted,
  transaction: Transaction,
  watched: Watched,
): Promise<Invocation | Accepted> {
  try {
    const time = startCallTime(run, accepted.call, accepted.tool);
    const calling = callContext(run, accepted, transaction, time.signal);
    return await called(run, accepted, { calling, time, transaction }, watched);
  } catch (cause) {
    return unforeseen(run, accepted.call, cause);
  }
}

async function called(
  run: Run,
  accepted: Accepted,
  { calling, time, transaction }: Handling & { readonly transaction: Transaction },
  watched: Watched,
): Promise<Invocation | Accepted> {
  const { call, input } = accepted;
  try {
    const handling = runAsPartOf({ transaction, guard: calling.guard }, () =>
      handle(run, accepted, { calling, time }, watched),
    );
    const ended = await run.limits.race(time.within(handling), "tool");
    if (ended === "timeout") return { params: jsonOf(input), result: handlerFailed(run, call, time.message) };
    if (!isFailure(ended)) return ended;
    return { params: jsonOf(input), result: failed(`Stopped: ${ended.message}`), stop: ended };
  } finally {
    const ending = calling.end();
    time.end();
    if (ending !== undefined) await run.withinGrace(ending, () => {});
    // What it made may have to be restored yet: it is closed when the outermost transaction has ended.
    const close = calling.closeResources();
    if (close !== undefined) transaction.closings.push(close);
  }
}

interface Handling {
  readonly calling: CallContext;
  readonly time: CallTime;
}

/** Checks, then the handler, unless the call is over by then; never rejects. */
async function handle(
  run: Run,
  accepted: Accepted,
  { calling, time }: Handling,
  { policies, approved, checksOnly = false }: Watched,
): Promise<Invocation | Accepted> {
  const { call, tool } = accepted;
  let { input } = accepted;
  try {
    const opening = calling.openResources();
    if (opening !== undefined) await opening;
    const before = notBegun(run, calling, time);
    if (before !== undefined) return { params: jsonOf(input), ...before };
    if (policies.length > 0) {
      const verdict = await checkPolicies(policies, accepted, calling, approved);
      if (verdict.denied !== undefined) return { params: jsonOf(input), result: failed(verdict.denied) };
      const refused = calling.refused();
      if (refused !== undefined) return { params: jsonOf(input), result: failed(refused) };
      input = verdict.input;
      const after = notBegun(run, calling, time);
      if (after !== undefined) return { params: jsonOf(input), ...after };
    }
    if (checksOnly) return { ...accepted, input };
    calling.beginHandler();
    const result = resultOf(await tool.execute(input, calling.context));
    const why = result.success ? calling.refused() : result.message;
    return { params: jsonOf(input), result: why === undefined ? result : handlerFailed(run, call, why) };
  } catch (error) {
    const params = jsonOf(input);
    if (isA(error, VisibilityExpansionRequired)) return { params, ...openingOf(run, tool.name, error) };
    return { params, result: handlerFailed(run, call, messageOf(error)), stop: stopBehind(run, error) };
  }
}

/** Why neither policies nor the handler may begin any more: a listener aborted, or what was waited for came late. */
function notBegun(run: Run, calling: CallContext, time: CallTime): Omit<Invocation, "params"> | undefined {
  const stop = run.limits.stopped("tool");
  if (stop !== undefined) return { result: failed(`Not run: ${stop.message}`), stop };
  if (calling.isLive() && !time.isUp()) return undefined;
  return { result: failed("Not run: the call is over.") };
}

/** A wait for a lock that ended badly, or the evaluation's own budget that a nested evaluation found spent; a narrower one of its own ends nothing here. */
function stopBehind(run: Run, error: unknown): Failure | undefined {
  if (isA(error, LockFault)) return error.failure;
  const failure = failureBehind(error);
  if (failure?.stop !== "budget" || failure.tracker !== run.limits.budget) return undefined;
  return { ...failure, phase: "tool" };
}

function handlerFailed(run: Run, call: ToolCall, message: string): ToolResult {
  run.log("warn", { tool: call.name, callId: call.id, error: message }, "tool.failed");
  return failed(message);
}

function rejected(run: Run, call: ToolCall, error: string): Invocation {
  run.log("warn", { tool: call.name, callId: call.id, error }, "tool.rejected");
  const params: RejectedParams = { rawArguments: String(call.arguments ?? ""), error };
  return { params, result: failed(error) };
}

function unknownTool(run: Run, call: ToolCall): string {
  const names = [...run.tools.keys()].join(", ");
  return `There is no tool "${call.name}". ${names === "" ? "There are none." : `The tools are: ${names}.`}`;
}

/** Only what toolOk and toolError made is a result; all else is a value. */
function resultOf(returned: unknown): ToolResult {
  const result = returnedResult(returned) ?? { success: true, message: "", value: returned, hideValue: false };
  if (!result.success) return failed(result.message);
  if (isA(result.value, Error)) return failed(messageOf(result.value));
  const json = encodeJson(result.value);
  if (json.error !== undefined) return failed(`The tool returned a value that is ${json.error}.`);
  return { ...result, value: json.value ?? null };
}

export function failed(message: string): ToolResult {
  return { success: false, message: message === "" ? "The tool failed." : message };
}

export function jsonOf(value: unknown): unknown {
  return toJsonValue(value)?.value ?? null;
}
