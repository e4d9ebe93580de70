// Decisions on the calls of a run: what is known of them, and how a run begins to wait for one.
import { deny, type PolicyDecision, type Suspension, type Tool, type ToolCall, type ToolReturn } from "@proviso/core";
import { restoredResult, toJsonValue } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import { CallKey } from "../tools/idempotency-key.ts";
import type { PolicyQuestion } from "./contract.ts";
import type { AskedOf, EntryOf, SuspendedCall } from "./entries.ts";
import { TapeFault } from "./fault.ts";
import { hashOfToken, isExpired, newToken, pendingOf, suspendedCall } from "./suspension.ts";

/** An entry that says what a run waits for. */
type Suspended = Omit<EntryOf<"suspended">, "index" | "attempt" | "at" | "evaluationId" | "isVoid">;

/** What is decided on the calls of one run. */
export class Decisions {
  /** What the run waits for, once it is suspended. */
  waitsFor: Suspended | undefined;
  readonly #runId: string;
  readonly #calls: readonly SuspendedCall[];
  /** Epoch milliseconds. */
  readonly #now: () => number;

  constructor(runId: string, calls: readonly SuspendedCall[], now: () => number) {
    this.#runId = runId;
    this.#calls = calls;
    this.#now = now;
  }

  /** What was decided on this question; undefined: it has to be asked. */
  decided(run: Run, question: PolicyQuestion, isInTurn: boolean): PolicyDecision | undefined {
    if (this.#calls.length === 0) return undefined;
    const call = suspendedCall(this.#calls, askedOf(run, question, isInTurn));
    if (call === undefined) return undefined;
    if (isExpired(call, this.#now())) return deny("Not decided in time.");
    const { decision } = call;
    return decision !== undefined && "result" in decision ? { allowed: true } : decision;
  }

  /** What came of the call, where that was decided. */
  result(run: Run, call: ToolCall, isInTurn: boolean): ToolReturn<unknown> | undefined {
    if (this.#calls.length === 0) return undefined;
    const key = keyIn(run, call, isInTurn);
    for (const { turn, callId, key: of, decision } of this.#calls) {
      const isSame = key === undefined ? turn === run.turn && callId === call.id && of === undefined : of === key;
      if (isSame && decision !== undefined && "result" in decision) {
        return restoredResult(decision.result);
      }
    }
    return undefined;
  }

  /** Returns the fault that suspends the run. */
  suspend(
    run: Run,
    question: PolicyQuestion,
    { question: text, details, expiresInMs }: Suspension,
    isInTurn: boolean,
  ): TapeFault {
    const { call, tool, input, step } = question;
    const asked = askedOf(run, question, isInTurn);
    const before = suspendedCall(this.#calls, asked);
    const expiresAt = before?.pending.expiresAt ?? (expiresInMs === undefined ? undefined : this.#now() + expiresInMs);
    const shown = run.redaction.value({ input: toJsonValue(input)?.value, details: toJsonValue(details)?.value });
    const pending: Suspended["pending"] = {
      callId: call.id,
      tool: tool.name,
      input: shown.input,
      question: run.redaction.value(text),
      ...(shown.details === undefined ? {} : { details: shown.details }),
      about: step === "unknown" ? "effect" : "decision",
      ...(expiresAt === undefined ? {} : { expiresAt }),
    };
    const token = newToken(this.#runId);
    const { turn, policy, key } = asked;
    const of = { kind: "suspended", turn, pending, policy, step, tokenHash: hashOfToken(token) } as const;
    this.waitsFor = key === undefined ? of : { ...of, key };
    return suspendedFault(this.#runId, pending, token);
  }
}

function askedOf(run: Run, { call, policy, step }: PolicyQuestion, isInTurn: boolean): AskedOf {
  return { turn: run.turn, callId: call.id, policy: policy.name, step, key: keyIn(run, call, isInTurn) };
}

/** The key of a call that is run again as part of a whole: another attempt may give it another id. */
function keyIn(run: Run, call: ToolCall, isInTurn: boolean): string | undefined {
  return run.isInside || isInTurn ? new CallKey(run, call).value : undefined;
}

/**
 * Whether a call can wait, in an evaluation inside other calls: those are run again when it is decided, so each of them has
 * to be of a tool that allows that.
 */
export function canWait({ nesting }: Run): boolean {
  for (let around = nesting; around !== undefined; around = around.run.nesting) {
    const { run, callId } = around;
    const name = run.calls.find(({ id }) => id === callId)?.name;
    if (callId !== undefined && !mayRunAgain(run.tools.get(name ?? ""))) return false;
  }
  return true;
}

function mayRunAgain(tool: Tool | undefined): boolean {
  return tool?.idempotent === true || tool?.transactional === true || tool?.readOnly === true;
}

/** The fault of a run that waits for a decision. `token`: empty where it is not known any more. */
export function suspendedFault(runId: string, pending: Suspended["pending"], token: string): TapeFault {
  const message = `The run "${runId}" waits for a decision: ${pending.question}`;
  return new TapeFault("suspended", message, { pending: pendingOf(pending, token) });
}
