import type { ResourceKey, Tool, ToolPolicy } from "@proviso/core";
import { messageOf } from "../failures.ts";
import type { Run } from "../run.ts";
import type { LockMode } from "../transactions/lock.ts";
import type { Participant } from "../transactions/snapshots.ts";
import {
  beginTransaction,
  newTransaction,
  type NotBegun,
  type Transaction,
  type TransactionHost,
  type TransactionOptions,
} from "../transactions/transaction.ts";
import type { Accepted } from "./call.ts";

/** One transaction for calls that go together, or why none can begin. */
export function beginCalls(
  run: Run,
  calls: readonly Accepted[],
  policies: readonly ToolPolicy[],
): Promise<Transaction | NotBegun> {
  return beginTransaction(optionsFor(run, calls, policies));
}

/** A transaction that holds nothing: for what is asked after a call that was not run. */
export function emptyTransaction(run: Run, calls: readonly Pick<Accepted, "call" | "tool">[]): Transaction {
  return newTransaction(optionsFor(run, calls, []));
}

function optionsFor(
  run: Run,
  calls: readonly Pick<Accepted, "call" | "tool">[],
  policies: readonly ToolPolicy[],
): TransactionOptions {
  const checks = policies.filter(({ check }) => check !== undefined);
  const isReadOnly = run.nesting?.readOnly === true || calls.every(({ tool }) => tool.readOnly === true);
  const mode: LockMode = isReadOnly ? "read" : "write";
  const names = calls.map(({ call }) => `${call.name} (${call.id})`).join(", ");
  return {
    id: run.evaluationId,
    name: `${calls.length === 1 ? "the call of" : "the calls of"} ${names}`,
    core: run.core,
    // A check may dispatch, also for a tool that is read-only.
    sessionMode: checks.length > 0 && run.nesting?.readOnly !== true ? "write" : mode,
    resources: resourcesFor(run, calls, checks, mode),
    mode,
    parent: run.nesting?.transaction ?? run.enclosing.parent,
    startedIn: run.enclosing.startedIn,
    host: hostOf(
      run,
      calls.map(({ call }) => call.id),
    ),
  };
}

/** What the tools use, or everything; what the policies' checks read, for reading. */
function resourcesFor(
  run: Run,
  calls: readonly { readonly tool: Tool }[],
  checks: readonly ToolPolicy[],
  mode: LockMode,
): TransactionOptions["resources"] {
  const used = participantsOf(
    run,
    calls.map(({ tool }) => tool),
  );
  const own = used.map((participant) => ({ ...participant, mode }));
  if (checks.length === 0) return own;
  const read = participantsOf(run, checks).filter(({ resource }) => used.every((other) => other.resource !== resource));
  return [...own, ...read.map((participant) => ({ ...participant, mode: "read" as const }))];
}

function participantsOf(
  { resources }: Run,
  users: readonly { readonly uses?: readonly ResourceKey<unknown>[] | undefined }[],
): readonly Participant[] {
  if (users.some(({ uses }) => uses === undefined)) return resources.participants();
  const keys = users.flatMap(({ uses = [] }) => uses);
  return keys.length === 0 ? [] : resources.participants(keys);
}

function hostOf(run: Run, callIds: readonly string[]): TransactionHost {
  return {
    within: (work) => run.limits.race(work, "tool"),
    withinGrace: run.withinGrace,
    redact: run.redaction.value,
    report(operation, message, cause) {
      const fault = { operation, callIds, message, cause };
      for (let one: Run | undefined = run; one !== undefined; one = one.nesting?.run) one.faults.push(fault);
      run.log("error", { operation, callIds, error: messageOf(cause) }, "transaction.failed");
      run.emit({ type: "transaction.failed", turn: run.turn, operation, callIds, message });
    },
    warn: (message, error) => run.log("error", { callIds, error: messageOf(error) }, message),
  };
}
