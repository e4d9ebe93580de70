import type { Tool, ToolCall } from "@proviso/core";
import type { Run } from "../run.ts";
import { policiesFor } from "./policies.ts";

/**
 * Splits calls into batches that run together: neighbours which do not exclude other calls, because they change nothing
 * or use no resource. A call with policies runs alone.
 */
export function batchesOf(run: Run, calls: readonly ToolCall[]): readonly (readonly ToolCall[])[] {
  const batches: ToolCall[][] = [];
  let before: "reading" | "using nothing" | undefined;
  for (const call of calls) {
    const tool = run.tools.get(call.name);
    const kind = tool === undefined || policiesFor(run, tool).length > 0 ? undefined : kindOf(tool);
    if (kind !== undefined && kind === before) batches.at(-1)?.push(call);
    else batches.push([call]);
    before = kind;
  }
  return batches;
}

function kindOf({ readOnly, uses }: Tool): "reading" | "using nothing" | undefined {
  if (readOnly === true) return "reading";
  return uses?.length === 0 ? "using nothing" : undefined;
}
