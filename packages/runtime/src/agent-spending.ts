// 1. A turn of an agent holds its place in every budget while the agent works; while a call of it runs, only what it has
//    sent and produced so far.
import type { AssistantMessage } from "@proviso/core";
import type { SpentSoFar, Wanted } from "./budget-room.ts";
import type { Granted } from "./budgets.ts";
import type { Failure } from "./failures.ts";
import { toolSpecs } from "./inner-loop.ts";
import { waitForRoom, type Work } from "./request/attempt.ts";
import { wantedOf } from "./request/limited-work.ts";
import type { Run } from "./run.ts";
import { estimatedTokens, answerTokensOf, inputTokensOf } from "./tokens.ts";

/** What a turn of an agent spends, as far as the runtime can see. */
export interface AgentSpending extends Pick<Work, "wanted" | "inputTokens"> {
  /** An estimate of the tokens of the agent's text and calls so far. */
  produced(): number;
  says(text: string): void;
  /** A record says what was produced so far. */
  hasProduced(tokens: number): void;
  calls(message: AssistantMessage): void;
  /** The turn begins. */
  begins(granted: Granted): void;
  /** While a call runs, what that evaluates finds the room that the agent does not use. */
  pause(): void;
  /** Waits for the turn's place again, until the turn is over and the signal fires; returns why it has none. */
  reserveAgain(signal: AbortSignal): Promise<Failure | undefined>;
}

export function agentSpending(run: Run): AgentSpending {
  const inputTokens = (): number => inputTokensOf({ tools: toolSpecs(run.rendered), output: undefined }, run.history);
  const expected = Math.ceil(run.expected?.inputTokens?.p90 ?? 0);
  const wanted =
    run.limits.budget &&
    wantedOf(
      run,
      { maxOutputTokens: run.settings.maxOutputTokens },
      {
        inputTokens: Math.max(inputTokens(), expected),
        atOnce: 1,
      },
    );
  /** Not counted yet. */
  let uncounted = "";
  let counted = 0;
  let granted: Granted | undefined;

  const produced = (): number => counted + estimatedTokens(uncounted);
  return {
    wanted,
    inputTokens,
    produced,
    says: (text) => void (uncounted += text),
    hasProduced: (tokens) => void ([counted, uncounted] = [tokens, ""]),
    calls: (message) => void (counted += answerTokensOf(message)),
    begins: (grant) => void (granted = grant),
    pause() {
      counted = produced();
      uncounted = "";
      if (wanted !== undefined) granted?.pause(spentSoFar(wanted, inputTokens(), counted));
    },
    async reserveAgain(signal) {
      const going = wanted && granted?.reserveAgain(wanted, signal);
      if (!(going instanceof Promise)) return going;
      const unlessOver = going.catch((error: unknown) => {
        if (!signal.aborted) throw error;
        return undefined;
      });
      return await waitForRoom(run, unlessOver);
    },
  };
}

function spentSoFar({ costOf }: Wanted, inputTokens: number, outputTokens: number): SpentSoFar {
  return { inputTokens, outputTokens, costUsd: costOf?.(inputTokens, outputTokens) };
}
