import {
  VisibilityExpansionRequired,
  type RejectedParams,
  type Tool,
  type ToolCall,
  type ToolPolicy,
  type ToolResult,
} from "@proviso/core";
import { isThenable, messageOf, returnedResult, isA, after } from "@proviso/core/internal";
import { resultWithFiles } from "../content/files-of.ts";
import { isFailure, type Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import { runAsPartOf } from "../transactions/async-context.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { ownInput, parseArguments, type Arguments } from "./arguments.ts";
import { startCallTime, type CallTime } from "./call-timeout.ts";
import { callContext, type CallContext } from "./context.ts";
import { openingOf } from "../disclosure/opening.ts";
import type { Accepted, Invocation, Watched } from "./invocation.ts";
import { checkPolicies } from "./policies.ts";
import { failed, jsonOf, resultOf, loggedError, unknownTool } from "./result.ts";
import { leaveBehind, stopBehind } from "./stop-behind.ts";

/** The call with its arguments read, or why it cannot be run; at once where its schema validates at once. */
export function prepare(run: Run, call: ToolCall): Accepted | Invocation | Promise<Accepted | Invocation> {
  try {
    return readCall(run, call);
  } catch (cause) {
    return unforeseenResult(run, call, cause);
  }
}

/** Makes an unexpected error the failed result of this call, and of no other. */
function unforeseenResult(run: Run, call: ToolCall, cause: unknown): Invocation {
  return { ...rejected(run, call, `The call of ${call.name} failed where nothing should: ${messageOf(cause)}`), cause };
}

function readCall(run: Run, call: ToolCall): Accepted | Invocation | Promise<Accepted | Invocation> {
  // The arguments of the calls before it may have taken long to validate.
  const late = run.limits.stopped("tool");
  if (late !== undefined) return { ...rejected(run, call, `Not run: ${late.message}`), stop: late };
  const tool = run.tools.get(call.name);
  if (tool === undefined) return rejected(run, call, unknownTool(run.tools.keys(), call));
  const parsing = parseArguments(tool, call);
  if (!isThenable(parsing)) return accepted(run, call, tool, parsing);
  return run.limits.race(parsing, "tool").then((parsed) => {
    const stop = isFailure(parsed) ? parsed : run.limits.stopped("tool");
    if (stop !== undefined) return { ...rejected(run, call, `Not run: ${stop.message}`), stop };
    return accepted(run, call, tool, parsed as Arguments);
  });
}

function accepted(run: Run, call: ToolCall, tool: Tool, parsed: Arguments): Accepted | Invocation {
  return parsed.ok ? { call, tool, input: parsed.input } : rejected(run, call, parsed.error);
}

/** Makes the event that is emitted inside the call's transaction: what reducers make of it is undone with the call. */
export function requestedEvent(run: Run, { id: callId, name, arguments: given }: ToolCall): Parameters<Run["emit"]>[0] {
  // Fields that come later would stand in a second object.
  return {
    type: "tool.requested",
    turn: run.turn,
    callId,
    name,
    arguments: given,
    evaluationId: "",
    at: 0,
    sessionId: "",
    seq: 0,
  };
}

/**
 * Runs what was prepared, within the evaluation's limits and its own; afterwards nothing of its context works. Where only
 * the checks are asked, a success holds the input that they let through. At once where the handler is.
 */
export function invoke(
  run: Run,
  accepted: Accepted,
  transaction: Transaction,
  watched: Watched,
): Invocation | Accepted | Promise<Invocation | Accepted> {
  const { observing } = run;
  if (observing?.surrounds !== true || watched.isSurrounded === true) {
    return invokeCaught(run, accepted, transaction, watched);
  }
  return observing.aroundCall(accepted.call, () => invokeCaught(run, accepted, transaction, watched));
}

/** What is thrown by the runtime's own steps is a result that says so. */
function invokeCaught(
  run: Run,
  accepted: Accepted,
  transaction: Transaction,
  watched: Watched,
): Invocation | Accepted | Promise<Invocation | Accepted> {
  try {
    return startHandling(run, accepted, transaction, watched);
  } catch (cause) {
    return unforeseenResult(run, accepted.call, cause);
  }
}

/** Begins the call's time and its context, then policies and handler; ends them at once where nothing is waited for. */
function startHandling(
  run: Run,
  accepted: Accepted,
  transaction: Transaction,
  watched: Watched,
): Invocation | Accepted | Promise<Invocation | Accepted> {
  const { call, tool } = accepted;
  const time = startCallTime(run, call, tool);
  const calling = callContext(run, accepted, transaction, () => time.signal());
  const handling = runAsPartOf({ transaction, guard: calling.guard }, () =>
    handle(run, accepted, { calling, time }, watched),
  );
  if (isThenable(handling)) return awaitHandling(run, accepted, { calling, time, transaction }, handling);
  // What ends after the signal aborted counts as stopped, as it does where the call is awaited.
  const fired = run.limits.signal.aborted ? run.limits.stopped("tool") : undefined;
  const ending = endCall(run, { calling, time, transaction });
  const ended = fired === undefined ? handling : stoppedCall(accepted, calling, fired);
  return ending === undefined ? ended : ending.then(() => ended);
}

/** Waits for the handler within the call's time and the evaluation's limits. */
async function awaitHandling(
  run: Run,
  accepted: Accepted,
  handling: Handling & { readonly transaction: Transaction },
  work: Promise<Invocation | Accepted>,
): Promise<Invocation | Accepted> {
  const { time, calling } = handling;
  try {
    const ended = await run.limits.race(time.within(work), "tool", () => leaveBehind(run, work));
    if (ended === "timeout") return tookTooLong(run, accepted, handling);
    return isFailure(ended) ? stoppedCall(accepted, calling, ended) : ended;
  } catch (cause) {
    return { ...unforeseenResult(run, accepted.call, cause), params: jsonOf(accepted.input), ran: calling.hasRun() };
  } finally {
    const ending = endCall(run, handling);
    if (ending !== undefined) await ending;
  }
}

function tookTooLong(run: Run, { call, input }: Accepted, { time, calling }: Handling): Invocation {
  return { params: jsonOf(input), result: handlerFailed(run, call, time.message), ran: calling.hasRun() };
}

function stoppedCall({ input }: Accepted, calling: CallContext, stop: Failure): Invocation {
  return { params: jsonOf(input), result: failed(`Stopped: ${stop.message}`), stop, ran: calling.hasRun() };
}

/** undefined where nothing has to be waited for. */
function endCall(
  run: Run,
  { calling, time, transaction }: Handling & { readonly transaction: Transaction },
): Promise<void> | undefined {
  const ending = calling.end();
  time.end();
  // What it made may have to be restored yet: it is closed when the outermost transaction has ended.
  const closeLater = (): void => {
    const close = calling.closeResources();
    if (close !== undefined) transaction.closings.push(close);
  };
  if (ending !== undefined) return run.withinGrace(ending, () => {}).then(closeLater);
  closeLater();
  return undefined;
}

interface Handling {
  readonly calling: CallContext;
  readonly time: CallTime;
}

type Handled = Invocation | Accepted;

/** Checks, then the handler, unless the call is over by then; never rejects. At once where nothing is waited for. */
function handle(run: Run, accepted: Accepted, handling: Handling, watched: Watched): Handled | Promise<Handled> {
  try {
    const opening = handling.calling.openResources();
    if (opening !== undefined || watched.policies.length > 0)
      return handleLater(run, accepted, handling, watched, opening);
    const before = whyTooLate(run, handling);
    if (before !== undefined) return { params: jsonOf(accepted.input), ...before };
    if (watched.checksOnly === true) return accepted;
    return runHandler(run, accepted, handling, watched.policies);
  } catch (error) {
    return thrown(run, accepted, handling.calling, error);
  }
}

async function handleLater(
  run: Run,
  accepted: Accepted,
  handling: Handling,
  { policies, approved, checksOnly = false }: Watched,
  opening: Promise<void> | undefined,
): Promise<Handled> {
  const { calling } = handling;
  let { input } = accepted;
  try {
    if (opening !== undefined) await opening;
    const before = whyTooLate(run, handling);
    if (before !== undefined) return { params: jsonOf(input), ...before };
    if (policies.length > 0) {
      const verdict = await checkPolicies(run, policies, accepted, calling, approved);
      if (verdict.denied !== undefined) return { params: jsonOf(input), result: failed(verdict.denied) };
      const refused = calling.refused();
      if (refused !== undefined) return { params: jsonOf(input), result: failed(refused) };
      input = verdict.input;
      const after = whyTooLate(run, handling);
      if (after !== undefined) return { params: jsonOf(input), ...after };
    }
    return checksOnly ? { ...accepted, input } : await runHandler(run, { ...accepted, input }, handling, policies);
  } catch (error) {
    return thrown(run, { ...accepted, input }, calling, error);
  }
}

/** Runs the handler, synchronously if it is synchronous. @throws what a synchronous handler throws. */
function runHandler(
  run: Run,
  accepted: Accepted,
  handling: Handling,
  policies: readonly ToolPolicy[],
): Invocation | Promise<Invocation> {
  const { call, tool, input } = accepted;
  const { calling } = handling;
  const ended = (result: ToolResult): Invocation => {
    const why = result.success ? calling.refused() : result.message;
    return { params: jsonOf(input), result: why === undefined ? result : handlerFailed(run, call, why), ran: true };
  };
  const checked = (value: unknown): Invocation | Promise<Invocation> => {
    const result = resultOf(value, tool.output);
    const made = returnedResult(value);
    const files = made?.success === true ? made.files : undefined;
    if (files === undefined) return after(result, ended);
    const unstored = (error: unknown): ToolResult => failed(messageOf(error));
    const stored = after(result, (whole) => resultWithFiles(run, whole, files).catch(unstored));
    return after(stored, ended);
  };
  // What kept the event loop busy ends before the timer can fire.
  const inTime = (value: unknown): Invocation | Promise<Invocation> =>
    handling.time.isUp() ? tookTooLong(run, accepted, handling) : checked(value);
  const execute = (): Invocation | Promise<Invocation> => {
    calling.beginHandler();
    const returned: unknown = tool.execute(ownInput(input), calling.context);
    if (!isThenable(returned)) return inTime(returned);
    return Promise.resolve(returned)
      .then(inTime)
      .catch((error: unknown) => thrown(run, accepted, calling, error));
  };
  if (run.tape === undefined) return execute();
  return run.tape.handler(run, {
    call,
    tool,
    input,
    calling,
    execute,
    outside: (work) => handling.time.outside(work),
    checked,
    refused: (message) => ({ params: jsonOf(input), result: failed(message) }),
    whyTooLate() {
      const late = whyTooLate(run, handling);
      return late && { params: jsonOf(input), ...late };
    },
    thrown: (error) => thrown(run, accepted, calling, error),
    policies,
  });
}

function thrown(run: Run, { call, tool, input }: Accepted, calling: CallContext, error: unknown): Invocation {
  const params = jsonOf(input);
  const ran = calling.hasRun();
  if (isA(error, VisibilityExpansionRequired)) return { params, ...openingOf(run, tool.name, error), ran };
  const result = handlerFailed(run, call, messageOf(error), error);
  return { params, result, stop: stopBehind(run, error), cause: error, ran };
}

/** Why neither policies nor the handler may begin any more: a listener aborted, or what was waited for came late. */
function whyTooLate(run: Run, { calling, time }: Handling): Omit<Invocation, "params"> | undefined {
  const stop = run.limits.stopped("tool");
  if (stop !== undefined) return { result: failed(`Not run: ${stop.message}`), stop };
  if (calling.isLive() && !time.isUp()) return undefined;
  return { result: failed("Not run: the call is over.") };
}

/** What ended the run, a call that waits for a decision for example, is logged with its evaluation. */
function handlerFailed(run: Run, call: ToolCall, message: string, thrown?: unknown): ToolResult {
  const fields = { tool: call.name, callId: call.id, error: message, ...loggedError(thrown) };
  if (run.tape?.error(run) === undefined) run.log("warn", fields, "tool.failed");
  return failed(message);
}

function rejected(run: Run, call: ToolCall, error: string): Invocation {
  run.log("warn", { tool: call.name, callId: call.id, error }, "tool.rejected");
  const params: RejectedParams = { rawArguments: String(call.arguments ?? ""), error };
  return { params, result: failed(error) };
}
