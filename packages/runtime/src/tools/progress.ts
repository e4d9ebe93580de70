import { DefinitionError, type ProgressOfCall, type ToolCall } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import type { Run } from "../run.ts";

/**
 * Emits `tool.progress`, unless the call is over.
 * @throws {DefinitionError} for what is no progress.
 */
export function reportProgress(run: Run, call: ToolCall, progress: ProgressOfCall, isLive: boolean): void {
  const { done, total, message } = checked(progress, call.name);
  if (!isLive) return;
  run.publish({
    type: "tool.progress",
    turn: run.turn,
    callId: call.id,
    name: call.name,
    done,
    ...(total === undefined ? {} : { total }),
    ...(message === undefined ? {} : { message }),
  });
}

function checked(given: unknown, tool: string): ProgressOfCall {
  const what = `The progress of the tool "${tool}"`;
  if (!isRecord(given)) throw new DefinitionError(`${what} must be an object, not ${describeValue(given)}.`);
  const { done, total, message } = given;
  if (!isAmount(done)) throw new DefinitionError(`${what} must have done: a number of 0 or more.`);
  if (total !== undefined && !isAmount(total))
    throw new DefinitionError(`${what}: total must be a number of 0 or more.`);
  if (message !== undefined && typeof message !== "string")
    throw new DefinitionError(`${what}: message must be a text.`);
  return { done, total, message };
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
