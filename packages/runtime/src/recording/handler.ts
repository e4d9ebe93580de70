// A handler of a recorded run: kept before it begins, and not begun where its call may have been done already.
import type { PolicyDecision, Tool, ToolCall, ToolReturn } from "@proviso/core";
import type { Run } from "../run.ts";
import { ownInput } from "../tools/arguments.ts";
import { decidedBy, decideLater, isLater, type Denied } from "../tools/policies.ts";
import type { HandlerParts, PolicyQuestion } from "./contract.ts";
import type { EffectRecord } from "./effects.ts";
import { TapeFault } from "./fault.ts";

/** Milliseconds that `reconcile` may take where the tool has no limit of its own. */
const reconcileMs = 30_000;

/** What a record knows of calls. */
interface CallRecord {
  readonly effects: EffectRecord;
  /** What came of the call, where that was decided; undefined: nothing was. */
  decidedResult(run: Run, call: ToolCall): ToolReturn<unknown> | undefined;
  decided(run: Run, question: PolicyQuestion): PolicyDecision | undefined;
  /** Why the run cannot go on; undefined: it can. */
  readonly fault: TapeFault | undefined;
  /** Whether a call that has ended stands although the run has a fault: another one, beside it, has suspended the run. */
  standsBeside(run: Run, call: ToolCall): boolean;
}

export function recordedHandler<Invocation>(
  record: CallRecord,
  run: Run,
  parts: HandlerParts<Invocation>,
): Invocation | Promise<Invocation> {
  const { call, tool } = parts;
  const { effects } = record;
  const given = record.decidedResult(run, call);
  if (given !== undefined) return parts.checked(given);
  if (run.isInside || !effects.isUnknown(run.turn, call.id, tool)) return begin(record, run, parts);
  return parts
    .outside(() => settled(record, run, parts))
    .then(
      (known) => {
        if (known === "not-started") return begin(record, run, parts);
        return "denied" in known ? parts.refused(known.denied) : parts.checked(known.value);
      },
      (error: unknown) => parts.thrown(error),
    );
}

function begin<Invocation>(
  record: CallRecord,
  run: Run,
  parts: HandlerParts<Invocation>,
): Invocation | Promise<Invocation> {
  const starting = record.effects.starting(run, parts.call, parts.tool, parts.calling.callKey());
  if (starting === undefined) return executed(record, run, parts);
  return starting
    .then(() => parts.whyTooLate() ?? executed(record, run, parts))
    .catch((error: unknown) => parts.thrown(error));
}

/**
 * What has suspended the run, inside the call, or ended its record, undoes the call whatever its handler returned. So does
 * what another call has suspended, where an evaluation inside this one may have missed something by that.
 */
function executed<Invocation>(
  record: CallRecord,
  run: Run,
  parts: HandlerParts<Invocation>,
): Invocation | Promise<Invocation> {
  const kept = (invocation: Invocation): Invocation => {
    const { fault } = record;
    if (fault === undefined) return invocation;
    const stands = !parts.calling.hasEvaluated() && record.standsBeside(run, parts.call);
    return stands ? invocation : parts.thrown(fault);
  };
  const executing = parts.execute();
  return executing instanceof Promise ? executing.then(kept) : kept(executing);
}

/** Settles a call whose effect is not known: by what was decided, by its tool, or by the policies; else it is denied. */
async function settled<Invocation>(
  record: CallRecord,
  run: Run,
  parts: HandlerParts<Invocation>,
): Promise<"not-started" | Denied | { readonly value: unknown }> {
  const { call, tool, input, policies, calling } = parts;
  const asked = policies.filter(({ unknown }) => unknown !== undefined);
  const questions = asked.map((policy) => ({ call, tool, input, policy, step: "unknown" as const }));
  for (const question of questions) {
    const decision = record.decided(run, question);
    if (decision !== undefined) return allowed(question, decision);
  }
  const known = await reconciled(run, parts);
  if (known !== "unknown") return known;
  for (const question of questions) {
    calling.beginCheck(question.policy);
    const decision = await question.policy.unknown?.({ tool, input: ownInput(input) }, calling.context);
    if (decision === undefined) continue;
    return isLater(decision) ? decideLater(run, question, decision.later) : allowed(question, decision);
  }
  return { denied: unsettled(tool, record.effects.wasStopped(run.turn, call.id)) };
}

/** What may have been done is run again as it was, or not at all: its checks were asked about that input. */
function allowed({ policy, tool }: PolicyQuestion, decision: PolicyDecision): "not-started" | Denied {
  const decided = decidedBy(policy, tool, decision);
  if (decided.denied !== undefined) return decided;
  if (decided.input === undefined) return "not-started";
  return { denied: `The policy ${policy.name} gave another input for ${tool.name}, which may have been done already.` };
}

function unsettled({ name }: Tool, wasStopped: boolean): string {
  // The process has ended, or the end could not be written.
  const why = wasStopped ? "it was stopped while it ran" : "it began, and its end was not recorded";
  return `It is not known whether ${name} was done: ${why}. Find out before you call it again.`;
}

type Known = "not-started" | "unknown" | { readonly value: unknown };

/** Asks the tool what became of the call; it may change nothing. What throws or takes too long is not known. */
async function reconciled<Invocation>(
  run: Run,
  { call, tool, input, calling }: HandlerParts<Invocation>,
): Promise<Known> {
  if (tool.reconcile === undefined) return "unknown";
  const over = new AbortController();
  try {
    calling.beginReconcile();
    const asking = (async () => tool.reconcile?.(ownInput(input), calling.context))();
    const { clock } = run.tape ?? run.world;
    const late = clock.sleep(tool.timeoutMs ?? reconcileMs, over.signal).then(
      () => "unknown" as const,
      () => "unknown" as const,
    );
    const value: unknown = await Promise.race([asking, late]);
    asking.catch(() => {});
    return value === "not-started" || value === "unknown" ? value : { value };
  } catch (error) {
    if (error instanceof TapeFault) throw error;
    run.log("warn", { tool: tool.name, callId: call.id, error: String(error) }, "tool.reconcile.failed");
    return "unknown";
  } finally {
    over.abort();
  }
}
