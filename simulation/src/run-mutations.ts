import type { Mutation } from "./mutations.ts";

const recording = (file: string): string => `runtime/src/recording/${file}`;

/** Bugs in what a recorded run does when it is interrupted, which recorded runs from a seed have to find. */
export const runMutations: readonly Mutation[] = [
  {
    name: "an evaluation inside has a timer of its own for the deadline around it",
    file: "runtime/src/limits.ts",
    find: "deadline.expiresAt.getTime() === around?.deadline?.expiresAt.getTime()",
    replace: "false",
  },
  {
    name: "a limit is recorded in front of the calls that had ended beside the one it stopped",
    file: recording("tape-stops.ts"),
    find: "if (this.#overlapping) this.#stoppedThem = content;\n    else this.append",
    replace: "this.append",
  },
  {
    name: "calls that a limit stopped are not asked about",
    file: recording("standing.ts"),
    find: "return this.#isStopped && (ran || !this.hasBegun({ turn, callId }));",
    replace: "return false;",
  },
  {
    name: "a call that a limit stopped beside the one that waits is kept",
    file: recording("tape-calls.ts"),
    find: "const hasEnded = stop === undefined && !(cause instanceof TapeFault);",
    replace: "const hasEnded = true;",
  },
  {
    name: "a call whose evaluation missed something when another one began to wait stands",
    file: recording("handler.ts"),
    find: "const stands = !parts.calling.hasEvaluated() && record.standsBeside(run, parts.call);",
    replace: "const stands = record.standsBeside(run, parts.call);",
  },
  {
    name: "a fork does not know what was decided inside the calls that it keeps",
    file: recording("suspension.ts"),
    find: "return entry.key !== undefined || (event.callId === callId",
    replace: "return (event.callId === callId",
  },
  {
    name: "a call that a limit kept from ending runs again in a replay",
    file: recording("calls-again.ts"),
    find: "const isStopped = isFixed || stopped.has(event.turn);",
    replace: "const isStopped = isFixed;",
  },
  {
    name: "what may have been done is done again",
    file: recording("effects.ts"),
    find: "if (call === undefined || readOnly === true || idempotent === true) return false;",
    replace: "if (call !== undefined || readOnly === true || idempotent === true) return false;",
  },
  {
    name: "the calls of a fork have keys of their own in a replay",
    file: recording("rerun.ts"),
    find: "return this.#recorded.keyOf(run.turn, id);",
    replace: "return undefined;",
  },
  {
    name: "a handler begins before that is kept",
    file: recording("effects.ts"),
    find: "return waits ? this.#keeper.flushed(by) : undefined;",
    replace: "return undefined;",
  },
  {
    name: "turns and repairs that the record has are refused to a run that goes on with fewer",
    file: recording("tape.ts"),
    find: 'return event?.type === "prompt.executed" && isMet();',
    replace: "return isMet();",
  },
  {
    name: "a replay has the limits that its run began with",
    file: recording("begun.ts"),
    find: 'if (entry.kind !== "given") continue;',
    replace: "if (entry.kind !== undefined) continue;",
  },
  {
    name: "what an open call had dispatched stands",
    file: recording("standing.ts"),
    find: "return entries.filter((entry) => !dropped.has(entry));",
    replace: "return [...entries];",
  },
];
