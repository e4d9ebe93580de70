import { type EvaluateOptions, type PromptOverride } from "@proviso/core";
import { toJsonValue } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import { differenceIn } from "./compare.ts";
import type { EntryContent, JournalEntry, RecordedHistory } from "./entries.ts";
import type { RecordedSession } from "./session.ts";
import { earlierOf } from "./answered-again.ts";

type Begun = Extract<EntryContent, { readonly kind: "begun" }>;

/** What a run begins with: all that a replay needs beside the prompt itself. */
export function begunEntry(
  run: Run,
  { core, state, seq }: RecordedSession,
  options: EvaluateOptions,
  override: PromptOverride | undefined,
): Begun {
  const { promptName, model, adapter, nativeOutput, maxTurns, maxRepairs, toolChoice } = run;
  const hidden = run.redaction.value({ params: shownParams(run), state });
  return {
    kind: "begun",
    prompt: promptName,
    params: hidden.params,
    adapter: adapter.name,
    model,
    nativeOutput,
    options: { maxTurns, maxRepairs, ...(toolChoice === undefined ? {} : { toolChoice }) },
    ...historyOf(run, options),
    session: { id: core.session.id, seq, state: hidden.state },
    ...(override === undefined ? {} : { override }),
  };
}

/** The params of a prompt as JSON, with files as references. */
function shownParams({ files, prompt: { params } }: Run): unknown {
  return toJsonValue(files?.params(params) ?? params)?.value ?? {};
}

/** The params that the steps of a record were asked with last. */
export function recordedParams(entries: readonly JournalEntry[]): unknown {
  const given = entries.findLast((entry) => entry.kind === "adopted" && entry.params !== undefined) ?? entries[0];
  return given?.kind === "adopted" || given?.kind === "begun" ? given.params : undefined;
}

/** Returns the params of an evaluation that goes on with a record, where they are not the recorded ones; else undefined. */
export function otherParams(run: Run | undefined, entries: readonly JournalEntry[]): unknown {
  if (run === undefined) return undefined;
  const { params } = run.redaction.value({ params: shownParams(run) });
  return differenceIn(recordedParams(entries), params) === undefined ? undefined : params;
}

/** The history that the evaluation was given; a replay is given none. */
function historyOf(run: Run, { messages, continueFrom }: EvaluateOptions): Pick<Begun, "history"> {
  if (messages === undefined && continueFrom === undefined) return {};
  const { question, earlier, added } = run.history;
  const all = run.history.messages();
  const { messages: shown } = run.redaction.details({ messages: all } as never) as { readonly messages: typeof all };
  return {
    history: {
      messages: shown,
      ...(question === undefined ? {} : { question }),
      earlier,
      ...(added === undefined ? {} : { added: run.redaction.value(added) }),
    },
  };
}

/** Gives an evaluation that is replayed the history that the recorded one was given. */
export function recallHistory({ history }: Run, { messages, question, earlier, added }: RecordedHistory): void {
  history.replace({ messages, question });
  history.earlier = earlierOf({ messages, question, earlier });
  history.added = added;
}
