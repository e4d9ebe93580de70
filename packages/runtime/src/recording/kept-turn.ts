// A turn of an agent from the record: the agent is not asked, and its calls go the way they went.
import type { ModelFailure, ModelResponse } from "@proviso/core";
import type { Run } from "../run.ts";
import type { AgentTurn, RecordedRequest } from "./contract.ts";
import { deltaOf } from "./deltas.ts";
import { stays } from "./effects.ts";
import type { Difference } from "./compare.ts";
import type { EntryOf } from "./entries.ts";
import { TapeFault } from "./fault.ts";
import type { Prefix } from "./prefix.ts";
import type { LostCall } from "./run-source.ts";

/** What a turn comes to that a limit ended while it worked: the race around it takes the limit from the record. */
export const stoppedTurn = Symbol("stopped");

interface TurnRecord {
  readonly prefix: Prefix;
  assertNoFault(): void;
  diverge(difference: Difference): never;
}

/** Plays the turn again, whose request is next. */
export async function keptTurn(
  record: TurnRecord,
  run: Run,
  { onDelta }: Pick<RecordedRequest, "onDelta">,
  turn: AgentTurn,
): Promise<EntryOf<"answered"> | typeof stoppedTurn> {
  const { prefix } = record;
  for (;;) {
    for (const delta of prefix.deltas()) onDelta?.(deltaOf(delta));
    const called = prefix.take("called");
    if (called !== undefined) {
      if (called.produced !== undefined) turn.hasProduced(called.produced);
      await turn.execute(called.call);
      record.assertNoFault();
      // What ended the turn has its outcome.
      if (turn.isStopped()) return new Promise(() => {});
      continue;
    }
    const answered = prefix.take("answered");
    if (answered !== undefined) {
      if (answered.produced !== undefined) turn.hasProduced(answered.produced);
      return answered;
    }
    if (prefix.peek()?.kind === "stopped") return stoppedTurn;
    return record.diverge({ what: "missing", path: "", recorded: undefined, now: `an answer in turn ${run.turn}` });
  }
}

/** The estimate that the record needs of a turn which failed: nothing else says what it cost. */
export function producedIn(turn: AgentTurn | undefined, answer: ModelResponse | ModelFailure): number | undefined {
  return turn === undefined || answer.failure === undefined || answer.usage !== undefined ? undefined : turn.produced();
}

/**
 * A turn that was lost is begun again, unless what its calls did would be there twice.
 * @throws {TapeFault} "agent" that names those calls.
 */
export function assertMayBegin(runId: string, { turn, tools }: Run, lost: readonly LostCall[]): void {
  const standing = lost.filter((call) => {
    return call.turn === turn && stays(tools.get(call.name), call.isFinished);
  });
  if (standing.length === 0) return;
  const names = standing.map(({ name, callId }) => `${name} (${callId})`).join(", ");
  const message =
    `The run "${runId}" cannot go on: turn ${turn} of its agent was lost, and what these calls did in it may stand: ` +
    `${names}. Look at what they did, and begin another run; tools that are readOnly, idempotent or transactional may run again.`;
  throw new TapeFault("agent", message);
}
