import type { ModelFailure, ModelProvider, ModelRequest } from "@proviso/core";
import type { Room } from "../budget-room.ts";
import { budgetFailure, type Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import type { Answered, Work } from "./attempt.ts";
import { inputTokensOf } from "../usage.ts";
import { isChainProvider } from "./chain.ts";
import { boundOf, outputLimitIn, wantedOf, type AnswerBounds } from "./wanted.ts";

/** The requests of one turn, each with the limit that the budget sets to its answer. */
export interface LimitedWork {
  readonly work: Work;
  /** Why an answer is not whole, where the budget's limit is the reason. */
  cutShort(answer: Answered | ModelFailure): Failure | undefined;
  /**
   * Whether a refusal may be for the limit: then the request goes out once more without it. A limit that is larger than
   * any answer of the model, or than what its window leaves, is refused; without it the answer is the shorter one.
   */
  isLifted(refusal: ModelFailure): boolean;
}

export function limitedWork(run: Run, provider: ModelProvider, request: ModelRequest): LimitedWork {
  let sent: { readonly limit: number; readonly room: Room } | undefined;
  let lifted: number | undefined;
  const inputTokens = estimatedOnce(run, request);
  const atOnce = isChainProvider(provider) ? provider.atOnce : 1;
  return {
    work: {
      request,
      wanted: run.limits.budget && wantedOf(run, boundsOf(provider, run), { inputTokens: inputTokens(), atOnce }),
      messages: request.messages,
      inputTokens,
      triesCost: isChainProvider(provider) ? () => provider.triesCost() : undefined,
      limit: () => sent?.limit ?? boundOf(provider, run),
      begin(onDelta, { room }) {
        const limit = lifted === undefined ? outputLimitIn(room, run, { provider, atOnce }) : undefined;
        sent = room === undefined || limit === undefined ? undefined : { limit, room };
        const asked = limit === undefined ? request : { ...request, maxOutputTokens: limit };
        return provider.generate(onDelta === undefined ? asked : { ...asked, onDelta });
      },
    },
    cutShort(answer) {
      if (answer.failure === undefined && lifted !== undefined) run.outputLimits.refused(lifted);
      if (sent === undefined || !isCut(answer, sent.limit)) return undefined;
      const { limit, room } = sent;
      const text = answer.failure === undefined ? answer.response.message.text : undefined;
      return budgetFailure(`cut the answer short after ${limit} tokens`, "response", { ...room, text });
    },
    isLifted(refusal) {
      if (sent === undefined || refusal.failure !== "provider") return false;
      if (refusal.reason !== "bad_request" && refusal.reason !== "context_length") return false;
      lifted = sent.limit;
      run.log("warn", { turn: run.turn, maxOutputTokens: lifted, reason: refusal.message }, "budget.limit.refused");
      return true;
    },
  };
}

function boundsOf(provider: ModelProvider, run: Run): AnswerBounds {
  return { maxOutputTokens: boundOf(provider, run), least: provider.capabilities.outputLimit?.least };
}

/** Makes the estimate when it is first needed, and keeps it: it takes a pass over the texts. */
function estimatedOnce(run: Run, request: ModelRequest): () => number {
  const { conversation, knownCost: known, inputCorrection: correction } = run;
  let tokens: number | undefined;
  return () => (tokens ??= inputTokensOf(request, conversation, { known, correction }));
}

/** An answer that ended well before the limit was cut short by something else: the model's own bound, its window. */
function isCut(answer: Answered | ModelFailure, limit: number): boolean {
  if (answer.failure !== undefined) return answer.failure === "provider" && answer.reason === "truncated";
  const { response, usage } = answer;
  return response.finishReason === "length" && (usage.estimated || usage.outputTokens >= 0.9 * limit);
}
