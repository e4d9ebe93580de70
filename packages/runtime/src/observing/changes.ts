// What the calls of a transaction did, reported to the observers while it still stands.
// 1. Each call is reported once, as undone or as committed.
import {
  isSnapshotable,
  type CallChanges,
  type ResourceChange,
  type SliceValue,
  type TouchedResource,
} from "@proviso/core";
import { firstChanges } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** What these calls did, or all of the transaction that were not reported; undefined: there are none. */
export function changesOfCalls(
  run: Run,
  transaction: Transaction,
  undone: boolean,
  calls: readonly string[] = transaction.host.callIds ?? [],
): CallChanges | undefined {
  const callIds = calls.filter((id) => transaction.host.callIds?.includes(id) === true && isFirst(transaction, id));
  if (callIds.length === 0) return undefined;
  return Object.freeze({
    sessionId: run.core.session.id,
    evaluationId: run.evaluationId,
    turn: run.turn,
    callIds: Object.freeze(callIds),
    undone,
    slices: () => slicesOf(run),
    touched: () => touchedBy(run, transaction, callIds),
  });
}

/** Returns whether it was not reported yet. A call that overlaps with others may have a transaction inside the common one. */
function isFirst({ id, host, parent }: Transaction, callId: string): boolean {
  const reported = (host.reported ??= new Set());
  if (reported.has(callId)) return false;
  reported.add(callId);
  if (parent?.id === id) (parent.host.reported ??= new Set()).add(callId);
  return true;
}

function slicesOf({ core, redaction }: Run): readonly SliceValue[] {
  const { session } = core;
  return session
    .slices()
    .map((slice) => ({ name: slice.name, kind: slice.kind, state: redaction.value(session.get(slice)) }));
}

function touchedBy(run: Run, transaction: Transaction, callIds: readonly string[]): readonly TouchedResource[] {
  const touched = new Map<unknown, TouchedResource>();
  for (const { callId, name, resource } of transaction.host.touched ?? []) {
    if (touched.has(resource) || !callIds.includes(callId)) continue;
    const changes = changesOf(transaction, resource);
    touched.set(resource, run.redaction.value(changes === undefined ? { name } : { name, changes }));
  }
  return [...touched.values()];
}

/** undefined: the resource does not know. */
function changesOf({ snapshots }: Transaction, resource: unknown): readonly ResourceChange[] | undefined {
  if (!isSnapshotable(resource) || typeof resource.changesSince !== "function") return undefined;
  const taken = snapshots.find((each) => each.resource === resource);
  // A resource without a snapshot was only read.
  if (taken === undefined) return [];
  if (taken.taking !== undefined) return undefined;
  try {
    const changes = resource.changesSince(taken.snapshot);
    // The resource may keep what it has given.
    return changes && firstChanges(changes).map((change) => ({ ...change }));
  } catch {
    // A disk that fails, for example: what was asked for is named all the same.
    return undefined;
  }
}
