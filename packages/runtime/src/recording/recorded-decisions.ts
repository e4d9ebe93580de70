import type { PolicyDecision, ToolResult } from "@proviso/core";

/** The question of a policy that a call waits for. */
export type PolicyStep = "check" | "approve" | "unknown";

/** What was decided: on the call, or what came of it. */
export type Resolution =
  | PolicyDecision
  | {
      /** The result of the call, which was done elsewhere. */
      readonly result: ToolResult;
    };

/** A question of a policy about one call. */
export interface AskedOf {
  /** The turn of the call, from 1. */
  readonly turn: number;
  /** The id of the call. */
  readonly callId: string;
  /** The name of the policy. */
  readonly policy: string;
  /** What the policy was asked. */
  readonly step: PolicyStep;
  /**
   * The idempotency key of the call, where that says which one it is: in an evaluation inside a call, and in a turn of an
   * agent, which are run again as a whole. Left out: the turn and the id say it.
   */
  readonly key?: string | undefined;
}
