// 1. Only events are read, and no listener here throws: what a store refuses waits and is tried again.
// 2. Work for an event does not depend on how many there have been.
import {
  DefinitionError,
  type PromptExecuted,
  type PromptFailed,
  type PromptRendered,
  type ProviderResponded,
  type Session,
} from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { memoryUsageStore } from "./memory-store.ts";
import { samplesKept, type UsageHistory, type UsageSample, type UsageStore } from "./samples.ts";

/** What evaluations have spent, collected from the events of sessions. */
export interface UsageStatistics extends UsageHistory {
  /** Collects from this session until the returned function is called; once, however often it is asked. */
  observe(session: Session): () => void;
  /** Samples that the store has refused so far; at most 512, then the oldest is lost. */
  readonly pending: number;
  /** Writes what is pending. @throws what the store throws. */
  flush(): void;
}

/**
 * Collects what evaluations spend, from the events of sessions: into memory, from the session given; or into a store,
 * from the sessions that are observed. An evaluation that a limit or a provider ended early is not counted: what it
 * would have spent is not known.
 * @param options.onError is called when a store refuses a sample; the evaluation goes on, the sample is tried again
 * with the next. An error that it throws itself is a listener's error.
 * @throws {DefinitionError} for what is neither a session nor a store.
 */
export function usageStatistics(
  source: Session | UsageStore,
  options: { readonly onError?: ((error: unknown) => void) | undefined } = {},
): UsageStatistics {
  checkOptionNames("usageStatistics", options, { onError: true });
  const given: Partial<Session & UsageStore> = source ?? {};
  if (typeof given.record === "function" && typeof given.samples === "function") {
    return collector(source as UsageStore, options.onError);
  }
  if (typeof given.on !== "function") {
    throw new DefinitionError(
      "usageStatistics takes a session, or a store: memoryUsageStore(), sqliteUsageStore(path).",
    );
  }
  const statistics = collector(memoryUsageStore(), options.onError);
  statistics.observe(source as Session);
  return statistics;
}

function collector(store: UsageStore, onError: ((error: unknown) => void) | undefined): UsageStatistics {
  const observed = new Map<Session, () => void>();
  const waiting: UsageSample[] = [];
  const flush = (): void => {
    while (waiting[0] !== undefined) {
      store.record(waiting[0]);
      waiting.shift();
    }
  };
  const record = (sample: UsageSample): void => {
    waiting.push(sample);
    if (waiting.length > samplesKept) waiting.shift();
    try {
      flush();
    } catch (error) {
      onError?.(error);
    }
  };
  return Object.freeze({
    samples: (query) => store.samples(query),
    // oxlint-disable-next-line proviso/no-accessors-in-literals -- a program makes few of these
    get pending() {
      return waiting.length;
    },
    flush,
    observe(session) {
      const known = observed.get(session);
      if (known !== undefined) return known;
      const stopListening = listen(session, record);
      const stop = (): void => {
        if (observed.get(session) === stop) observed.delete(session);
        stopListening();
      };
      observed.set(session, stop);
      return stop;
    },
  } satisfies UsageStatistics);
}

/** An evaluation that has begun. */
interface Begun {
  readonly rendered: PromptRendered;
  largestOutputTokens: number;
}

function listen(session: Session, record: (sample: UsageSample) => void): () => void {
  const begun = new Map<string, Begun>();
  const begin = (rendered: PromptRendered): void => {
    begun.set(rendered.evaluationId, { rendered, largestOutputTokens: 0 });
  };
  const respond = ({ evaluationId, usage }: ProviderResponded): void => {
    const evaluation = begun.get(evaluationId);
    if (evaluation === undefined) return;
    evaluation.largestOutputTokens = Math.max(evaluation.largestOutputTokens, usage.outputTokens);
  };
  const end = (ended: PromptExecuted | PromptFailed): void => {
    const evaluation = begun.get(ended.evaluationId);
    begun.delete(ended.evaluationId);
    if (evaluation !== undefined && isComplete(ended)) record(sampleOf(evaluation, ended));
  };
  const stops = [
    session.on("prompt.rendered", begin),
    session.on("provider.responded", respond),
    session.on("prompt.executed", end),
    session.on("prompt.failed", end),
  ];
  return () => {
    for (const stop of stops) stop();
    begun.clear();
  };
}

/** Whether the model gave its last answer, even if that was no valid output. */
function isComplete(ended: PromptExecuted | PromptFailed): boolean {
  return ended.type === "prompt.executed" || ended.code === "output";
}

function sampleOf(
  { rendered, largestOutputTokens }: Begun,
  { usage, turns, durationMs }: PromptExecuted | PromptFailed,
): UsageSample {
  const { descriptor, model, text } = rendered;
  return {
    prompt: `${descriptor.ns}/${descriptor.key}`,
    model,
    characters: Math.max(1, text.length),
    inputTokens: usage.inputTokens,
    cachedInputTokens: usage.cachedInputTokens,
    outputTokens: usage.outputTokens,
    largestOutputTokens,
    turns,
    durationMs,
    ...(usage.costUsd === undefined || usage.unpricedTokens !== undefined ? {} : { costUsd: usage.costUsd }),
  };
}
