import {
  returnedResult,
  toJsonValue,
  VisibilityExpansionRequired,
  type RejectedParams,
  type Tool,
  type ToolCall,
  type ToolResult,
} from "@proviso/core";
import { failureBehind, isFailure, messageOf, type Failure } from "../failures.ts";
import type { CallResources } from "../resources/context.ts";
import type { Run } from "../run.ts";
import { parseArguments, validateInput } from "./arguments.ts";
import { startCallTime, type CallTime } from "./call-time.ts";
import { callContext, type CallContext } from "./context.ts";
import { checkPolicies, policiesFor } from "./policies.ts";
import { openingOf, type Opening } from "./disclosure.ts";
import type { Transaction } from "./transaction.ts";

/** What is told of a call in `tool.invoked`, and the limit that ended the evaluation meanwhile. */
export interface Invocation {
  readonly params: unknown;
  readonly result: ToolResult;
  readonly stop?: Failure | undefined;
  /** Sections that are to be open from the next request on. */
  readonly opens?: Opening | undefined;
}

/** A call whose arguments fit. */
export interface Accepted {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly input: unknown;
}

/** The call with its arguments read and its handler announced, or why it cannot be run. */
export async function prepare(run: Run, call: ToolCall): Promise<Accepted | Invocation> {
  const tool = run.tools.get(call.name);
  if (tool === undefined) return rejected(run, call, unknownTool(run, call));
  const parsing = parseArguments(tool, call);
  const parsed = parsing instanceof Promise ? await run.limits.race(parsing, "tool") : parsing;
  if (isFailure(parsed)) return { ...rejected(run, call, `Not run: ${parsed.message}`), stop: parsed };
  if (!parsed.ok) return rejected(run, call, parsed.error);
  const passed = run.limits.stopped("tool");
  if (passed !== undefined) return { ...rejected(run, call, `Not run: ${passed.message}`), stop: passed };
  run.emit({ type: "tool.requested", turn: run.turn, callId: call.id, name: call.name, arguments: call.arguments });
  return { call, tool, input: parsed.input };
}

/** Runs what was prepared, within the evaluation's limits and its own; afterwards nothing of its context works. */
export async function invoke(run: Run, accepted: Accepted, transaction: Transaction): Promise<Invocation> {
  const { call, tool, input } = accepted;
  const resources = run.resources.forCall();
  const time = startCallTime(run, call, tool);
  const context = callContext(run, accepted, transaction, resources.resources, time.signal);
  try {
    const handling = handle(run, accepted, context, { resources, time });
    const ended = await run.limits.race(time.within(handling), "tool");
    if (ended === "timeout") return { params: jsonOf(input), result: handlerFailed(run, call, time.message) };
    if (!isFailure(ended)) return ended;
    return { params: jsonOf(input), result: failed(`Stopped: ${ended.message}`), stop: ended };
  } finally {
    const ending = context.end();
    time.end();
    if (ending !== undefined) await run.withinGrace(ending, () => {});
    const closing = resources.close();
    if (closing !== undefined) {
      await run.withinGrace(closing, (error) =>
        run.log("error", { tool: call.name, error: messageOf(error) }, "resource.close.failed"),
      );
    }
  }
}

/** Policies, then the handler, unless the call is over by then; never rejects. */
async function handle(
  run: Run,
  { call, tool, input: given }: Accepted,
  calling: CallContext,
  { resources, time }: { readonly resources: CallResources; readonly time: CallTime },
): Promise<Invocation> {
  let input = given;
  // A handler may change what it was given.
  let params = jsonOf(input);
  try {
    const opening = resources.open();
    if (opening !== undefined) await opening;
    const before = notBegun(run, calling, time);
    if (before !== undefined) return { params, ...before };
    const policies = policiesFor(run, tool);
    if (policies.length > 0) {
      const verdict = await checkPolicies(policies, tool, input, calling.context);
      if (verdict.denied !== undefined) return { params, result: failed(verdict.denied) };
      if (verdict.replaced) {
        const checked = await validateInput(tool, verdict.input);
        if (!checked.ok) return { params, result: failed(checked.error) };
        input = checked.input;
        params = jsonOf(input);
      }
      const after = notBegun(run, calling, time);
      if (after !== undefined) return { params, ...after };
    }
    calling.beginHandler();
    const result = resultOf(await tool.execute(input, calling.context));
    const why = result.success ? calling.refused() : result.message;
    return { params, result: why === undefined ? result : handlerFailed(run, call, why) };
  } catch (error) {
    if (error instanceof VisibilityExpansionRequired) return { params, ...openingOf(run, tool.name, error) };
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

/** The evaluation's own budget that a nested evaluation found spent; a narrower one of its own ends nothing here. */
function stopBehind(run: Run, error: unknown): Failure | undefined {
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
  const json = toJsonValue(result.value);
  if (json === undefined) return failed("The tool returned a value that is not JSON.");
  return { ...result, value: json.value ?? null };
}

export function failed(message: string): ToolResult {
  return { success: false, message: message === "" ? "The tool failed." : message };
}

function jsonOf(value: unknown): unknown {
  return toJsonValue(value)?.value ?? null;
}
