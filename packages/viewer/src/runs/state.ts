import type { JsonPatch, RunReader, RunRecord, SlicePatch, StateRecord, TouchedResource } from "@proviso/core";
import { applyStatePatch, statePatch } from "@proviso/runtime";

type States = Readonly<Record<string, unknown>>;
type Recorded = Extract<RunRecord, { readonly kind: "state" }>;

/** What a call did to the state. */
export interface StateChange {
  /** Whether it was undone: then the state after it is the state before. */
  readonly undone: boolean;
  /** The slices that it changed, or had changed when it was undone. */
  readonly slices: readonly (SlicePatch & { readonly before: unknown; readonly after: unknown })[];
  /** The resources that it changed. */
  readonly touched: readonly TouchedResource[];
}

/** Returns the states by slice as they were after record `n`, read from the keyframe before it. */
export async function stateAt(reader: RunReader, runId: string, n: number): Promise<States> {
  const back: Recorded[] = [];
  for await (const record of reader.records(runId, { until: n, kinds: ["state"], descending: true })) {
    if (record.kind !== "state") continue;
    back.push(record);
    if (record.keyframe !== undefined) break;
  }
  back.reverse();
  const [first] = back;
  return first?.keyframe === undefined ? patched({}, back) : patched(first.keyframe, back.slice(1));
}

/**
 * Returns what a call did to the state: its slices before and after, or as it had them when it was undone. A model may use
 * the id of a call again in a later turn: then it is the last one. undefined: there is no such call.
 */
export async function stateChange(reader: RunReader, runId: string, callId: string): Promise<StateChange | undefined> {
  let found: (Recorded & { readonly call: NonNullable<StateRecord["call"]> }) | undefined;
  let begun = Infinity;
  const kinds = new Map<string, SlicePatch["kind"]>();
  for await (const record of reader.records(runId, { kinds: ["state", "event"], descending: true })) {
    if (record.kind === "state") {
      const { call } = record;
      if (found === undefined && call?.callIds.includes(callId) === true) found = { ...record, call };
      if (found !== undefined) for (const { name, kind } of record.slices) kinds.set(name, kind);
    }
    if (found === undefined || record.kind !== "event") continue;
    const { event } = record;
    if (event.evaluationId !== found.call.evaluationId || event.type !== "tool.requested") continue;
    if (event.callId !== callId) continue;
    begun = record.n;
    break;
  }
  if (found === undefined) return undefined;
  const { call, attempted = [], touched = [], n } = found;
  const before = await stateAt(reader, runId, Math.min(begun, n) - 1);
  if (call.undone) {
    const slices = attempted.map((slice) => {
      const state = before[slice.name];
      return { ...slice, before: state, after: applyStatePatch(state, slice.patch) };
    });
    return { undone: true, slices, touched };
  }
  const after = await stateAt(reader, runId, n);
  const slices = [...kinds].flatMap(([name, kind]) => {
    const patch = statePatch(before[name], after[name]);
    return patch.length === 0 ? [] : [{ name, kind, patch, before: before[name], after: after[name] }];
  });
  return { undone: false, slices, touched };
}

/** The states with all patches applied: those of one slice together, so that a long list is copied once. */
function patched(states: States, records: readonly StateRecord[]): States {
  const patches = new Map<string, JsonPatch[number][]>();
  for (const { slices } of records) {
    for (const { name, patch } of slices) {
      const all = patches.get(name) ?? [];
      patches.set(name, all);
      for (const operation of patch) all.push(operation);
    }
  }
  const next = { ...states };
  for (const [name, patch] of patches) next[name] = applyStatePatch(next[name], patch);
  return next;
}
