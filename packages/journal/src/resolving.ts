// Decisions on suspended runs.
import {
  DefinitionError,
  JournalError,
  systemClock,
  toolOk,
  type PolicyDecision,
  type ToolResult,
  type ToolReturn,
} from "@proviso/core";
import { canonicalJson, describeValue, returnedResult, toJsonValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { namedValue, redactionOf } from "@proviso/runtime/internal";
import {
  hashOfToken,
  isAtRest,
  isExpired,
  runOfToken,
  suspendedCalls,
  keptEntry,
  type EntryContent,
  type EntryOf,
  type JournalEntry,
  type Resolution,
  type SuspendedCall,
} from "@proviso/runtime/recording";
import { isRunId } from "./check-frames.ts";
import { FrameToWrite } from "./frame-to-write.ts";
import type { RunSummary } from "./journal.ts";
import { readRun, type ReadRun } from "./reading.ts";
import type { Shared } from "./source.ts";
import { summaryOf, type Summary } from "./summary.ts";

/** Appends an entry of a process that evaluates nothing; false: another one has written meanwhile. */
export async function appendAfter(
  { store, processes, hide }: Shared,
  id: string,
  { run, summary }: { readonly run: ReadRun; readonly summary: Summary },
  content: EntryContent,
): Promise<boolean> {
  const evaluationId = run.entries[0]?.evaluationId ?? "";
  const at = Math.max(run.entries.at(-1)?.at ?? 0, systemClock.now());
  const base = { index: run.length, attempt: run.attempt, at, evaluationId, isVoid: false };
  const whole: JournalEntry = { ...base, ...content };
  const entry = keptEntry(hide === undefined ? whole : hide(whole));
  summary.add(entry);
  const writer = { run: id, attempt: run.attempt, writer: processes.newWriter(), begunBy: run.begunBy };
  const frame = new FrameToWrite(writer, run.length, [entry], summary.saved).written();
  return (await store.append([frame]))[0] === "kept";
}

/** Decides what the run of a token waits for. @throws {JournalError} "token", "busy". */
export async function resolveRun(
  shared: Shared,
  token: string,
  decision: PolicyDecision | { readonly result: ToolReturn<unknown> },
): Promise<RunSummary> {
  shared.assertOpen();
  const resolution = resolutionOf(decision);
  const id = runOfToken(token);
  if (id === undefined || !isRunId(id)) throw wrongToken();
  await shared.queue.idle();
  for (;;) {
    const run = await readRun(shared.store, id);
    const { turn, callId, policy, step, key } = waitingCall(run, token);
    if (!isAtRest(run.entries) || shared.open.has(id)) {
      throw new JournalError(`The run "${id}" is being evaluated: decide when that has ended.`, {
        reason: "busy",
        run: id,
      });
    }
    if (step === "unknown" && "allowed" in resolution && resolution.allowed && resolution.input !== undefined) {
      throw new DefinitionError(
        "What may have been done is run again as it was, or not at all: give allow() without an input, deny(reason) or { result }.",
      );
    }
    const summary = run.summary();
    const of = { kind: "resolved", turn, callId, policy, step, decision: resolution } as const;
    const resolved: EntryContent = key === undefined ? of : { ...of, key };
    assertShown(shared, resolved.decision);
    if (await appendAfter(shared, id, { run, summary }, resolved)) return summaryOf(id, summary.saved);
  }
}

/**
 * Whether the question of a token was decided in exactly this way: a caller that could not see that its decision was kept gives
 * it again. false also for a token that is not known, and for a run that was cancelled.
 */
export async function isDecidedSo(
  { store, hide }: Pick<Shared, "store" | "hide">,
  token: string,
  decision: PolicyDecision | { readonly result: ToolReturn<unknown> },
): Promise<boolean> {
  const resolution = resolutionOf(decision);
  const id = runOfToken(token);
  if (id === undefined || !isRunId(id)) return false;
  const { entries } = await readRun(store, id);
  const hash = hashOfToken(token);
  const asked = entries.findIndex((entry) => entry.kind === "suspended" && entry.tokenHash === hash);
  const question = entries[asked];
  if (question?.kind !== "suspended" || entries.some(({ kind }) => kind === "cancelled")) return false;
  const kept = entries.slice(asked).find((entry) => entry.kind === "resolved" && isAbout(entry, question));
  if (kept?.kind !== "resolved") return false;
  // The record has a decision without secrets.
  const given = { ...kept, decision: resolution };
  const hidden = hide === undefined ? given : hide(given);
  return hidden.kind === "resolved" && canonicalJson(hidden.decision) === canonicalJson(kept.decision);
}

function isAbout(decided: EntryOf<"resolved">, asked: EntryOf<"suspended">): boolean {
  if (decided.policy !== asked.policy || decided.step !== asked.step || decided.key !== asked.key) return false;
  return asked.key !== undefined || (decided.turn === asked.turn && decided.callId === asked.pending.callId);
}

/** The handler gets the input that the record has. @throws {DefinitionError} for one that shows a secret. */
function assertShown({ secrets }: Shared, decision: Resolution): void {
  if (!("allowed" in decision) || !decision.allowed || decision.input === undefined) return;
  if (JSON.stringify(redactionOf(secrets).value(decision.input)) === JSON.stringify(decision.input)) return;
  throw new DefinitionError(
    "The input of the decision shows a secret of the journal, which is kept in no record: give the result of the call, or deny it.",
  );
}

function waitingCall(run: ReadRun, token: string): SuspendedCall {
  const hash = hashOfToken(token);
  const call = suspendedCalls(run.entries).find(({ tokens }) => tokens.includes(hash));
  const isCancelled = run.entries.some(({ kind }) => kind === "cancelled");
  if (call === undefined || call.decision !== undefined || isExpired(call, systemClock.now()) || isCancelled) {
    throw wrongToken();
  }
  return call;
}

function wrongToken(): JournalError {
  return new JournalError("The token is unknown, used or expired.", { reason: "token" });
}

const decisionNames = { allowed: true, reason: true, input: true, later: true, result: true };

/**
 * A decision as plain JSON.
 * @throws {DefinitionError} for a value that is no decision or has a key that none has, and for a decision that comes later again.
 */
function resolutionOf(given: PolicyDecision | { readonly result: ToolReturn<unknown> }): Resolution {
  const decision = given as Partial<{
    allowed: unknown;
    reason: unknown;
    input: unknown;
    later: unknown;
    result: unknown;
  }>;
  if (typeof decision === "object" && decision !== null) {
    checkOptionNames("The decision", decision, decisionNames);
    if (decision.allowed === true) {
      const { input } = decision;
      return input === undefined ? { allowed: true } : { allowed: true, input: plainValue("input", input) };
    }
    if (decision.allowed === false && decision.later === undefined && typeof decision.reason === "string") {
      return { allowed: false, reason: decision.reason };
    }
    if ("result" in decision) return { result: resultOf(decision.result) };
  }
  throw new DefinitionError(`resolve needs allow(), deny(reason) or { result }, not ${describeValue(given)}.`);
}

function resultOf(given: unknown): ToolResult {
  const made = returnedResult(given) ?? returnedResult(toolOk(given));
  if (made?.success !== true) return { success: false, message: made?.message ?? "" };
  if (made.files !== undefined) throw new DefinitionError("The result of a decision cannot have files.");
  const { message, hideValue, value } = made;
  const plain = plainValue("result", value);
  const result = { success: true, message, value: plain ?? null, hideValue } as const;
  return plain === undefined ? result : namedValue(result);
}

function plainValue(name: string, value: unknown): unknown {
  const plain = toJsonValue(value);
  if (plain === undefined) throw new DefinitionError(`The ${name} of a decision has to be plain JSON.`);
  return plain.value;
}
